"""A fleet on a real NATS server that is killed, stands still, is cut off, or is put back: refused soon, or harmless."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import nats_servers
from tests.engines import Proxy
from tests.nats_servers import Nats
from tests.stories.fleet.client_support import Side, fleet_on
from tests.support import Ran
from tests.waiting import until

Scene = tuple[Side, Side, Proxy, Nats]


@contextlib.contextmanager
def on_nats(tmp_path: Path) -> Iterator[Scene]:
    with (
        nats_servers.nats() as server,
        fleet_on(tmp_path, ("127.0.0.1", server.port), server.address) as (here, there, proxy),
    ):
        yield here, there, proxy, server


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with on_nats(tmp_path_factory.mktemp("fleet")) as made:
        yield made


def granted(side: Side, scope: str) -> int:
    """The token of SCOPE, once it is granted."""
    return int(until(lambda: (found := side.reserve(scope)).status == 0 and found).data["token"])


def cut(scene: Scene) -> None:
    scene[2].cut()


def swallow(scene: Scene) -> None:
    scene[2].is_held = True


def stand_still(scene: Scene) -> None:
    scene[3].freeze()


def kill(scene: Scene) -> None:
    scene[3].kill_hard()


def mend(scene: Scene) -> None:
    _, _, proxy, server = scene
    if server.is_started:
        server.thaw()
    else:
        server.start_again()
    proxy.mend()
    proxy.drop()


@pytest.mark.parametrize("harm", [cut, swallow, stand_still, kill])
def test_a_machine_that_is_cut_off_is_refused_and_then_goes_on(scene: Scene, harm: Callable[[Scene], None]):
    here, there, _, _ = scene
    name = harm.__name__
    before = granted(here, f"{name}/before")
    harm(scene)
    try:
        numbers = iter(range(1000))

        def refused() -> Ran | None:
            found = here.reserve(f"{name}/{next(numbers)}")
            assert found.status in (0, 6), found.out
            return found if found.status and found.code == "ENGINE_UNREACHABLE" else None

        until(refused)
    finally:
        mend(scene)

    assert granted(here, f"{name}/after") > before
    assert (
        until(lambda: (found := there.reserve(f"{name}/before")).status == 7 and found).code == "RESERVATION_CONFLICT"
    )


def test_lost_and_doubled_answers_grant_nothing_twice(scene: Scene):
    here, there, proxy, _ = scene
    for way in (lambda _: b"", lambda octets: octets + octets):
        proxy.change = way
        here.reserve("answers")
        mend(scene)
        until(lambda: here.json("sync").status == 0)
        until(lambda: there.json("sync").status == 0)

        assert not (here.token("answers") and there.token("answers"))
    both = [side.reserve("answers") for side in (here, there)]
    assert sorted(each.status for each in both) == [0, 7], [each.out for each in both]


def test_a_restored_backup_stops_verdicts(tmp_path: Path):
    with on_nats(tmp_path) as (here, there, proxy, server):
        granted(here, "kept")
        backup = server.backup()
        granted(here, "lost")
        until(lambda: there.reserve("lost").code == "RESERVATION_CONFLICT")
        server.rewind(backup)
        proxy.drop()

        for side in (here, there):
            assert until(lambda side=side: (found := side.reserve("other")).code == "ENGINE_REWOUND" and found)
