"""Addresses: the many URLs of one repository are one address, and no two repositories share one."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.ledger.published.arbiter import Arbiter, address_of, latest

ONE = "github.com/acme/tool"


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/tool.git",
        "git@github.com:/acme/tool",
        "github.com:acme/tool/",
        "ssh://git@github.com/acme/tool.git",
        "ssh://git@GitHub.com:22/acme/tool.git",
        "git+ssh://git@github.com/acme/tool",
        "https://github.com/acme/tool",
        "https://x-access-token:secret@github.com/acme/tool.git/",
        "https://github.com:443//acme/tool",
        "http://github.com:80/acme/%74ool",
        "git://github.com:9418/acme/tool.git",
    ],
)
def test_every_way_to_write_one_repository_is_one_address(url: str):
    assert address_of(url, "/") == ONE


def test_other_repositories_have_other_addresses():
    urls = [
        "git@github.com:acme/tool2.git",
        "git@github.com:other/tool.git",
        "git@gitlab.com:acme/tool.git",
        "ssh://git@github.com:2222/acme/tool.git",
        "https://github.com:8443/acme/tool",
        "/srv/github.com/acme/tool",
        "git@github.com:acme/Tool.git",
        "git@[::1]:acme/tool.git",
        "ssh://[::1]:22/acme/tool",
    ]
    addresses = [address_of(url, "/") for url in urls]
    assert addresses[-1] == addresses[-2] == "[::1]/acme/tool"
    assert len({ONE, *addresses}) == len(urls)


def test_a_local_path_is_resolved(tmp_path: Path):
    (tmp_path / "hub.git").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "hub.git")
    at = f"file:{(tmp_path / 'hub.git').resolve()}"
    for url in (
        str(tmp_path / "hub.git"),
        f"file://{tmp_path}/hub.git",
        "../hub.git",
        f"{tmp_path}/link",
        "../hub.git/",
    ):
        assert address_of(url, str(tmp_path / "work")) == at


@given(st.text(max_size=60))
def test_any_text_has_an_address(url: str):
    assert isinstance(address_of(url.replace("\0", ""), "/"), str)


arbiters = st.builds(
    Arbiter, st.integers(1, 3), st.sampled_from(["a", "b"]), st.just("url"), st.integers(0, 3), ts=st.sampled_from("xy")
)


@given(st.lists(arbiters | st.none(), max_size=5))
def test_all_agree_on_the_latest_whatever_they_hear_first(known: list[Arbiter | None]):
    for order in itertools.islice(itertools.permutations(known), 24):
        heard = None
        for one in order:
            heard = latest(heard, one)
        assert heard == latest(*known)
