"""Text screens for `bb check`, the hooks of git and editors, and the configuration of MCP hosts."""

from __future__ import annotations

from bb.cli.screens import styling
from bb.kernel import json_text
from bb.kernel.escaping import harmless
from bb.kernel.foreign import Foreign, names, quotation, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def checked(found: Foreign) -> list[str]:
    if "override" not in found:
        return [*(owned(path, found["agent_id"]) for path in found["paths"]), *styling.fleet_age(found)]
    return [*unjudged(found), *in_the_way(found), *overridden(found), *counted(found)]


def in_the_way(found: Foreign) -> list[str]:
    return [owned(path, found["agent_id"]) for path in found["paths"] if path["verdict"] == "held"]


def owned(path: Foreign, who: Foreign) -> str:
    """A path, its verdict and its holders."""
    holders = "; ".join(holds(reservation, who) for reservation in path["held_by"])
    gone = "  (not there)" if path.get("vanished") else ""
    return f"{path['verdict']:<6}  {path['path']}{gone}{'  ' + holders if holders else ''}"


def holds(each: Foreign, who: Foreign) -> str:
    """A reservation and its holder; for a freeze, its author and reason."""
    if each.get("frozen"):
        why = f" ({quotation(each['why'])})" if each["why"] else ""
        return f"{each['agent_id']} has frozen {each['scope']}{why}"
    how = " open" if str(each["kind"]) == "open" else ""
    gone = ", which is not there any more" if each.get("vanished") else ""
    verb = "you hold" if each["agent_id"] == who else f"{each['agent_id']} holds"
    return f"{verb} {each['scope']}{how}{gone}"


def unjudged(found: Foreign) -> list[str]:
    """A warning if the check could not run."""
    if error := found["not_judged"]:
        return [f"Warning: this commit was not checked: [{error['code']}] {sentence(error['message'])}"]
    return []


def overridden(found: Foreign) -> list[str]:
    override = found["override"]
    return (
        [f"Check overridden and recorded: {quotation(override['reason'])}  [{override['event_id']}]"]
        if override
        else []
    )


def counted(found: Foreign) -> list[str]:
    if not found["is_managed"]:
        return ["This repository has no ledger, so all paths are free."]
    if found["not_judged"]:
        return []
    held = sum(path["verdict"] == "held" for path in found["paths"])
    return [
        f"{len(found['paths']):,} staged, {held:,} held by others"
        if held
        else f"{len(found['paths']):,} staged, none held by others"
    ]


NO_AGENT_NAMED = (
    "bb: this is only a warning; the commit continues, because no agent is named. An agent sets BB_AGENT=NAME."
)


def asked_by_git(found: Foreign) -> list[str]:
    """The output of the pre-commit hook: empty if there is no finding."""
    lines = [*unjudged(found), *in_the_way(found), *overridden(found)]
    return lines if found["agent_id"] or not lines else [*lines, NO_AGENT_NAMED]


def signed(found: Foreign) -> list[str]:
    return [f"bb: no trailer added to the message: {sentence(found['because'])}"] if found["because"] else []


MOST_HELD = 5  # most paths of a commit that are named

INCURSION = (
    "The holders are notified. Undo the commit (`git reset --soft HEAD^`, or `git revert` where it is published), "
    "or ask them to accept it: bb send NAME 'TEXT'"
)


def recorded(found: Foreign) -> list[str]:
    """The output of the hook after a commit: empty if the commit changed nothing that is held."""
    if found["because"]:
        return [f"bb: this commit was not compared with reservations: {sentence(found['because'])}"]
    if not found["held"]:
        return []
    rows = list(found["held"])
    lines = [f"  {row['path']}, which {_holder(row)}" for row in rows[:MOST_HELD]]
    more = [f"  and {len(rows) - MOST_HELD:,} more"] if len(rows) > MOST_HELD else []
    return ["bb: this commit was made without bb's check. It is recorded that it changes:", *lines, *more, INCURSION]


def _holder(row: Foreign) -> str:
    return "the person has frozen" if row["is_freeze"] else f"{row['agent_id']} holds"


def hooks(found: Foreign) -> list[str]:
    """The hooks in git and, if requested, the editors that call bb."""
    if "folder" not in found:
        return wired(found)
    doing = "Hooks in" if found.get("is_done", True) else "Would change in"
    lines = [f"{doing} {found['folder']}"]
    for hook in found["hooks"]:
        kept = f"  runs {hook['kept']} first" if hook.get("kept") else ""
        lines.append(f"  {hook['hook']:<18}  {hook.get('outcome') or hook['state']}{kept}")
    lines += [f"Note: {sentence(found['note'])}"] if found["note"] else []
    return [*lines, *(wirings(found) if "editors" in found else [])]


def wired(found: Foreign) -> list[str]:
    how = ("changed" if found["is_done"] else "would be changed") if found["changed"] else "unchanged"
    commands = [f"  {name:<16}  {sentence(command)}" for name, command in found.get("commands", {}).items()]
    return [f"{found['path']}: {how}", *commands, *([sentence(found["note"])] if commands else [])]


def wirings(found: Foreign) -> list[str]:
    lines = []
    for editor in (each for each in found["editors"] if each["moments"]):
        lines.append(f"{editor['editor']:<8}  {editor['path']}: {names(editor['moments'])}")
        lines += [f"  {line}" for line in _calls(editor)]
    calling = {f"{editor['editor']}" for editor in found["editors"] if editor["moments"]}
    others = dict.fromkeys(f"{editor['editor']}" for editor in found["editors"])
    silent = ", ".join(name for name in others if name not in calling)
    return [*lines, f"Editors that do not call bb: {silent}"] if silent else lines


def _calls(editor: Foreign) -> list[str]:
    """When an editor last called its hooks."""
    if editor.get("note"):
        return [sentence(editor["note"])]
    calls = editor.get("calls", {})
    called = [f"{name} {at}" for name, at in calls.items() if at]
    never = [f"{name} never" for name, at in calls.items() if not at]
    return [f"last called: {', '.join([*called, *never])}"] if calls else []


def hosted(found: Foreign) -> list[str]:
    """The entry for bb in the configuration of an MCP host."""
    how = ("changed" if found["is_done"] else "would be changed") if found["changed"] else "unchanged"
    exact = json_text.dumps(found["entry"].raw())  # shown as JSON, so that it can be copied into a configuration
    entry = [f"  bb  {harmless(exact)}", sentence(found["note"])] if found["entry"] else []
    return [f"{found['path']}: {how}", *entry]


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "check": checked,
    "hook pre-commit": asked_by_git,
    "hook prepare-commit-msg": signed,
    "hook post-commit": recorded,
    "hooks install": hooks,
    "hooks uninstall": hooks,
    "hooks status": hooks,
    "mcp install": hosted,
}
UNWRAPPED = FORMS
