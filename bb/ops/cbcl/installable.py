"""The check of a dialect before installation: its signature, all rules, and the examples beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.cbcl.judge import examples as beside
from bb.cbcl.judge import signatures, trust, verification
from bb.cbcl.judge.installation import DialectRejected
from bb.cbcl.read import canonical
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.fuel import for_text
from bb.cbcl.read.reader import Bounds, Places
from bb.kernel.errors import BbError
from bb.kernel.escaping import harmless
from bb.ledger.signing.keyring import Keyring
from bb.ops.cbcl import answers, inputs
from bb.ops.cbcl.inputs import DialectFile
from bb.ops.desk import input_text
from bb.ops.desk.desk import Desk
from bb.ops.desk.input_text import Source

ENDING = ".cbcl"


def must_verify(
    desk: Desk, source: Source, bounds: Bounds, examples: str | None, files: list[DialectFile] | None = None
) -> tuple[dict[str, Any], str | None, Definition]:
    """Verify the dialect in SOURCE. Return the report, the signature and the definition; refused if there is a
    violation."""
    signature, definition = answers.defined(source.octets, bounds, for_text(bounds.size))
    checked = _signature(desk, definition, signature)
    dialects = inputs.known_with(desk, files, bounds)
    most = Keyring(desk.env).trust().policy.max_verify_time
    answer = answers.verification_report(definition, signature, source.octets, dialects, most)
    answer |= {"signature": checked, "examples": None}
    for problem in (*answer["violations"], *answer["warnings"]):
        problem["file"] = source.name
    if examples and answer["sound"]:
        answer |= _tried(desk, examples, bounds, definition, dialects)
    if answer["violations"]:
        raise _rejected(answer)
    return answer, signature, definition


def _signature(desk: Desk, definition: Definition, signature: str | None) -> str:
    """The state of the signature. It is checked before all else, and refused if it is not valid."""
    if signature is None:
        return "unsigned"
    keys = Keyring(desk.env).trust_for(definition.author).keys_of(definition.author)
    if not keys:
        return "unchecked"
    trust.require_matching_key(signature, canonical.octets(definition.node), keys, signatures.check)
    return "valid"


def examples_beside(desk: Desk, file: str | None) -> str | None:
    """The file with examples beside a dialect, if there is one."""
    if file is None or not file.endswith(ENDING) or file.endswith(beside.SUFFIX):
        return None
    path = file.removesuffix(ENDING) + beside.SUFFIX
    return path if input_text.file_exists(desk, path) else None


def _tried(
    desk: Desk, file: str, bounds: Bounds, definition: Definition, known: Mapping[str, Definition]
) -> dict[str, Any]:
    """Check the examples in FILE."""
    octets = inputs.read(desk, file, bounds).octets
    with inputs.naming_file(file):
        examples = beside.read(octets, bounds)
    where = Places(octets)
    violations = list(beside.check(examples, definition, known))
    reported = [
        verification.violation_json(violation, where) | {"file": file}
        for violation in violations[: verification.MOST_REPORTED]
    ]
    return {
        "sound": not violations,
        "count": len(violations),
        "rules": sorted({violation.rule for violation in violations}),
        "violations": reported,
        "examples": {"file": file, "count": len(examples), "failed": len(violations)},
    }


def _rejected(answer: dict[str, Any]) -> BbError:
    """The refusal of a dialect, with the whole report."""
    first, others = answer["violations"][0], answer["count"] - 1
    where = f" in {harmless(first['performative'][:60])}" if first["performative"] else ""
    least = "at least " if answer["count"] == verification.MOST_COUNTED else ""
    more = f", and {least}{others:,} more" if others else ""
    refusal = DialectRejected(f"{first['rule']}{where}: {first['message']}{more}", **answer)
    refusal.hint = "correct the listed violations; each has its line and column"
    return refusal
