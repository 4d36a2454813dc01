"""What a message points at: blobs of its own group, and references in the forms of CCCS (§8)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.messaging.chat import blobs, references
from tests.messaging import cccs_reader

HASH = "0123456789abcdef" * 4
OTHER = "f" * 64
PATH = f"state/blobs/{HASH}_log.txt"
HALF = "\ud800"

ATTACHMENT = {
    "kind": "text",
    "path": PATH,
    "title": "Log",
    "mime_type": "text/plain; charset=utf-8",
    "bytes": 12,
    "sha256": HASH,
}
LINK = {"kind": "commit", "url": "https://example.org", "path": "src/a.py", "title": "T", "sha": "abc", "bytes": 0}
PRESENTATION = {
    "kind": "presentation_ref",
    "v": 1,
    "slot_id": "slot-1",
    "label": "L",
    "locator_label": "page 3",
    "title": "T",
    "card_type": "pdf",
    "status": "needs_user",
    "href": "https://example.org",
    "excerpt": "…",
    "locator": {"page": 3, "scroll": {"y": 0.5}},
    "snapshot": {
        "path": PATH,
        "mime_type": "image/png",
        "bytes": 9,
        "sha256": HASH,
        "width": 640,
        "height": 480,
        "captured_at": "2026-11-21T10:00:00Z",
        "source": "from_the_future",
    },
}
TASK = {"kind": "task_ref", "task_id": "T001", "title": "T", "status": "from_the_future"}


def refusal(read: Any, item: Any) -> BbError:
    with pytest.raises(BbError) as caught:
        read([{"path": PATH}, item])
    return caught.value


# -- attachments


def test_cccs_8_everything_an_attachment_may_say_in_the_order_of_the_specification():
    assert [list(item.items()) for item in references.attachments([ATTACHMENT])] == [list(ATTACHMENT.items())]


@pytest.mark.parametrize("nothing", [None, []])
def test_no_attachments_and_no_references_are_empty(nothing: Any):
    assert references.attachments(nothing) == references.references(nothing) == []


def test_cccs_8_unknown_members_are_kept_and_null_ones_left_out():
    item = {"x_future": {"deep": [None]}, "path": PATH, "title": None, "kind": "", "bytes": None}
    assert references.attachments([item]) == [{"path": PATH, "x_future": {"deep": [None]}}]


def test_a_hash_is_stored_in_small_letters():
    assert references.attachments([{"path": PATH, "sha256": HASH.upper()}]) == [{"path": PATH, "sha256": HASH}]


@pytest.mark.parametrize(
    "path",
    [
        None,
        "",
        7,
        [PATH],
        "log.txt",
        "/etc/passwd",
        f"/{PATH}",
        f"./{PATH}",
        f"x/{PATH}",
        f"state/blobs/{HASH}",
        f"state/blobs/{HASH}_",
        f"state/blobs/{HASH}_..",
        f"state/blobs/{HASH}_.hidden",
        f"state/blobs/{HASH}_a/../../../x",
        f"state/blobs/{HASH}_a\\b",
        f"state/blobs/{HASH}_a b",
        f"state/blobs/{HASH}_a\x00",
        f"state/blobs/{HASH}_a\n",
        f"state/blobs/{HASH}_ä",
        f"state/blobs/{HASH}_" + "a" * 121,
        f"state/blobs/{HASH[:-1]}_a",
        f"state/blobs/{HASH}0_a",
        f"state/blobs/{HASH.upper()}_a",
        f"state/blobs/../blobs/{HASH}_a",
        f"state//blobs/{HASH}_a",
        f"state\\blobs\\{HASH}_a",
        f"STATE/blobs/{HASH}_a",
    ],
)
def test_cccs_8_an_attachment_lies_among_the_groups_blobs_and_nowhere_else(path: Any):
    assert not blobs.is_blob_path(path)
    error = refusal(references.attachments, {"path": path})
    assert (error.code, error.exit_status) == ("INVALID_ATTACHMENTS", 2)
    assert error.details == {"path": "$.attachments[1].path"}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("kind", "video"),
        ("kind", 7),
        ("title", 7),
        ("title", HALF),
        ("mime_type", "text"),
        ("mime_type", "text/"),
        ("mime_type", "/plain"),
        ("mime_type", "text/pl ain"),
        ("mime_type", "text/plain\n"),
        ("mime_type", "text/<script>"),
        ("mime_type", 7),
        ("bytes", -1),
        ("bytes", 1.5),
        ("bytes", True),
        ("bytes", "12"),
        ("sha256", "x"),
        ("sha256", "g" * 64),
        ("sha256", HASH + "0"),
        ("sha256", OTHER),
        ("sha256", 7),
    ],
)
def test_cccs_8_what_is_known_of_an_attachment_has_its_form(member: str, value: Any):
    error = refusal(references.attachments, ATTACHMENT | {member: value})
    assert (error.code, error.details) == ("INVALID_ATTACHMENTS", {"path": f"$.attachments[1].{member}"})


@pytest.mark.parametrize("item", [None, 7, "x", [], {"path": PATH, "x": float("nan")}, {"path": PATH, "x": HALF}])
def test_an_attachment_is_an_object_that_can_be_kept(item: Any):
    assert refusal(references.attachments, item).details == {"path": "$.attachments[1]"}


@pytest.mark.parametrize("value", ["x", 7, True, {}, ""])
def test_what_is_no_list_is_refused(value: Any):
    for read, code in ((references.attachments, "INVALID_ATTACHMENTS"), (references.references, "INVALID_REFS")):
        answer = cccs_reader.answer(lambda read=read: read(value))
        assert isinstance(answer, BbError)
        assert answer.code == code


# -- references


@pytest.mark.parametrize("item", [LINK, PRESENTATION, TASK, {"kind": "file", "path": "a"}, {"kind": "text"}, {}])
def test_cccs_8_every_kind_of_reference_is_kept_as_the_specification_has_it(item: dict[str, Any]):
    kept = references.references([item | {"x_future": [1]}])
    assert [list(each.items()) for each in kept] == [[*item.items(), ("x_future", [1])]]
    assert cccs_reader.reference(kept[0])


@pytest.mark.parametrize("kind", ["tweet", "Task_ref", 7, True, ["url"], {"a": 1}])
def test_a_kind_from_the_future_is_refused_on_writing(kind: Any):
    error = refusal(references.references, {"kind": kind})
    assert (error.code, error.exit_status, error.details) == ("INVALID_REFS", 2, {"path": "$.refs[1].kind"})


def test_cccs_8_a_kind_from_the_future_is_read_like_any_other():
    kept = [{"kind": "tweet", "x": 1}, TASK]
    assert references.readable([*kept, 7, None, "x"]) == kept
    assert references.readable(None) == references.readable({"kind": "url"}) == []


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({"url": 7}, "url"),
        ({"kind": "file", "path": []}, "path"),
        ({"sha": 7}, "sha"),
        ({"title": HALF}, "title"),
        ({"bytes": -1}, "bytes"),
        ({"kind": "presentation_ref"}, "slot_id"),
        (PRESENTATION | {"slot_id": ""}, "slot_id"),
        (PRESENTATION | {"slot_id": "a\nb"}, "slot_id"),
        (PRESENTATION | {"slot_id": 7}, "slot_id"),
        (PRESENTATION | {"v": 2}, "v"),
        (PRESENTATION | {"v": True}, "v"),
        (PRESENTATION | {"v": "1"}, "v"),
        (PRESENTATION | {"status": "closed"}, "status"),
        (PRESENTATION | {"locator": "page 3"}, "locator"),
        (PRESENTATION | {"snapshot": "x"}, "snapshot"),
        (PRESENTATION | {"snapshot": {}}, "snapshot.path"),
        (PRESENTATION | {"snapshot": {"path": "/tmp/x.png"}}, "snapshot.path"),
        (PRESENTATION | {"snapshot": {"path": PATH, "sha256": OTHER}}, "snapshot.sha256"),
        (PRESENTATION | {"snapshot": {"path": PATH, "width": 1.5}}, "snapshot.width"),
        (PRESENTATION | {"snapshot": {"path": PATH, "height": -1}}, "snapshot.height"),
        (PRESENTATION | {"snapshot": {"path": PATH, "source": 7}}, "snapshot.source"),
        ({"kind": "task_ref"}, "task_id"),
        ({"kind": "task_ref", "task_id": None}, "task_id"),
        ({"kind": "task_ref", "task_id": 7}, "task_id"),
        ({"kind": "task_ref", "task_id": "t" * 201}, "task_id"),
        (TASK | {"status": 7}, "status"),
    ],
)
def test_cccs_8_what_is_known_of_a_reference_has_its_form(item: dict[str, Any], path: str):
    error = refusal(references.references, item)
    assert (error.code, error.details) == ("INVALID_REFS", {"path": f"$.refs[1].{path}"})


def test_cccs_8_a_snapshot_keeps_what_it_says_beyond_the_specification():
    item = {"kind": "presentation_ref", "slot_id": "s", "snapshot": {"x": 1, "path": PATH, "width": None}}
    assert references.references([item])[0]["snapshot"] == {"path": PATH, "x": 1}


def test_what_is_written_was_not_changed_where_it_came_from():
    item = {"path": PATH, "title": None, "sha256": HASH.upper()}
    references.attachments([item])
    assert item == {"path": PATH, "title": None, "sha256": HASH.upper()}


# -- what a blob is called


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("log.txt", "log.txt"),
        ("", "file"),
        (".", "file"),
        ("..", "file"),
        (".bashrc", "bashrc"),
        ("a/b/c.txt", "c.txt"),
        ("C:\\temp\\c.txt", "c.txt"),
        ("../../etc/passwd", "passwd"),
        ("dir/", "file"),
        ("my file (1).txt", "my_file__1_.txt"),
        ("grüße.md", "gr__e.md"),
        ("a\x00b\n.txt", "a_b_.txt"),
        ("trailing...", "trailing"),
        ("  padded.txt ", "padded.txt"),
        ("x" * 200 + ".txt", "x" * 116 + ".txt"),
        ("x" * 200, "x" * 120),
        ("x." + "y" * 200, "x." + "y" * 118),
        ("." * 200, "file"),
    ],
)
def test_a_blobs_name_is_plain_and_keeps_its_ending(name: str, safe: str):
    assert blobs.safe_name(name) == safe
    assert blobs.blob_name(HASH.upper(), name) == f"{HASH}_{safe}"


@given(st.text(max_size=300) | st.text("./\\. a", max_size=300))
def test_whatever_a_file_is_called_its_blob_lies_where_attachments_may(name: str):
    path = blobs.blob_path(HASH, name)
    assert blobs.is_blob_path(path)
    assert references.attachments([{"path": path, "sha256": HASH}]) == [{"path": path, "sha256": HASH}]
    assert len(blobs.safe_name(name)) <= 120
    assert not blobs.safe_name(name).endswith(".")
    assert blobs.safe_name(blobs.safe_name(name)) == blobs.safe_name(name)


# -- any JSON at all

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just(PATH) | st.just(HASH)
JSON = st.recursive(
    SCALARS | st.characters(categories=["Cs"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def near(item: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that resemble ITEM: some members are missing, some are anything at all."""
    members = {
        name: st.just(value) | (near(value) if isinstance(value, dict) else JSON) for name, value in item.items()
    }
    return st.fixed_dictionaries({}, optional=members | {"x_future": JSON})


@given(st.lists(near(ATTACHMENT) | JSON, max_size=3) | JSON)
def test_cccs_8_any_attachments_are_refused_or_as_the_specification_has_them(value: Any):
    kept = cccs_reader.answer(lambda: references.attachments(value))
    if isinstance(kept, BbError):
        assert kept.code == "INVALID_ATTACHMENTS"
        return
    assert all(map(cccs_reader.attachment, kept))
    assert references.attachments(kept) == kept
    assert json.loads(json.dumps(kept, ensure_ascii=False, allow_nan=False).encode()) == kept


@given(st.lists(near(LINK) | near(PRESENTATION) | near(TASK) | JSON, max_size=3) | JSON)
def test_cccs_8_any_references_are_refused_or_as_the_specification_has_them(value: Any):
    kept = cccs_reader.answer(lambda: references.references(value))
    if isinstance(kept, BbError):
        assert kept.code == "INVALID_REFS"
        return
    assert all(map(cccs_reader.reference, kept))
    assert references.references(kept) == kept
    assert json.loads(json.dumps(kept, ensure_ascii=False, allow_nan=False).encode()) == kept
