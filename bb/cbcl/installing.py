"""Installing a dialect: who signed it, whether it is sound, whether another has its name; then, and only then.

The signature is looked at first: it bounds the work on what strangers send. One dialect has a name; the same one again
is nothing new, and another one is a conflict that the operator has to settle.
"""

from __future__ import annotations

from bb.cbcl import canonical, names, signing, trusting
from bb.cbcl.definition import TIME
from bb.cbcl.facts import Installed
from bb.cbcl.library import hashes
from bb.cbcl.tree import text_of
from bb.cbcl.trusting import VALID, Trust
from bb.cbcl.verifying import R2, Violation, verify
from bb.kernel.errors import Conflict, Refused
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bb.cbcl.definition import Definition


class DialectRejected(Refused):
    """The dialect breaks rules that every dialect keeps."""

    code = "DIALECT_REJECTED"
    hint = "`bb cbcl verify FILE` shows each of them, with its place"


class DialectConflict(Conflict):
    """Another dialect of that name is installed."""

    code = "DIALECT_CONFLICT"
    hint = "give it another name; or `bb cbcl dialect install FILE --replace`"


class Rules(Record):
    """By what an agent judges what it is sent: whom its user trusts, and what may be spent. CLOCK tells milliseconds;
    without one, nothing takes any time."""

    trust: Trust = Trust()
    clock: Callable[[], int] | None = None

    def time(self) -> int:
        return self.clock() if self.clock else 0


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
) -> list[Installed]:
    """What installing DEFINITION adds to the dialects that are KNOWN; nothing where it is one of them."""
    octets, hashed = canonical.octets(definition.node), canonical.digest(definition.node)
    before = hashes(known, definition.name)
    is_here = before == (hashed,) and definition.name in known  # which a line that only has its hash is not
    if signature is None and is_here:
        return []  # whoever it came from, nothing is let in that was not here
    status = trusting.judge(
        author=definition.author,
        signature=signature,
        octets=octets,
        trust=rules.trust,
        is_local=is_local,
        check=signing.check,
    )
    must_be_sound(definition, known, rules)
    if is_here and not (replaces and status == VALID):  # else its signature, at least, is new
        return []
    if set(before) - {hashed} and not replaces:
        shown = names.brief(definition.name)
        raise DialectConflict(f"another dialect named {shown} is installed", dialect=shown)
    name, text, author = definition.name, text_of(definition.node), definition.author or ""
    return [Installed(by, name, text, hashed, author, status, source, signature or "", " ".join(before))]


def must_be_sound(definition: Definition, known: Mapping[str, Definition], rules: Rules) -> None:
    """Refuse a definition that breaks a rule, or takes longer to verify than it may."""
    began = rules.time()
    found = list(verify(definition, known).violations)
    allowed = min(definition.limit(TIME) or 0, rules.trust.policy.max_verify_time)
    if 0 < allowed < rules.time() - began:
        found.append(Violation(R2, definition.node.at, f"verifying it takes longer than {allowed} ms"))
    if found:
        raise rejected(found)


def rejected(violations: Sequence[Violation]) -> DialectRejected:
    """The refusal that names every rule that is broken."""
    rules = sorted({each.rule for each in violations})
    first = violations[0]
    where = f" in {names.brief(first.performative)}" if first.performative else ""
    more = f", and {len(violations) - 1} more" if len(violations) > 1 else ""
    return DialectRejected(
        f"{first.rule}{where}: {first.why}{more}",
        rules=rules,
        violations=[
            {"rule": each.rule, "performative": each.performative, "message": each.why, "offset": each.at}
            for each in violations
        ],
    )
