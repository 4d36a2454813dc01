"""Each host works for a day, once; the tests look at what came of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hosts import tools
from tests.hosts.bench import FREE, HELD, Bench, Days, days_of
from tests.hosts.programs import HOSTS


def bench_of(name: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A repository for a host, set up as the documentation says."""
    host = HOSTS[name]
    assert host.path.exists(), f"{host.package} {host.version} is not installed: run scripts/test --hosts"
    made = Bench(host, tmp_path_factory.mktemp(name))
    made.set_up()
    return made


@pytest.fixture(scope="session")
def days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    """The working day of a host, which happens once."""
    yield from days_of(lambda name: bench_of(name, tmp_path_factory), work)


def work(bench: Bench) -> None:
    """The model tries to edit a held file and a free one, then to write the held one in a shell, and asks who it is."""
    name, root = bench.host.name, bench.repo.path
    bench.ran = bench.run(
        *tools.edit(name, root / HELD),
        *tools.edit(name, root / FREE),
        tools.shell(name, f"echo 'x = 3' > {HELD}"),
        *tools.mcp(name, "session"),
        tools.shell(name, f"{bench.program} resume --json"),
        "All done.",
    )


@pytest.fixture(params=HOSTS)
def day(request: pytest.FixtureRequest, days: Days) -> Bench:
    """A host after its working day."""
    return days(request.param)


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A fresh repository for the host that the test names: `@on("codex")`."""
    made = bench_of(request.param, tmp_path_factory)
    yield made
    made.close()
