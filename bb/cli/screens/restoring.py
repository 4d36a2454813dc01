"""The text screen of `bb ledger restore`."""

from __future__ import annotations

from bb.cli.screens.styling import counted
from bb.kernel.foreign import Foreign, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

STATES = {
    "missing": "The branch bb-ledger does not exist on {remote}",
    "continues": "The branch on {remote} continues from the verified commit",
    "behind": "The branch on {remote} was set back to {found}, before the verified commit",
    "contained": "The branch on {remote} has another history ({found}), with every verified line unchanged",
    "diverged": "The branch on {remote} has another history ({found}), which lacks verified lines or changes them",
    "strange": "The branch on {remote} is at {found}, which is no ledger",
    "another": "The branch on {remote} has the ledger of another project ({ledger}, at {found})",
}
# action -> what would be done, and what was done
ACTIONS = {
    "nothing": ("Nothing needs to be restored: `bb sync` continues", "Nothing had to be restored; the clone is synced"),
    "put back": ("Would push the verified commit; nothing is replaced", "The verified commit is on the branch again"),
    "follow": (
        "Would follow the branch; nothing on it is replaced. Only the person may do this",
        "This clone follows the branch now",
    ),
    "replace": (
        "Would force the verified commit with the lines of both onto the branch. Only the person may do this",
        "The branch was replaced by the verified commit with the lines of both",
    ),
    "adopt": (
        "Would accept the branch as it is, and publish the lines of this clone there. Only the person may do this",
        "This clone has accepted the branch, and its own lines are published there",
    ),
    "refuse": ("Would do nothing: the ledger of another project is never replaced", ""),
}


def restored(found: Foreign) -> Iterator[str]:
    """The situation, what is known, and what was done or would be."""
    at = found["found"][:12] if found["found"] else "no commit"
    words = {"remote": str(found["remote"]), "found": str(at), "ledger": sentence(found["found_ledger"] or "unknown")}
    yield found["state"].among(STATES, STATES["strange"]).format(**words) + "."
    if not found["found_events"].is_none:
        there = f"generation {found['found_generation']}, {counted(int(found['found_events']), 'event')}"
        yield f"  there:    {there}, {counted(int(found['only_there']), 'line')} only there"
    here = f"generation {found['verified_generation']}, {counted(int(found['verified_events']), 'event')}"
    yield f"  verified: {found['verified'][:12]}, {here}, {counted(int(found['only_here']), 'line')} only here"
    if writers := found["differing_writers"]:
        yield f"  {counted(len(writers), 'writer')} there with lines that differ from verified ones: not imported"
    would, did = found["action"].among(ACTIONS, ACTIONS["refuse"])
    yield f"{did if found['is_done'] else would}."
    if found["is_done"] and found["tip"]:
        yield f"The ledger on {found['remote']} is at generation {found['generation']} ({found['tip'][:12]})."
    if found["kept_as"]:
        yield f"The replaced commit is kept in this clone: {found['kept_as']}"


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {"ledger restore": restored}
UNWRAPPED = FORMS
