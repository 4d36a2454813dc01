"""Text screens for sync, publication and signatures of the ledger."""

from __future__ import annotations

from bb.cli.screens.styling import counted
from bb.kernel.foreign import Foreign, names, page, quotation, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST_NAMED, MOST_SHOWN = 5, 30
# kind of event -> its name in the singular and in the plural
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
    "x.bb.queued": ("place in line", "places in line"),
    "x.bb.left_line": ("end of a place in line", "ends of places in line"),
    "x.bb.taken_over": ("take-over", "take-overs"),
    "x.bb.seen": ("sign of life", "signs of life"),
    "x.bb.redacted": ("redaction", "redactions"),
}


def synced(found: Foreign) -> list[str]:
    """The events received and sent, one line each, and what else a sync did."""
    if "ref" in found:
        return committed(found)
    if "shows" in found:
        return would_show(found)
    if "started" in found:
        not_due = "No sync was started: one was tried just now, or this clone does not publish"
        return ["A sync is running in the background" if found["started"] else not_due]
    name = str(found["remote"])
    if found["already_running"]:
        return [
            f"Another process is syncing this clone and has not ended, so nothing was synced with {name} for this call",
            "When it has ended, send what it has missed: `bb sync`",
        ]
    if found.get("engine"):
        return [*_with_engine(found), *_after(found)]
    served = ["Another process has synced this clone, for this call too"] if found.get("shared") else []
    lines = [
        *served,
        f"Received from {name}: {_count(found['came'])}{_in_words(found)}",
        f"Sent to {name}: {_count(found['went'])}",
    ]
    if found["generation"]:
        lines.append(f"The ledger on {name} is at generation {found['generation']} ({found['tip'][:12]})")
    if found["place"] == "hidden":
        lines.append("It is at a hidden ref: `git clone` and `git fetch` do not get it")
    lines += _of_the_branch(found)
    lines += _of_strays(found["quarantined"])
    lines += _of_signatures(found.get("signatures", {}))
    lines += _of_forks(found["forks"])
    if found.get("without_engine"):
        lines.append(f"This is the git archive, because the engine was not asked: {sentence(found['without_engine'])}")
    return [*lines, *_after(found)]


def _with_engine(found: Foreign) -> list[str]:
    """A sync with the engine of a fleet."""
    lines = []
    if "sent" in found:
        sent = f", {_count(found['sent'])} of it just now" if found["sent"] else ""
        lines.append(f"Everything that was recorded here is on the engine{sent}")
    if "came" in found:
        lines.append(f"This clone has read the engine's log up to its last place, {found['imported']}")
    if found.get("archived"):
        lines.append(f"The git archive on {found['remote']} is complete up to place {found['archived']}")
    return lines


def _after(found: Foreign) -> list[str]:
    """What a sync has changed for the agents of this clone."""
    lines = [*contested(found), *void(found)]
    for taken in found.get("names_taken", ()):
        lines.append(f"Another clone registered the name {taken} too, and published it first")
        lines.append(f"The agent of this clone takes another name: `bb agent rename NEW --agent {taken}`")
        lines.append(f"Or, if both are one agent on purpose: `bb agent merge --agent {taken}`")
    if farewell := found.get("farewell"):
        lines += _of_farewell(farewell)
    if found.get("visible_to"):
        lines.append(f"The ledger is visible to {sentence(found['visible_to'])}, now and after every sync")
    return lines


def contested(found: Foreign) -> Iterator[str]:
    """The reservations of this clone that other clones' reservations stand against."""
    for conflict in found["contested"]:
        yield (
            f"Contested: {conflict['agent_id']} does not hold {conflict['scope']}; {conflict['stands']} holds "
            f"{conflict['held']} in another clone"
        )


def void(found: Foreign) -> Iterator[str]:
    """The reservations that became void because the order that decides about them has changed."""
    for one in found.get("void", ()):
        yield f"Void: {one['agent_id']} does not hold {one['scope']} any more, and was told so"


def _of_farewell(farewell: Foreign) -> Iterator[str]:
    retired = f", and writer {farewell['writer']} of this clone is retired" if farewell["writer"] else ""
    yield f"Everything is published{retired}"
    for held in farewell["still_held"]:
        yield f"{held['agent_id']} still holds {held['scope']}"
    if farewell["still_held"]:
        yield "Release what is not needed with `bb agent release`, and then run `bb sync --farewell` again"


def _of_forks(forks: Foreign) -> Iterator[str]:
    """What a sync did with local lines whose place another clone's published lines have taken."""
    for fork in forks:
        if fork["kept"]:
            yield f"Set aside: {_lines(fork['lines'])} of writer {fork['writer']}, in {fork['path']}"
        if fork["kinds"]:
            count = counted(sum(int(number) for number in fork["kinds"].values()), "event")
            yield (
                f"Another clone published lines under our writer {fork['writer']}, in place of {count} of ours"
                f"{_of_kinds(fork['kinds'])}; ours are recorded again under writer {fork['under']}"
            )
        elif not fork["kept"]:
            yield f"{_lines(fork['lines'])} of writer {fork['writer']} replaced by published lines; nothing is lost"


def _of_the_branch(found: Foreign) -> Iterator[str]:
    """Snapshots, and a ledger that was restarted or joined."""
    if not found["archived"].is_none:
        yield f"A snapshot was made of {_count(found['events'])}; {_lines(found['archived'])} archived with it"
    if found["not_compacted"]:
        yield f"No snapshot was made: {sentence(found['not_compacted'])}"
    if anew := found["begun_anew"]:
        yield f"{anew['by']} started the ledger anew: {quotation(anew['reason'])} (epoch {anew['epoch']})"
    if named := found["arbiter_moved"]:
        yield f"{named['by']} made {sentence(named['url'])} the arbiter of this ledger: {quotation(named['reason'])}"
    if found["joined"]:
        yield f"This clone now takes part in that ledger ({sentence(found['joined'])})"


def _of_strays(found: Foreign) -> Iterator[str]:
    """The commits on the branch that do not count. They are the work of others, so their words are quoted."""
    for stray in found[:MOST_NAMED]:
        by, subject = sentence(stray["by"]), quotation(stray["subject"])
        yield (
            f"Quarantined on {stray['remote']}: commit {stray['commit'][:12]} by {by} ({subject}) does not count: "
            f"{sentence(stray['why'])}"
        )
    if len(found) > MOST_NAMED:
        yield f"Quarantined in addition: {counted(len(found) - MOST_NAMED, 'commit')}"
    if found:
        yield "No clone imports these commits, and the ledger goes on after them. Ask their authors: docs/sync.md"


def _of_signatures(found: Foreign) -> Iterator[str]:
    """The result of checking signatures, received and ours. Without listed signers there are no verdicts."""
    if unsigned := found.get("unsigned"):
        yield f"Nothing was signed: {sentence(unsigned)}"
    if left := found.get("left_writer"):
        yield f"Another clone published lines under our writer {left}; this clone continues under a new writer"
    if lost := found.get("lost"):
        named = ", ".join(str(line) for line in lost[:MOST_NAMED])
        without = f"{counted(len(lost), 'line')} came without a payload"
        yield f"{without} and without a valid redaction; their content is unknown in this clone: {named}"
    yield from _come_to_count(found)
    if not found.get("listed"):
        return
    if came := found.get("came"):
        counts = sorted((str(verdict), int(n)) for verdict, n in came.items())
        yield f"Lines received: {', '.join(f'{n:,} {verdict}' for verdict, n in counts)}"
    not_counting = " and are ignored" if found["mode"] == "require" else ""
    for writer in found.get("doubted", [])[:MOST_NAMED]:
        what = "forged" if writer["forged"] else "unverified"
        count = writer["forged"] or writer["unverified"]
        yield f"{_lines(count)} of writer {writer['writer']} are {what}{not_counting}: {sentence(writer['why'])}"
    if found["mode"] == "require" and not found["is_allowed"]:
        revoked = "its key has been revoked. `bb ledger key --rotate` makes a new key; then list that key"
        unlisted = "its key is not listed. `bb ledger key` prints the line to add"
        yield f"Other clones ignore the lines of this clone: {revoked if found['is_revoked'] else unlisted}"


def _come_to_count(found: Foreign) -> Iterator[str]:
    """The lines that were known but ignored before, and that are valid from now on."""
    for line_range in found.get("come_to_count", [])[:MOST_NAMED]:
        first, last = int(line_range["first"]), int(line_range["last"])
        yield (
            f"{counted(last - first + 1, 'line')} of writer {line_range['writer']} became valid ({first} to {last}); "
            "messages among them may precede messages already read: `bb chat history` shows them"
        )


def signatures_known(found: Foreign) -> list[str]:
    """The signers that are listed, and how many lines they verify."""
    lines = found["lines"]
    if not found["listed"]:
        unlisted = "signatures: no signers are listed in .bb/allowed_signers, so all lines are unverified"
        return [unlisted + (f"; {lines['forged']:,} are forged" if lines["forged"] else ""), *_come_to_count(found)]
    counts = ", ".join(f"{lines[verdict]:,} {verdict}" for verdict in ("verified", "unverified", "forged"))
    rows = [f"signatures: {found['mode']}, by {found['where']}: {counts}"]
    for writer in found["writers"]:
        if int(writer["verified"]) < int(writer["lines"]):
            forged = f", {writer['forged']:,} forged" if writer["forged"] else ""
            rows.append(
                f"  writer {writer['writer']}: {writer['verified']:,} of {writer['lines']:,} lines verified{forged}: "
                f"{sentence(writer['why'])}"
            )
    return [*rows, *(f"  {sentence(problem)}" for problem in found["problems"]), *_come_to_count(found)]


def signing(found: Foreign) -> list[str]:
    """Which signatures are required, and whether our key is listed."""
    rows = signatures_known(found)
    if found["key"]:
        listed = "listed" if found["is_allowed"] else "revoked" if found["is_revoked"] else "not listed"
        rows.append(f"our key {found['key']} is {listed}{', also for the person' if found['is_persons'] else ''}")
    if found["trouble"]:
        rows.append(f"our key cannot be used: {sentence(found['trouble'])}")
    rows += [f"note: {sentence(text)}" for text in found["uncertain"]]
    if found["written"]:
        rows.append(f"Wrote {found['written']}. It takes effect once it is committed, reviewed and merged.")
    return rows


def key(found: Foreign) -> list[str]:
    """Our key, and the line that lists it as a signer."""
    whose = "from git's configuration" if found["source"] == "git" else str(found["path"])
    if found["is_revoked"]:
        mend = "change user.signingKey" if found["source"] == "git" else "make a new key with `bb ledger key --rotate`"
        return [f"{found['fingerprint']} ({whose}) has been revoked: {mend}, then list the new key."]
    listed = (
        "It is already listed." if found["is_allowed"] else f"Add this line to {found['file']}, and have it reviewed:"
    )
    return [f"{found['fingerprint']} ({whose}) signs for writer {found['writer']}.", listed, *page(found["line"])]


def signatures(found: Foreign) -> list[str]:
    """The last signature of each writer."""
    rows = ["Nothing is signed yet."] if not found["signatures"] else []
    for signature in found["signatures"]:
        why = f" ({sentence(signature['why'])})" if signature["why"] else ""
        rows.append(f"writer {signature['writer']}, up to line {signature['upto']:,}: {signature['verdict']}{why}")
    return [*rows, *([f"Written to {found['output']}"] if found["output"] else [])]


def committed(found: Foreign) -> list[str]:
    """The commit at the local ref."""
    if found["already_running"]:
        return ["Another process is already syncing this clone; nothing else to do."]
    unsigned = found.get("unsigned")
    return [
        f"{found['ref']} is at {found['commit'][:12]}, with {_count(found['events'])} more than before",
        *([f"It is not signed: {sentence(unsigned)}"] if unsigned else []),
    ]


def mirrored(found: Foreign) -> list[str]:
    """The files that were written into the work tree. The user commits them."""
    lines = [f"Imported from this branch's files: {_count(found['came'])}"] if found["came"] else []
    lines += [f"Wrote {file['path']}: {_count(file['events'])}" for file in found["written"]]
    return [*lines, *([] if found["written"] else ["Nothing new to mirror."])]


def rotated(found: Foreign) -> list[str]:
    """How a rotation restarted the ledger, or would restart it."""
    name, epoch = str(found["remote"]), found["epoch"]
    what = f"{_count(found['events'])}, {found['redacted']:,} of them redacted"
    if found["tip"].is_none:
        return [
            f"Would start epoch {epoch} on {name}, with {what}.",
            f"{found['commits']:,} earlier commits, up to {found['previous'][:12]}, would no longer be on any branch.",
        ]
    return [
        f"Epoch {epoch} has started on {name}, with {what}.",
        f"It is at generation {found['generation']} ({found['tip'][:12]}).",
        f"{found['commits']:,} earlier commits, up to {found['previous'][:12]}, are no longer on any branch.",
        "Other clones follow with their next sync. To delete the commits for good, see docs/sync.md",
    ]


def arbiter(found: Foreign) -> list[str]:
    """The arbiter of the ledger, who made it the arbiter, and the remote here that it is."""
    named = found["arbiter"]
    if named.is_none and found["remote"].is_none:
        return ["The ledger is not published yet. The first remote that it is published to becomes its arbiter."]
    if named.is_none:
        return [f"The arbiter is {found['remote']} in this clone; the next publication names it for every clone."]
    here = f", the remote {found['remote']}" if found["remote"] else "; no remote of this clone leads there"
    lines = [f"The arbiter of this ledger is {sentence(named['url'])}{here}."]
    if named["by"]:
        lines.append(f"{named['by']} decided that at {named['ts']}: {quotation(named['reason'])}")
    if found["moved"]:
        told = f"{found['told']} says so" if found["told"] else "the arbiter so far could not be told"
        lines.append(f"It took over all results at generation {found['generation']}; {told}.")
    elif found["remote"] and not found["publishes"]:
        lines.append("This clone does not publish there, so it cannot reserve with --global: see `bb sync --publish`")
    return lines


def would_show(found: Foreign) -> list[str]:
    """The data that a first publication makes visible, and its readers."""
    return [
        f"Would publish {_count(found['events'])} to {found['remote']}.",
        f"Visible to {sentence(found['visible_to'])}:",
        *(f"  {sentence(what)}" for what in found["shows"]),
        f"Agents: {names(found['agents'][:MOST_SHOWN]) or 'none'}{_and_more(found['agents'])}",
        *([f"The published ledger would move to: {found['moves_to']}"] if "moves_to" in found else []),
    ]


def _and_more(agents: Foreign) -> str:
    return f" and {len(agents) - MOST_SHOWN} more" if len(agents) > MOST_SHOWN else ""


def _in_words(found: Foreign) -> str:
    """The agents whose events were received, and the number of events of each named kind."""
    agents, more = found["from_agents"][:MOST_NAMED], len(found["from_agents"]) - MOST_NAMED
    doubted = found.get("unverified_agents", [])
    named = ", ".join(f"{agent} (unverified)" if agent in doubted else str(agent) for agent in agents)
    who = f" of {named}{f' and {more} more' if more > 0 else ''}" if agents else ""
    kinds = _named_kinds(found["kinds"])
    return f"{who}: {kinds}" if kinds else who


def _of_kinds(kinds: Foreign) -> str:
    named = _named_kinds(kinds)
    return f" ({named})" if named else ""


def _named_kinds(kinds: Foreign) -> str:
    """The number of events of each kind in WORDS."""
    counts = [f"{count:,} {words[count != 1]}" for kind, count in kinds.items() if (words := kind.among(WORDS, None))]
    among = "" if len(counts) == len(kinds) else "among them "
    return f"{among}{', '.join(counts)}" if counts else ""


def _lines(count: Foreign) -> str:
    return counted(int(count), "line")


def _count(events: Foreign) -> str:
    return counted(int(events), "event")


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "sync": synced,
    "ledger commit": committed,
    "ledger mirror": mirrored,
    "ledger rotate": rotated,
    "ledger arbiter": arbiter,
    "ledger key": key,
    "ledger signing": signing,
    "ledger signatures": signatures,
}
UNWRAPPED = FORMS
