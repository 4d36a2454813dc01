"""Groups, their actors, what is said in them, and the daemon, as a person reads them.

What stands in a message comes from whoever wrote it, of whatever type: nothing here takes it for anything.
"""

from __future__ import annotations

from bb.cli import paint, text
from bb.cli.paint import brief, column, flowing, hanging, heading, whole
from bb.kernel.show import harmless
from bb.ops import live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

LABEL = 12  # columns for the name of what follows


def of(command: str, data: Any) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    return paint.laid_out(FORMS.get(command, text.plain)(data))


# -- groups


def groups(found: dict[str, Any]) -> list[str]:
    """The groups there are."""
    rows = found["groups"]
    if not rows:
        return [f"No groups to show. {whole('`bb group attach .`')} makes one of the directory you are in."]
    wide = max(len(row["group_id"]) for row in rows)
    return [f"{column(whole(row['group_id']), wide)}  {_state(row)}  {_title(row)}" for row in rows]


def _state(row: dict[str, Any]) -> str:
    return paint.state(str(row["state"])) + (", running" if row["running"] else "")


def _title(row: dict[str, Any]) -> str:
    """What a group is called, and where it is."""
    return f"{flowing(str(row['title']))}  {whole(str(row['path']))}".rstrip()


def group(found: dict[str, Any]) -> list[str]:
    """All there is to say of a group."""
    shown = found["group"]
    lines = [f"{heading(flowing(str(shown['title'])))}  {whole(shown['group_id'])}  {_state(shown)}"]
    lines += [f"  {hanging(flowing(line))}" for line in str(shown["topic"]).splitlines() if line.strip()]
    lines += ["", heading("Directories"), *map(_directory(shown["active_scope_key"]), shown["scopes"])]
    lines += [] if shown["scopes"] else [f"  none; {whole('`bb group attach PATH`')} adds one"]
    lines += ["", heading("Actors"), *(f"  {row}" for row in actor_rows(shown["actors"]))]
    return [*lines, "", heading("Settings"), *_named(shown["settings"])]


def _directory(active: str) -> Callable[[dict[str, Any]], str]:
    def row(scope: dict[str, Any]) -> str:
        where = whole(str(scope["url"])) if scope["is_here"] else f"{flowing(str(scope['label']))}, in another clone"
        mark = "*" if scope["scope_key"] == active else " "
        return f"{mark} {where}  [{whole(str(scope['scope_key']))}]"

    return row


def _named(values: dict[str, Any]) -> list[str]:
    wide = max(map(len, values), default=0)
    return [f"  {column(harmless(name), wide)}  {text.short(value)}" for name, value in values.items()]


def settings(found: dict[str, Any]) -> list[str]:
    return _named(found["settings"])


def attached(found: dict[str, Any]) -> list[str]:
    return [f"The directory belongs to {flowing(str(found['title']))}  [{whole(found['group_id'])}]"]


def created(found: dict[str, Any]) -> list[str]:
    return [f"Made {flowing(str(found['title']))}  [{whole(found['group_id'])}]"]


def updated(found: dict[str, Any]) -> list[str]:
    return group(found)[:1]


def started(found: dict[str, Any]) -> list[str]:
    """Which actors of a group were started, or stopped."""
    verb = "Started" if "started" in found else "Stopped"
    names = found.get("started", found.get("stopped", []))
    return [f"{verb} {', '.join(map(harmless, names))}" if names else "The group has no actors"]


def previewed(found: dict[str, Any]) -> list[str]:
    """What an import would change."""
    diff = found["diff"]
    settings = {name: f"{each['to']} (now {each['from']})" for name, each in diff["settings_changed"].items()}
    prompts = [name for name, each in diff["prompts_changed"].items() if each["changed"]]
    lines = _told("Would join", diff["actors_add"]) + _told("Would change", diff["actors_update"])
    lines += _told("Would leave", diff["actors_remove"]) + _told("Other prompts", prompts) + _named(settings)
    return lines or ["Nothing would change: the group is as the template says."]


def imported(found: dict[str, Any]) -> list[str]:
    """What an import has changed."""
    prompts = [f"{name} ({path or 'the built-in one'})" for name, path in found["prompt_paths"].items()]
    lines = _told("Joined", found["added"]) + _told("Changed", found["updated"]) + _told("Left", found["removed"])
    lines += _told("Prompts", prompts) + _named(found["settings_patch"])
    return lines or ["Nothing has changed: the group is as the template says."]


def _told(what: str, names: Sequence[str]) -> list[str]:
    return [f"{what}: {', '.join(map(harmless, names))}"] if names else []


# -- actors


def actors(found: dict[str, Any]) -> list[str]:
    return actor_rows(found["actors"])


def actor_rows(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Who is in a group, one line each."""
    if not rows:
        return [f"No actors to show. {whole('`bb actor add ID --runtime claude`')} adds one."]
    wide = max(len(row["id"]) for row in rows)
    return [f"{column(harmless(row['id']), wide)}  {_actor(row)}" for row in rows]


def _actor(row: dict[str, Any]) -> str:
    does = "runs" if row["running"] else _rest(row)
    unread = f", {row['unread_count']} unread" if row.get("unread_count") else ""
    called = f"  {brief(str(row['title']))}" if row["title"] != row["id"] else ""
    runner = harmless(f"{row['runtime']}, {row['runner']}")
    return f"{harmless(row['role']):<7}  {does}{unread}  ({runner}){called}"


def _rest(row: dict[str, Any]) -> str:
    """Why somebody does not run."""
    how = row.get("exited")
    if not isinstance(how, dict):
        return "stands still" if row["enabled"] else "disabled"
    end = live.how_it_ended(how)
    at = str(how.get("ts"))[:16].replace("T", " ")
    return f"{paint.painted('ended by itself', 'red')} with {harmless(end)} at {harmless(at)}"


def actor(found: dict[str, Any]) -> list[str]:
    return [f"{harmless(found['actor']['id'])}  {_actor(found['actor'])}"]


def tail(found: dict[str, Any]) -> list[str]:
    """What a terminal showed, and nothing around it."""
    return [harmless(line) for line in str(found["text"]).split("\n")]


# -- messages


def messages(found: dict[str, Any]) -> list[str]:
    """What there is to read, and how to say that it has been read."""
    if not found["messages"]:
        return ["Nothing to read."]
    lines = [line for each in found["messages"] for line in message(each)]
    last = whole(f"bb chat mark-read {found['messages'][-1]['id']}")
    return [*lines, f"-> {last}"]


def history(found: dict[str, Any]) -> list[str]:
    """What was said, newest first."""
    lines = [line for each in found["messages"] for line in message(each)]
    oldest = found["messages"][-1]["id"] if found["messages"] else ""
    more = [f"-> {whole(f'bb chat history --before-event-id {oldest}')}"] if found["has_more"] else []
    return [*lines, *more] or ["Nothing was said."]


def message(event: dict[str, Any]) -> list[str]:
    """A message, or a notification, with all that it says."""
    data = event["data"]
    body = str(data.get("text") or data.get("message") or "")
    title = f": {flowing(str(data['title']))}" if data.get("title") else ""
    answers = f", answers {whole(str(data['reply_to']))}" if data.get("reply_to") else ""
    head = f"{_when(event)}  {paint.painted(harmless(event['by']), 'cyan')} -> {_to(data)}{_urgency(data)}{answers}"
    lines = [f"{head}{title}  [{whole(event['id'])}]"]
    lines += [f"    {hanging(flowing(line))}" for line in body.splitlines() if line.strip()]
    lines += [f"    | {harmless(line)}" for line in _terminal_tail(data).splitlines()]
    return lines + [f"    attached: {whole(_attachment(each))}" for each in _listed(data.get("attachments"))]


def _terminal_tail(data: dict[str, Any]) -> str:
    """What the terminal of the actor whom a notice is about showed last."""
    context = data.get("context")
    return str(context.get("terminal_tail") or "").strip("\n") if isinstance(context, dict) else ""


def _when(event: dict[str, Any]) -> str:
    return harmless(str(event["ts"])[:16].replace("T", " "))


def _to(data: dict[str, Any]) -> str:
    to = data.get("target_actor_id") or data.get("to") or "everybody"
    return ", ".join(harmless(str(each)) for each in (to if isinstance(to, list) else [to]))


def _urgency(data: dict[str, Any]) -> str:
    priority = data.get("priority")
    notes = [paint.painted(str(priority), "red")] if priority in ("attention", "high", "urgent") else []
    notes += ["to be acknowledged"] if data.get("requires_ack") is True else []
    notes += ["asks for a reply"] if data.get("message_mode") == "request_reply" or data.get("reply_required") else []
    return "".join(f", {note}" for note in notes)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _attachment(each: Any) -> str:
    return str(each.get("path") or each.get("title")) if isinstance(each, dict) else str(each)


def sent(found: dict[str, Any]) -> list[str]:
    event = found["event"]
    return [f"Sent to {_to(event['data'])}  [{whole(event['id'])}]"]


def reacted(found: dict[str, Any]) -> list[str]:
    return [f"Noted  [{whole(found['event']['id'])}]"]


def _attended(command: str, found: dict[str, Any]) -> Iterable[str]:
    """What COMMAND answers where it is C2A's."""
    from bb.cli import attention_act_screens  # noqa: PLC0415  (few say things so)

    return attention_act_screens.FORMS[command](found)


def delivered(found: dict[str, Any]) -> list[str]:
    whom = ", ".join(harmless(str(each)) for each in found["actor_ids"])
    return [
        f"{whom}: {'to be typed it as soon as possible' if found['delivery_state'] == 'claimed' else 'typed before'}"
    ]


def crossed(found: dict[str, Any]) -> list[str]:
    event = found["dst_event"]
    where = whole(str(event["group_id"]))
    return [f"Sent to {_to(event['data'])} of {where}  [{whole(event['id'])}]"]


def acknowledged(found: dict[str, Any]) -> list[str]:
    return ["It was acknowledged already" if found["already"] else "Acknowledged"]


def marked(found: dict[str, Any]) -> list[str]:
    cursor = found["cursor"]
    return [f"Read up to {whole(cursor['event_id'])}" if cursor["event_id"] else "There was nothing to read"]


# -- events


def event(found: dict[str, Any]) -> list[str]:
    """One event on one line."""
    said = found["data"].get("text") or found["data"].get("title") or found["data"]
    when = f"{found.get('seq', '-'):>6}  {harmless(str(found['ts'])[:19].replace('T', ' '))}"
    what = f"{harmless(found['kind'])}  {harmless(found['by'])}  {brief(text.short(said))}"
    return [f"{when}  {what}  [{whole(found['id'])}]"]


# -- attachments


def kept(found: dict[str, Any]) -> list[str]:
    return [f"{whole(found['path'])}  {found['bytes']:,} bytes"]


def fetched(found: dict[str, Any]) -> list[str]:
    return [f"Wrote {found['bytes']:,} bytes to {whole(found['output'])}"]


# -- the daemon


def daemon(found: dict[str, Any]) -> list[str]:
    """Whether one runs, and what runs in it."""
    home = whole(found["home"])
    if not found["running"]:
        return [f"No daemon is running for {home}. {whole('`bb daemon start`')} starts one."]
    if not found["responding"]:
        return [
            f"A daemon is running for {home}, but it does not answer (process {found['pid'] or 'unknown'}).",
            f"-> {whole('bb daemon logs')}",
        ]
    lines = [_running(found), *_where(found), *_warning(found)]
    rows = [f"  {whole(row['group_id'])}  {_state(row)}  {_title(row)}" for row in found["groups"]]
    lines += ["", heading("Groups"), *(rows or ["  none"])]
    at_work = [f"  {harmless(row['actor_id'])}  {row['runner']}, in {row['group_id']}" for row in found["actors"]]
    return [*lines, "", heading("Actors that run"), *(at_work or ["  none"])]


def _running(found: dict[str, Any]) -> str:
    return f"The daemon is running: process {found['pid']}, version {harmless(str(found['version']))}"


def _where(found: dict[str, Any]) -> list[str]:
    return [f"  {name:<{LABEL}}{whole(str(found[key]))}" for name, key in WHERE]


WHERE = (("listens at", "endpoint"), ("home", "home"), ("log", "log"))


def daemon_started(found: dict[str, Any]) -> list[str]:
    before = "" if found["started"] else "It was running already. "
    return [before + _running(found), *_where(found), *_warning(found)]


def _warning(found: dict[str, Any]) -> list[str]:
    if not found["warning"]:
        return []
    return [
        f"WARNING: {harmless(found['warning'])}",
        f"-> {whole('bb daemon stop')}, and start it without {whole('--allow-anonymous-tcp')}",
    ]


def daemon_stopped(found: dict[str, Any]) -> list[str]:
    if not found["stopped"]:
        return [f"No daemon was running for {whole(found['home'])}."]
    names = ", ".join(harmless(row["actor_id"]) for row in found["actors"])
    return [f"The daemon has ended (process {found['pid']})" + (f", and with it {names}" if names else "")]


def log(found: dict[str, Any]) -> list[str]:
    return list(found["lines"]) or [f"Nothing has been written to {whole(found['log'])}."]


FORMS: dict[str, Callable[[Any], Iterable[str]]] = {
    "group list": groups,
    "group show": group,
    "group attach": attached,
    "group create": created,
    "group update": updated,
    "group delete": lambda found: [f"{whole(found['group_id'])} is a group no more"],
    "group use": lambda found: [f"The group works in {whole(found['active_scope_key'])}"],
    "group detach-scope": lambda found: [f"The directory has left {whole(found['group_id'])}"],
    "group set-state": lambda found: [f"{whole(found['group_id'])} is {paint.state(found['state'])}"],
    "group settings": settings,
    "group template-export": lambda found: map(whole, found["template"].splitlines()),
    "group template-preview": previewed,
    "group template-import": imported,
    "group create-from-template": lambda found: [f"Made {whole(found['group_id'])}, as the template says"],
    "group start": started,
    "group stop": started,
    "actor list": actors,
    "actor add": actor,
    "actor update": actor,
    "actor start": actor,
    "actor stop": actor,
    "actor restart": actor,
    "actor remove": lambda found: [f"{harmless(found['actor_id'])} has left the group"],
    "actor tail": tail,
    "actor clear": lambda found: [f"What {harmless(found['actor_id'])} has shown is forgotten"],
    "actor resize": lambda found: [f"{harmless(found['actor_id'])}: {found['cols']} columns, {found['rows']} rows"],
    "chat inbox": messages,
    "chat history": history,
    "chat send": lambda found: sent(found) if "event" in found else _attended("chat send", found),
    "chat reply": sent,
    "chat cross": crossed,
    "chat notify": sent,
    "chat react": lambda found: reacted(found) if "event" in found else _attended("chat react", found),
    "chat ack": acknowledged,
    "chat notify-ack": acknowledged,
    "chat deliver": delivered,
    "chat mark-read": marked,
    "chat mark-all-read": marked,
    "events": event,
    "blob put": kept,
    "blob get": fetched,
    "daemon status": daemon,
    "daemon start": daemon_started,
    "daemon stop": daemon_stopped,
    "daemon logs": log,
}
