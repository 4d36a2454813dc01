"""Installing a dialect: who signed it, whether it is sound, whether another has its name; then, and only then.

The signature is looked at first: it bounds the work on what strangers send. One dialect has a name; the same one again
is nothing new, and another one is a conflict that the operator has to settle.
"""

from __future__ import annotations

from bb.cbcl.facts import Installed
from bb.cbcl.judge import signatures
from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.library import hashes
from bb.cbcl.judge.trust import VALID, Trust
from bb.cbcl.judge.verification import verify
from bb.cbcl.read import canonical, names
from bb.cbcl.read.tree import text_of
from bb.kernel.errors import Conflict, Refused
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.cbcl.judge.authorship import Ledger
    from bb.cbcl.judge.verification import Verdict
    from bb.cbcl.read.definition import Definition
    from bb.cbcl.read.fuel import Fuel


class DialectRejected(Refused):
    """The dialect breaks rules that every dialect keeps."""

    code = "DIALECT_REJECTED"
    hint = "`bb cbcl verify FILE` shows each of them, with its place"


class DialectConflict(Conflict):
    """Another dialect of that name is installed."""

    code = "DIALECT_CONFLICT"
    hint = "give it another name; or `bb cbcl dialect install FILE --replace`"


class Rules(Record):
    """By what an agent judges what it is sent: whom its user trusts, and what may be spent; and in which ledger it is,
    which is part of what is signed. None where there is no ledger."""

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
    """What installing DEFINITION adds to the dialects that are KNOWN; nothing where it is one of them."""
    octets, hashed = canonical.octets(definition.node), canonical.digest(definition.node)
    before = hashes(known, definition.name)
    is_here = before == (hashed,) and definition.name in known  # which a line that only has its hash is not
    if signature is None and is_here:
        return []  # whoever it came from, nothing is let in that was not here
    status = judge_trust.judge(
        author=definition.author,
        signature=signature,
        octets=octets,
        trust=rules.trust,
        is_local=is_local,
        check=signatures.check,
    )
    must_be_sound(definition, known, rules, fuel)
    if is_here and not (replaces and status == VALID):  # else its signature, at least, is new
        return []
    if set(before) - {hashed} and not replaces:
        shown = names.brief(definition.name)
        raise DialectConflict(f"another dialect named {shown} is installed", dialect=shown)
    name, text, author = definition.name, text_of(definition.node), definition.author or ""
    return [Installed(by, name, text, hashed, author, status, source, signature or "", " ".join(before))]


def must_be_sound(
    definition: Definition, known: Mapping[str, Definition], rules: Rules, fuel: Fuel | None = None
) -> None:
    """Refuse a definition that breaks a rule, or takes more steps to verify than it may."""
    verdict = verify(definition, known, rules.trust.policy.max_verify_time)
    if fuel is not None:
        fuel.spend(verdict.steps)  # of what the message may cost that brings it
    if not verdict.is_sound:
        raise rejected(verdict)


def rejected(verdict: Verdict) -> DialectRejected:
    """The refusal that names every rule that is broken, and the first places."""
    violations = verdict.violations
    first = violations[0]
    where = f" in {names.brief(first.performative)}" if first.performative else ""
    return DialectRejected(
        f"{first.rule}{where}: {first.why}{verdict.others}",
        rules=sorted(verdict.rules),
        count=verdict.count,
        violations=[
            {"rule": each.rule, "performative": each.performative, "message": each.why, "offset": each.at}
            for each in violations
        ],
    )
