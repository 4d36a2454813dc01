"""The findings of `bb ci check` as SARIF 2.1.0, the format of code scanning.

A finding about a path is a result with a location. Readers require a file for every result, so a finding without a
path, such as a commit without a clear author, is a notification of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from bb.kernel import json_text
from bb.kernel.digest import digest
from bb.kernel.foreign import Foreign, letters

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
HOME = "https://github.com/beadboard/bb"


def document(answer: Foreign, rules: Mapping[str, str], version: str) -> str:
    """The findings of ANSWER as a SARIF document. RULES describes the rules; VERSION is that of bb."""
    findings = answer["findings"]
    names = list(rules)
    run = {
        "tool": {"driver": _driver(rules, version)},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(finding) for finding in findings if not finding["path"]]
                + [_note(note) for note in [answer["ledger"]["note"]] if note],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, names.index(letters(finding["rule"]))) for finding in findings if finding["path"]],
    }
    return json_text.dumps_ascii({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _driver(rules: Mapping[str, str], version: str) -> dict[str, Any]:
    described = [
        {
            "id": rule,
            "name": _camel(rule),
            "shortDescription": {"text": about},
            "helpUri": f"{HOME}/blob/main/docs/ci.md",
        }
        for rule, about in rules.items()
    ]
    return {"name": "bb", "version": version, "informationUri": HOME, "rules": described}


def _result(finding: Foreign, rule: int) -> dict[str, Any]:
    octets = str(finding["path"].raw()).encode("utf-8", "surrogateescape")
    place = {"artifactLocation": {"uri": quote(octets), "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 1}}
    same = [finding[member].raw() for member in ("rule", "path", "agent_id", "reservation_id")]
    return {
        "ruleId": letters(finding["rule"]),
        "ruleIndex": rule,
        "level": letters(finding["severity"]),
        "message": {"text": _message(finding["text"])},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"bbFinding/v1": digest(json_text.dumps_ascii(same).encode())},
        "properties": {"commits": list(map(letters, finding["commits"]))},
    }


def _notification(finding: Foreign) -> dict[str, Any]:
    return {"level": letters(finding["severity"]), "message": {"text": _message(finding["text"])}}


def _note(text: Foreign) -> dict[str, Any]:
    return {"level": "warning", "message": {"text": _message(text)}}


def _message(text: Foreign) -> str:
    """TEXT without Markdown links: `[text](target)` would be one."""
    return letters(text).replace("](", "] (")


def _camel(rule: str) -> str:
    return "".join(word.capitalize() for word in rule.split("-"))
