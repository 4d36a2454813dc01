"""Hosts that do not read AGENTS.md are told to, and what they were told is taken back exactly."""

from __future__ import annotations

import json

import pytest

from bb.coordination.wiring import instruction_imports as imports
from bb.kernel.json_text import NotJson

SETTINGS = {
    "none": "{}\n",
    "others": '{\n    "model": {"name": "x"}\n}',
    "a name": '{"context": {"fileName": "GEMINI.md"}}',
    "another name": '{\r\n\t"context": {\r\n\t\t"fileName" : "NOTES.md"\r\n\t}\r\n}\r\n',
    "a list": '{"context": {"fileName": ["NOTES.md"], "x": 1}}',
    "a longer list": '{\n  "context": {\n    "fileName": [\n      "A.md",\n      "B.md"\n    ]\n  }\n}\n',
    "an empty list": '{"context": {"fileName": []}}',
    "a context": '{\n  "context": {\n    "x": 1\n  }\n}\n',
}


@pytest.mark.parametrize("before", SETTINGS.values(), ids=SETTINGS)
def test_what_is_put_in_is_read_by_gemini_and_comes_out_exactly(before: str):
    after = imports.with_agents(before)
    names = json.loads(after)["context"]["fileName"]
    earlier = json.loads(before).get("context", {}).get("fileName", "./GEMINI.md")

    assert set(names) == {"./AGENTS.md", *([earlier] if isinstance(earlier, str) else earlier)}
    assert imports.with_agents(after) == after
    assert imports.without_agents(after) == before


@pytest.mark.parametrize("names", ['"AGENTS.md"', '["AGENTS.md", "GEMINI.md"]', '["X.md", "AGENTS.md"]'])
def test_what_the_user_wrote_is_left(names: str):
    text = f'{{"context": {{"fileName": {names}}}}}'

    assert imports.with_agents(text) == imports.without_agents(text) == text


@pytest.mark.parametrize("odd", ["", "[]", '{"context": 3}', '{"context": {"fileName": 3}}', "// mine\n{}"])
def test_settings_that_are_not_understood_are_refused(odd: str):
    with pytest.raises(NotJson):
        imports.with_agents(odd)


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("@AGENTS.md\n", True),
        ("See @AGENTS.md for more", True),
        ("@./AGENTS.md", True),
        ("AGENTS.md", False),
        ("", False),
    ],
)
def test_an_import_in_the_users_own_words_is_seen(text: str, does: bool):
    assert imports.includes_agents(text) is does
