"""What the ledger's travels came to, as a person reads it."""

from __future__ import annotations

from bb.cli.screens.paint import counted
from bb.kernel.outside import Outside, names, page, quotation, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST_NAMED, MOST_SHOWN = 5, 30
# kinds of events that people have a word for: one, several
WORDS = {
    "actor.add": ("registration", "registrations"),
    "actor.remove": ("retirement", "retirements"),
    "x.bb.cbcl.dialect": ("dialect", "dialects"),
    "chat.message": ("message", "messages"),
    "chat.ack": ("acceptance", "acceptances"),
    "chat.reaction": ("reaction", "reactions"),
    "system.notify": ("notice", "notices"),
    "x.bb.reserved": ("reservation", "reservations"),
    "x.bb.renewed": ("renewal", "renewals"),
    "x.bb.released": ("release", "releases"),
    "x.bb.taken_over": ("take-over", "take-overs"),
    "x.bb.seen": ("sign of life", "signs of life"),
    "x.bb.redacted": ("redaction", "redactions"),
}


def of(command: str, data: Outside) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND."""
    return FORMS[command](data)


def synced(found: Outside) -> list[str]:
    """What came and what went, one line each."""
    if "ref" in found:
        return committed(found)
    if "shows" in found:
        return would_show(found)
    if "started" in found:
        not_due = "No sync was started: one was tried just now, or this clone does not publish"
        return ["A sync goes on in the background" if found["started"] else not_due]
    name = str(found["remote"])
    if found["already_running"]:
        return [f"Another process is syncing with {name}; there is nothing left to do."]
    lines = [f"Came from {name}: {_count(found['came'])}{_in_words(found)}", f"Went to {name}: {_count(found['went'])}"]
    if found["generation"]:
        lines.append(f"The ledger on {name} is at generation {found['generation']} ({found['tip'][:12]})")
    lines += _of_the_branch(found)
    lines += _of_signatures(found.get("signatures", {}))
    lines += _of_forks(found["forks"])
    lines += [
        f"Contested: {each['agent_id']} does not hold {each['scope']}; {each['stands']} holds "
        f"{each['held']} in another clone"
        for each in found["contested"]
    ]
    if found.get("visible_to"):
        lines.append(f"It is visible to {sentence(found['visible_to'])}, now and with every sync")
    return lines


def _of_forks(forks: Outside) -> Iterator[str]:
    """What became of the lines that stood where others are published."""
    for fork in forks:
        if fork["kept"]:
            yield f"Put aside: {_lines(fork['lines'])} of writer {fork['writer']}, in {fork['path']}"
        if fork["kinds"]:
            count = counted(sum(int(each) for each in fork["kinds"].values()), "event")
            yield (
                f"Somebody else published lines under our writer {fork['writer']}, where {count} of ours stood"
                f"{_of_kinds(fork['kinds'])}; recorded again under writer {fork['under']}"
            )
        elif not fork["kept"]:
            yield f"{_lines(fork['lines'])} of writer {fork['writer']} made way for what is published; nothing is lost"


def _of_the_branch(found: Outside) -> Iterator[str]:
    """What became of the branch itself."""
    if not found["archived"].is_none:
        yield f"A snapshot was made of {_count(found['events'])}; {_lines(found['archived'])} archived with it"
    if found["not_compacted"]:
        yield f"No snapshot was made: {sentence(found['not_compacted'])}"
    if anew := found["begun_anew"]:
        yield f"{anew['by']} began the ledger anew: {quotation(anew['reason'])} (epoch {anew['epoch']})"
    if found["joined"]:
        yield f"This clone is part of that ledger now ({sentence(found['joined'])})"


def _of_signatures(found: Outside) -> Iterator[str]:
    """What the signatures say of what came, and of ours. Nothing where nobody has said who may write."""
    if unsigned := found.get("unsigned"):
        yield f"Nothing was signed: {sentence(unsigned)}"
    if left := found.get("left_writer"):
        yield f"Lines were published under our writer {left} by somebody else; this clone goes on under another"
    if lost := found.get("lost"):
        named = ", ".join(str(each) for each in lost[:MOST_NAMED])
        without = f"{counted(len(lost), 'line')} came without a payload"
        yield f"{without}, and no redaction of them counts; what stood there is unknown here: {named}"
    yield from _come_to_count(found)
    if not found.get("listed"):
        return
    if came := found.get("came"):
        counts = sorted((str(verdict), int(n)) for verdict, n in came.items())
        yield f"Of the lines that came: {', '.join(f'{n:,} {verdict}' for verdict, n in counts)}"
    not_counting = " and count for nothing" if found["mode"] == "require" else ""
    for each in found.get("doubted", [])[:MOST_NAMED]:
        what = "forged" if each["forged"] else "unverified"
        count = each["forged"] or each["unverified"]
        yield f"{_lines(count)} of writer {each['writer']} are {what}{not_counting}: {sentence(each['why'])}"
    if found["mode"] == "require" and not found["is_allowed"]:
        revoked = "its key has been revoked. `bb ledger key --rotate` makes another one, to be listed"
        unlisted = "its key is not listed. `bb ledger key` prints the line to add"
        yield f"What this clone records counts for nobody: {revoked if found['is_revoked'] else unlisted}"


def _come_to_count(found: Outside) -> Iterator[str]:
    """The lines that were here already and count from now on."""
    for each in found.get("come_to_count", [])[:MOST_NAMED]:
        first, last = int(each["first"]), int(each["last"])
        yield (
            f"{counted(last - first + 1, 'line')} of writer {each['writer']} came to count ({first} to {last}); "
            "messages among them may stand before what was read: `bb chat history` has them"
        )


def signatures_known(found: Outside) -> list[str]:
    """Who may write, in a few lines."""
    lines = found["lines"]
    if not found["listed"]:
        nobody = "signatures: nobody is listed in .bb/allowed_signers, so all lines are unverified"
        return [nobody + (f"; {lines['forged']:,} are forged" if lines["forged"] else ""), *_come_to_count(found)]
    counts = ", ".join(f"{lines[verdict]:,} {verdict}" for verdict in ("verified", "unverified", "forged"))
    rows = [f"signatures: {found['mode']}, by {found['where']}: {counts}"]
    for each in found["writers"]:
        if int(each["verified"]) < int(each["lines"]):
            forged = f", {each['forged']:,} forged" if each["forged"] else ""
            rows.append(
                f"  writer {each['writer']}: {each['verified']:,} of {each['lines']:,} lines verified{forged}: "
                f"{sentence(each['why'])}"
            )
    return [*rows, *(f"  {sentence(problem)}" for problem in found["problems"]), *_come_to_count(found)]


def signing(found: Outside) -> list[str]:
    """Which signatures are needed."""
    rows = signatures_known(found)
    if found["key"]:
        listed = "listed" if found["is_allowed"] else "revoked" if found["is_revoked"] else "not listed"
        rows.append(f"our key {found['key']} is {listed}{', for the person too' if found['is_persons'] else ''}")
    if found["trouble"]:
        rows.append(f"our key cannot be used: {sentence(found['trouble'])}")
    rows += [f"note: {sentence(each)}" for each in found["uncertain"]]
    if found["written"]:
        rows.append(f"Wrote {found['written']}. It counts once it has been committed, reviewed and merged.")
    return rows


def key(found: Outside) -> list[str]:
    """Our key, and the line that lists it."""
    whose = "git's set-up names it" if found["source"] == "git" else str(found["path"])
    if found["is_revoked"]:
        mend = "change user.signingKey" if found["source"] == "git" else "`bb ledger key --rotate` makes another one"
        return [f"{found['fingerprint']} ({whose}) has been revoked: {mend}, to be listed in its place."]
    listed = (
        "It is listed already." if found["is_allowed"] else f"Add this line to {found['file']}, and have it reviewed:"
    )
    return [f"{found['fingerprint']} ({whose}) signs for writer {found['writer']}.", listed, *page(found["line"])]


def signatures(found: Outside) -> list[str]:
    """The last signature of each writer."""
    rows = ["Nothing is signed yet."] if not found["signatures"] else []
    for each in found["signatures"]:
        why = f" ({sentence(each['why'])})" if each["why"] else ""
        rows.append(f"writer {each['writer']}, up to line {each['upto']:,}: {each['verdict']}{why}")
    return [*rows, *([f"Written to {found['output']}"] if found["output"] else [])]


def committed(found: Outside) -> list[str]:
    """The commit at the local ref."""
    if found["already_running"]:
        return ["Another process is syncing this clone; there is nothing left to do."]
    unsigned = found.get("unsigned")
    return [
        f"{found['ref']} is at {found['commit'][:12]}, with {_count(found['events'])} more than before",
        *([f"It is not signed: {sentence(unsigned)}"] if unsigned else []),
    ]


def mirrored(found: Outside) -> list[str]:
    """What was written into the work tree, to be committed by whoever wants it there."""
    lines = [f"Taken in from this branch's files: {_count(found['came'])}"] if found["came"] else []
    lines += [f"Wrote {each['path']}: {_count(each['events'])}" for each in found["written"]]
    return [*lines, *([] if found["written"] else ["Nothing new to mirror."])]


def rotated(found: Outside) -> list[str]:
    """How the ledger was begun anew, or would be."""
    name, epoch = str(found["remote"]), found["epoch"]
    what = f"{_count(found['events'])}, {found['redacted']:,} of them without what they said"
    if found["tip"].is_none:
        return [
            f"Would begin epoch {epoch} on {name}, with {what}.",
            f"{found['commits']:,} earlier commits would be on no branch any more, up to {found['previous'][:12]}.",
        ]
    return [
        f"Epoch {epoch} has begun on {name}, with {what}.",
        f"It is at generation {found['generation']} ({found['tip'][:12]}).",
        f"{found['commits']:,} earlier commits, up to {found['previous'][:12]}, are on no branch any more.",
        "Other clones follow with their next sync. To be rid of the commits for good: docs/sync.md",
    ]


def would_show(found: Outside) -> list[str]:
    """What a first publication makes visible, and to whom."""
    return [
        f"Would publish {_count(found['events'])} to {found['remote']}.",
        f"Visible to {sentence(found['visible_to'])}:",
        *(f"  {sentence(what)}" for what in found["shows"]),
        f"Agents: {names(found['agents'][:MOST_SHOWN]) or 'none'}{_and_more(found['agents'])}",
    ]


def _and_more(agents: Outside) -> str:
    return f" and {len(agents) - MOST_SHOWN} more" if len(agents) > MOST_SHOWN else ""


def _in_words(found: Outside) -> str:
    """Of how many agents what came was, and what of each kind that people have a word for."""
    agents, more = found["from_agents"][:MOST_NAMED], len(found["from_agents"]) - MOST_NAMED
    doubted = found.get("unverified_agents", [])
    named = ", ".join(f"{each} (unverified)" if each in doubted else str(each) for each in agents)
    who = f" of {named}{f' and {more} more' if more > 0 else ''}" if agents else ""
    said = _named_kinds(found["kinds"])
    return f"{who}: {said}" if said else who


def _of_kinds(kinds: Outside) -> str:
    said = _named_kinds(kinds)
    return f" ({said})" if said else ""


def _named_kinds(kinds: Outside) -> str:
    """How many events are of each kind that people have a word for."""
    known = [f"{count:,} {words[count != 1]}" for kind, count in kinds.items() if (words := kind.among(WORDS, None))]
    among = "" if len(known) == len(kinds) else "among them "
    return f"{among}{', '.join(known)}" if known else ""


def _lines(count: Outside) -> str:
    return counted(int(count), "line")


def _count(events: Outside) -> str:
    return counted(int(events), "event")


FORMS: dict[str, Callable[[Outside], Iterable[str]]] = {
    "sync": synced,
    "ledger commit": committed,
    "ledger mirror": mirrored,
    "ledger rotate": rotated,
    "ledger key": key,
    "ledger signing": signing,
    "ledger signatures": signatures,
}
