"""The findings of `bb ci check` as a JUnit report: each finding is a test case, and an error is a failed one."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from bb.kernel.foreign import Foreign, letters

SUITE = "bb ci check"


def document(answer: Foreign) -> str:
    """The findings of ANSWER. Without findings there is one passed test case, as readers may reject an empty one."""
    cases = [_case(finding) for finding in answer["findings"]] or [
        _tag("testcase", classname="bb.ci", name="change") + "/>"
    ]
    failures = sum(finding["severity"] == "error" for finding in answer["findings"])
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": "0", "time": "0"}
    note = answer["ledger"]["note"]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            _tag("testsuites", **counts) + ">",
            _tag("testsuite", name=SUITE, **counts) + ">",
            *cases,
            *([f"<system-out>{_text(note)}</system-out>"] if note else []),
            "</testsuite>",
            "</testsuites>\n",
        ]
    )


def _case(finding: Foreign) -> str:
    path = letters(finding["path"] or finding["commits"][0][:12])
    held = f" ({finding['held_by']})" if finding["held_by"] else ""
    place = {"file": finding["path"]} if finding["path"] else {}
    begin = _tag("testcase", classname=f"bb.{finding['rule']}", name=f"{path}{held}", **place, time="0")
    if finding["severity"] != "error":
        return f"{begin}><system-out>{_text(finding['text'])}</system-out></testcase>"
    failure = _tag("failure", message=finding["text"], type=finding["rule"])
    return f"{begin}>{failure}>commits: {' '.join(map(_text, finding['commits']))}</failure></testcase>"


def _tag(tag: str, /, **attributes: Foreign | str) -> str:
    """An opening tag without its closing bracket."""
    return " ".join([f"<{tag}", *(f"{key}={quoteattr(letters(value))}" for key, value in attributes.items())])


def _text(text: Foreign | str) -> str:
    return escape(letters(text))
