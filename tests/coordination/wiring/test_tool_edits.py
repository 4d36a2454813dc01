"""What an editor's tool makes of a file, computed before the tool runs; unknown where the tool would fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines import splices as splices_module
from bb.coordination.wiring import tool_edits
from bb.coordination.wiring.tool_edits import ToolEdit
from tests.examples import examples

FILE = "/repo/src/a.py"
RECORDED = Path(__file__).resolve().parents[2] / "data" / "hooks" / "recorded"


def made(tool: str, given: Mapping[str, Any], content: bytes, path: str = FILE) -> bytes | None:
    return ToolEdit(tool, given, path).result(content)


# -- what hosts have sent

RESULTS: dict[str, tuple[str, bytes | None]] = {
    # the payload, the file that it names, and what becomes of `x = 1`
    "claude-2.1.330/edit": ("CWD/src/a.py", b"x = 2\n"),
    "claude-2.1.330/write": ("CWD/src/a.py", b"x = 1\n"),
    "claude-2.1.330/bash": ("CWD/src/a.py", None),
    "codex-0.169.0/apply-patch": ("CWD/src/a.py", b"x = 2\n"),
    "codex-0.169.0/apply-patch-move": ("src/a.py", None),
    "codex-0.169.0/patch-in-shell": ("src/a.py", b"x = 2\n"),
    "gemini-0.61.0/replace": ("CWD/src/a.py", b"x = 2\n"),
    "gemini-0.61.0/write-file": ("CWD/src/a.py", b"x = 1\n"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_a_recorded_tool_makes_of_a_file_is_known(name: str):
    payload = json.loads((RECORDED / f"{name}.json").read_text())
    path, expected = RESULTS[name]

    assert made(payload["tool_name"], payload["tool_input"], b"x = 1\n", path) == expected


@pytest.mark.parametrize("name", [name for name, (_, after) in RESULTS.items() if after is not None])
def test_a_file_that_the_tool_does_not_name_is_not_its(name: str):
    payload = json.loads((RECORDED / f"{name}.json").read_text())
    if "patch" in name:
        assert not ToolEdit(payload["tool_name"], payload["tool_input"], "other.py").is_known


# -- tools that replace a text


REPLACING = [
    ("Edit", {"file_path": FILE, "old_string": "b", "new_string": "B"}),
    ("StrReplace", {"path": FILE, "old_string": "b", "new_string": "B"}),
    ("str_replace_editor", {"command": "str_replace", "path": FILE, "old_str": "b", "new_str": "B"}),
    ("edit", {"filePath": FILE, "oldString": "b", "newString": "B"}),
    ("replace", {"file_path": FILE, "old_string": "b", "new_string": "B"}),
    ("replace_string_in_file", {"filePath": FILE, "oldString": "b", "newString": "B"}),
    ("mcp__files__edit_file", {"path": FILE, "old_string": "b", "new_string": "B"}),
    ("MultiEdit", {"file_path": FILE, "edits": [{"old_string": "b", "new_string": "B"}]}),
]


@pytest.mark.parametrize(("tool", "given"), REPLACING, ids=[tool for tool, _ in REPLACING])
def test_every_host_s_way_to_replace_a_text_is_known(tool: str, given: dict[str, Any]):
    assert made(tool, given, b"a\nb\nc\n") == b"a\nB\nc\n"
    assert made(tool, given, b"a\nc\n") is None, "the text is not there, so the tool fails"
    assert made(tool, given, b"b\nb\n") is None, "it is there twice"
    assert not tool_edits.writes_all(tool, given, FILE)


@pytest.mark.parametrize("name", ["replace_all", "replaceAll", "allow_multiple"])
def test_all_places_are_replaced_if_the_tool_is_told_so(name: str):
    given = {"file_path": FILE, "old_string": "b", "new_string": "B", name: True}

    assert made("Edit", given, b"b\nab\n") == b"B\naB\n"
    assert made("Edit", given | {name: "true"}, b"b\nab\n") is None, "a text is no yes"


def test_several_edits_are_made_one_after_the_other_or_not_at_all():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "bb", "new_string": "c"}]

    assert made("MultiEdit", {"file_path": FILE, "edits": edits}, b"ab\n") == b"c\n"
    assert made("MultiEdit", {"file_path": FILE, "edits": edits[::-1]}, b"ab\n") is None
    assert made("MultiEdit", {"file_path": FILE, "edits": []}, b"ab\n") == b"ab\n"


def test_an_empty_old_text_makes_a_new_file_only():
    given = {"file_path": FILE, "old_string": "", "new_string": "x\n"}

    assert made("Edit", given, b"") == b"x\n"
    assert made("Edit", given, b"y\n") is None


def test_a_text_may_be_deleted():
    assert made("Edit", {"file_path": FILE, "old_string": "b\n", "new_string": ""}, b"a\nb\n") == b"a\n"
    assert made("Edit", {"file_path": FILE, "old_string": "b\n"}, b"a\nb\n") == b"a\n"


def test_line_ends_of_windows_are_found_and_kept():
    given = {"file_path": FILE, "old_string": "a\nb", "new_string": "a\nnew\nb"}

    assert made("Edit", given, b"a\r\nb\r\n") == b"a\r\nnew\r\nb\r\n"
    assert made("Edit", given, b"a\nb\n") == b"a\nnew\nb\n"


def test_octets_that_are_no_text_stay():
    assert made("Edit", {"file_path": FILE, "old_string": "b", "new_string": "B"}, b"\xff\nb\n") == b"\xff\nB\n"
    assert made("Edit", {"file_path": FILE, "old_string": "\udcff", "new_string": "x"}, b"\xff\n") == b"x\n"


# -- tools that write the whole file

WRITING = [
    ("Write", {"file_path": FILE, "content": "new\n"}),
    ("write_file", {"file_path": FILE, "content": "new\n"}),
    ("write", {"filePath": FILE, "content": "new\n"}),
    ("create", {"path": FILE, "file_text": "new\n"}),
    ("str_replace_editor", {"command": "create", "path": FILE, "file_text": "new\n"}),
    ("create_file", {"path": FILE, "contents": "new\n"}),
    ("createFile", {"files": [FILE], "fileText": "new\n"}),
]


@pytest.mark.parametrize(("tool", "given"), WRITING)
def test_every_host_s_way_to_write_a_file_is_known(tool: str, given: dict[str, Any]):
    assert made(tool, given, b"old\n") == made(tool, given, b"") == b"new\n"
    assert tool_edits.writes_all(tool, given, FILE)


UNKNOWN: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": FILE}),
    ("Bash", {"command": "cp a b"}),
    ("Edit", {"file_path": FILE}),
    ("Write", {"file_path": FILE, "content": 5}),
    ("NotebookEdit", {"notebook_path": FILE, "new_source": "x"}),
    ("move_file", {"source": FILE, "destination": "b.py", "content": "x"}),
    ("editFiles", {"files": [FILE, "b.py"], "content": "x"}),
    ("Delete", {"file_path": FILE}),
    ("somebody_s_tool", {"file_path": FILE, "content": "x"}),
    ("", {}),
]


@pytest.mark.parametrize(("tool", "given"), UNKNOWN)
def test_what_another_tool_makes_of_a_file_is_unknown(tool: str, given: dict[str, Any]):
    assert not ToolEdit(tool, given, FILE).is_known


# -- patches

CONTENT = b"def a():\n    return 1\n\n\ndef b():\n    return 1\n\n\ndef c():\n    return 1\n"


def patched(body: str, content: bytes = CONTENT, path: str = "a.py") -> bytes | None:
    return made("apply_patch", {"input": f"*** Begin Patch\n{body}\n*** End Patch"}, content, path)


def test_a_chunk_is_found_by_its_lines_and_context():
    assert patched("*** Update File: a.py\n@@\n def b():\n-    return 1\n+    return 2") == CONTENT.replace(
        b"b():\n    return 1", b"b():\n    return 2"
    )


def test_the_first_place_counts_and_an_anchor_says_where_to_begin():
    one, two = "-    return 1\n+    return 2", "*** Update File: a.py\n@@"

    assert patched(f"{two}\n{one}") == CONTENT.replace(b"return 1", b"return 2", 1)
    assert patched(f"{two} def c():\n{one}") == CONTENT[: CONTENT.rindex(b"1")] + b"2\n"
    assert patched(f"{two} def missing():\n{one}") is None


def test_several_chunks_are_found_one_behind_the_other():
    chunk = "@@\n-    return 1\n+    return 2\n"

    assert patched(f"*** Update File: a.py\n{chunk * 3}".rstrip("\n")) == CONTENT.replace(b"return 1", b"return 2")
    assert patched(f"*** Update File: a.py\n{chunk * 4}".rstrip("\n")) is None


def test_lines_without_a_place_are_added_at_the_end():
    assert patched("*** Update File: a.py\n@@\n+end") == CONTENT + b"end\n"


def test_a_chunk_that_does_not_fit_makes_the_result_unknown():
    assert patched("*** Update File: a.py\n@@\n-    return 7\n+    return 2") is None


def test_blanks_at_the_ends_of_lines_are_forgiven():
    assert patched("*** Update File: a.py\n@@\n-x\n+y", b"x  \n") == b"y\n"


def test_an_empty_line_of_context_may_have_lost_its_blank():
    assert patched("*** Update File: a.py\n@@\n x\n\n-y\n+z", b"x\n\ny\n") == b"x\n\nz\n"


def test_a_new_file_has_the_added_lines():
    assert patched("*** Add File: a.py\n+one\n+\n+two", b"") == b"one\n\ntwo\n"


ADDING = "*** Begin Patch\n*** Update File: b.py\n@@\n-x\n+y\n*** Add File: a.py\n+one\n+two\n*** End Patch\n"


@pytest.mark.parametrize(
    ("tool", "given"),
    [("apply_patch", {"command": ADDING}), ("Bash", {"command": f"apply_patch <<'EOF'\n{ADDING}EOF"})],
)
def test_a_patch_that_adds_a_file_writes_it_whole_even_if_it_is_there(tool: str, given: dict[str, Any]):
    assert made(tool, given, b"x\n", "a.py") == b"one\ntwo\n"
    assert tool_edits.writes_all(tool, given, "a.py")
    assert not tool_edits.writes_all(tool, given, "b.py")
    assert not tool_edits.writes_all(tool, given, "c.py")


def test_a_shell_command_writes_no_whole_file_as_far_as_is_known():
    assert not tool_edits.writes_all("Bash", {"command": "sed -i s/x/y/ a.py"}, "a.py")


@pytest.mark.parametrize(
    "body",
    [
        "*** Delete File: a.py",
        "*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y",
        "*** Update File: b.py\n@@\n+x",
        "",
    ],
)
def test_a_file_that_is_deleted_moved_or_not_named_has_no_known_content(body: str):
    assert patched(body) is None


def test_only_the_sections_of_the_file_count():
    body = "*** Update File: b.py\n@@\n-x\n+q\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: c.py\n+x"

    assert patched(body, b"x\n") == b"y\n"
    assert patched(body, b"x\n", "b.py") == b"q\n"
    assert patched(body, b"", "c.py") == b"x\n"


@pytest.mark.parametrize("member", ["command", "input", "patch", "patchText"])
def test_every_member_that_holds_a_patch_is_read(member: str):
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"

    assert made("apply_patch", {member: patch}, b"x\n", "a.py") == b"y\n"


def test_a_patch_keeps_octets_that_are_no_text():
    assert patched("*** Update File: a.py\n@@\n-x\n+y", b"\xff\nx\n") == b"\xff\ny\n"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = st.sampled_from(
    ["file_path", "old_string", "new_string", "content", "edits", "replace_all", "command", "input", "path", "files"]
)


@given(
    st.sampled_from(["Edit", "Write", "MultiEdit", "apply_patch", "Bash", "editFiles"]),
    st.dictionaries(MEMBERS, ANYTHING, max_size=5),
    st.binary(max_size=30),
)
@examples(300)
def test_whatever_a_tool_is_given_there_is_a_result_or_none(tool: str, given: dict[str, Any], content: bytes):
    found = made(tool, given, content)

    assert found is None or isinstance(found, bytes)


PATCH_LINES = st.sampled_from(
    ["@@", "@@ x", "+x", "-x", " x", "", "*** Update File: a.py", "*** Add File: a.py", "y", "+"]
)


@given(st.lists(PATCH_LINES, max_size=10), st.lists(st.sampled_from(["x", "y", ""]), max_size=5))
@examples(300)
def test_any_patch_has_a_result_or_none(lines: list[str], content: list[str]):
    found = patched("\n".join(["*** Update File: a.py", *lines]), "\n".join(content).encode())

    assert found is None or isinstance(found, bytes)


def test_an_update_says_which_of_equal_lines_it_adds():
    edit = ToolEdit(
        "apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n x\n+x\n z\n*** End Patch"}, "a.py"
    )
    ((splices, after),) = edit.steps(b"x\nz\n") or []

    assert after == b"x\nx\nz\n"
    assert splices_module.changes(b"x\nz\n", splices, after) == [(1, 1, 1, 2)]


# -- a call that is kept for later


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"file_path": FILE, "old_string": "b", "new_string": "é\udcff"}),
        ("MultiEdit", {"file_path": FILE, "edits": [{"old_string": "b", "new_string": "c"}]}),
        ("Write", {"file_path": FILE, "content": "all\n"}),
    ],
)
def test_a_kept_call_makes_the_same(tool: str, given: Mapping[str, Any]):
    edit = ToolEdit(tool, given, FILE)
    kept = ToolEdit.from_octets(edit.as_octets())

    assert kept
    assert kept.result(b"a b\n") == edit.result(b"a b\n") != b"a b\n"


@pytest.mark.parametrize(
    "octets", [b"", b"\xff", b"{}", b"[]", b"[1,{},3]", b'["Edit",[],"a"]', b'["Edit",{}]', b"null"]
)
def test_a_damaged_call_is_none(octets: bytes):
    assert ToolEdit.from_octets(octets) is None
