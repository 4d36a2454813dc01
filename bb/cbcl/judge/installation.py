"""Installation of a dialect, after three checks: its signature, its rules, and whether its name is free.

The signature is checked first, to bound the work on input from untrusted senders. A name belongs to one dialect.
Installing the same dialect again changes nothing; a different one under that name is a conflict for the user to solve.
"""

from __future__ import annotations

from collections.abc import Mapping

from bb.cbcl.facts import Installed
from bb.cbcl.judge import signatures
from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.authorship import Ledger
from bb.cbcl.judge.library import hashes
from bb.cbcl.judge.trust import VALID, Trust
from bb.cbcl.judge.verification import Verdict, verify
from bb.cbcl.read import canonical, names
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.fuel import Fuel
from bb.cbcl.read.tree import text_of
from bb.kernel.errors import BbError, Conflict, Refused
from bb.kernel.record import Record

DialectRejected = Refused.declare(
    "DIALECT_REJECTED",
    "The dialect breaks rules for dialects",
    hint="run `bb cbcl verify FILE` to see every violation with its position",
)

DialectConflict = Conflict.declare(
    "DIALECT_CONFLICT",
    "Another dialect of that name is installed",
    hint="give the dialect another name, or run `bb cbcl dialect install FILE --replace`",
)


class Rules(Record):
    """What an agent judges received messages by: the trust settings, and the ledger, whose id is part of every message
    signature. The ledger is None outside a repository."""

    trust: Trust = Trust()
    ledger: Ledger | None = None


def install(
    definition: Definition,
    signature: str | None,
    known: Mapping[str, Definition],
    rules: Rules,
    *,
    by: str,
    source: str,
    is_local: bool = False,
    replaces: bool = False,
    fuel: Fuel | None = None,
) -> list[Installed]:
    """The facts that install DEFINITION beside the KNOWN dialects; none if it is already installed."""
    octets, hashed = canonical.octets(definition.node), canonical.digest(definition.node)
    before = hashes(known, definition.name)
    is_here = before == (hashed,) and definition.name in known  # false if only its hash is known
    if signature is None and is_here:
        return []  # no trust needed: it adds nothing
    status = judge_trust.judge(
        author=definition.author,
        signature=signature,
        octets=octets,
        trust=rules.trust,
        is_local=is_local,
        check=signatures.check,
    )
    require_sound(definition, known, rules, fuel)
    if is_here and not (replaces and status == VALID):  # otherwise the new signature is recorded
        return []
    if set(before) - {hashed} and not replaces:
        short_name = names.shortened(definition.name)
        raise DialectConflict(f"another dialect named {short_name} is installed", dialect=short_name)
    name, text, author = definition.name, text_of(definition.node), definition.author or ""
    return [Installed(by, name, text, hashed, author, status, source, signature or "", " ".join(before))]


def require_sound(
    definition: Definition, known: Mapping[str, Definition], rules: Rules, fuel: Fuel | None = None
) -> None:
    """Refuse a definition that breaks a rule or needs too many steps to verify."""
    verdict = verify(definition, known, rules.trust.policy.max_verify_time)
    if fuel is not None:
        fuel.spend(verdict.steps)  # verification is charged to the message that contains the definition
    if not verdict.is_sound:
        raise rejected(verdict)


def rejected(verdict: Verdict) -> BbError:
    """The refusal with every broken rule and the first violations."""
    violations = verdict.violations
    first = violations[0]
    where = f" in {names.shortened(first.performative)}" if first.performative else ""
    return DialectRejected(
        f"{first.rule}{where}: {first.why}{verdict.others}",
        rules=sorted(verdict.rules),
        count=verdict.count,
        violations=[
            {
                "rule": violation.rule,
                "performative": violation.performative,
                "message": violation.why,
                "offset": violation.at,
            }
            for violation in violations
        ],
    )
