"""Text screens for groups, actors, their messages, and the daemon.

Message data comes from other programs and may have any JSON type. No screen relies on its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bb.cli.screens import styling
from bb.cli.screens.styling import block, brief, column, flowing, heading, whole
from bb.kernel.foreign import Foreign, names, page, sentence, shell_word
from bb.ops.desk import live_daemon

LABEL = 12  # columns for a label


# -- groups


def groups(found: Foreign) -> list[str]:
    """The list of groups."""
    rows = found["groups"]
    if not rows:
        return [f"No groups to show. {whole('`bb group attach .`')} creates one for the current directory."]
    wide = styling.widest(whole(row["group_id"]) for row in rows)
    return [f"{column(whole(row['group_id']), wide)}  {_state(row)}  {_title(row)}" for row in rows]


def _state(row: Foreign) -> str:
    return styling.state(row["state"]) + (", running" if row["running"] else "")


def _title(row: Foreign) -> str:
    """The title of a group and its path."""
    return f"{flowing(str(row['title']))}  {whole(row['path'])}".rstrip()


def group(found: Foreign) -> list[str]:
    """The details of one group."""
    details = found["group"]
    lines = [f"{heading(flowing(str(details['title'])))}  {whole(details['group_id'])}  {_state(details)}"]
    lines += block(details["topic"] or "", "  ")
    lines += ["", heading("Directories"), *map(_directory(details["active_scope_key"]), details["scopes"])]
    lines += [] if details["scopes"] else [f"  none; {whole('`bb group attach PATH`')} adds one"]
    lines += ["", heading("Actors"), *(f"  {row}" for row in actor_rows(details["actors"]))]
    return [*lines, "", heading("Settings"), *_named(details["settings"])]


def _directory(active: Foreign) -> Callable[[Foreign], str]:
    def row(scope: Foreign) -> str:
        where = whole(scope["url"]) if scope["is_here"] else f"{flowing(str(scope['label']))}, in another clone"
        mark = "*" if scope["scope_key"] == active else " "
        return f"{mark} {where}  [{whole(scope['scope_key'])}]"

    return row


def _named(values: Foreign) -> list[str]:
    wide = styling.widest(name for name, _ in values.items())
    return [f"  {column(str(name), wide)}  {value}" for name, value in values.items()]


def settings(found: Foreign) -> list[str]:
    return _named(found["settings"])


def attached(found: Foreign) -> list[str]:
    return [f"The directory belongs to {flowing(str(found['title']))}  [{whole(found['group_id'])}]"]


def created(found: Foreign) -> list[str]:
    return [f"Created {flowing(str(found['title']))}  [{whole(found['group_id'])}]"]


def updated(found: Foreign) -> list[str]:
    return group(found)[:1]


def started(found: Foreign) -> list[str]:
    """The actors of a group that were started or stopped."""
    verb = "Started" if "started" in found else "Stopped"
    whom = found["started"] if "started" in found else found.get("stopped")
    return [f"{verb} {names(whom)}" if whom else "The group has no actors"]


def previewed(found: Foreign) -> list[str]:
    """The changes that an import would make."""
    diff = found["diff"]
    settings = [f"  {name}  {change['to']} (now {change['from']})" for name, change in diff["settings_changed"].items()]
    prompts = [name for name, change in diff["prompts_changed"].items() if change["changed"]]
    lines = _listed("Would add", diff["actors_add"]) + _listed("Would change", diff["actors_update"])
    lines += _listed("Would remove", diff["actors_remove"]) + _listed("Would change prompts", Foreign(prompts))
    return [*lines, *settings] or ["Nothing would change: the group already matches the template."]


def imported(found: Foreign) -> list[str]:
    """The changes that an import made."""
    prompts = [f"{name} ({path or 'built-in'})" for name, path in found["prompt_paths"].items()]
    lines = _listed("Added", found["added"]) + _listed("Changed", found["updated"])
    lines += _listed("Removed", found["removed"])
    lines += [f"Prompts: {', '.join(prompts)}"] if prompts else []
    lines += _named(found["settings_patch"])
    return lines or ["Nothing changed: the group already matches the template."]


def _listed(label: str, values: Foreign) -> list[str]:
    return [f"{label}: {names(values)}"] if values else []


# -- actors


def actors(found: Foreign) -> list[str]:
    return actor_rows(found["actors"])


def actor_rows(rows: Foreign) -> list[str]:
    """The actors of a group, one line each."""
    if not rows:
        return [f"No actors to show. {whole('`bb actor add ID --runtime claude`')} adds one."]
    wide = styling.widest(row["id"] for row in rows)
    return [f"{column(str(row['id']), wide)}  {_actor(row)}" for row in rows]


def _actor(row: Foreign) -> str:
    does = "runs" if row["running"] else _rest(row)
    unread = f", {row['unread_count']} unread" if row.get("unread_count") else ""
    called = f"  {brief(str(row['title']))}" if row["title"] != row["id"] else ""
    return f"{row['role']:<7}  {does}{unread}  ({row['runtime']}, {row['runner']}){called}"


def _rest(row: Foreign) -> str:
    """Why an actor does not run."""
    how = row.get("exited")
    if not how.is_mapping:
        return "stopped" if row["enabled"] else "disabled"
    exact: Any = how.raw()
    end = sentence(live_daemon.how_it_ended(exact))
    return f"{styling.coloured('ended by itself', 'red')} with {end} at {styling.minute(how.get('ts', '-'))}"


def actor(found: Foreign) -> list[str]:
    return [f"{found['actor']['id']}  {_actor(found['actor'])}"]


def tail(found: Foreign) -> list[str]:
    """The text of an actor's terminal, unchanged."""
    return page(found["text"])


# -- messages


def messages(found: Foreign) -> list[str]:
    """The unread messages, and the command that marks them as read."""
    if not found["messages"]:
        return ["No messages to read."]
    lines = [line for row in found["messages"] for line in message(row)]
    last = whole(f"bb chat mark-read {shell_word(found['messages'][-1]['id'])}")
    return [*lines, f"-> {last}"]


def history(found: Foreign) -> list[str]:
    """Past messages, newest first."""
    lines = [line for row in found["messages"] for line in message(row)]
    oldest = shell_word(found["messages"][-1]["id"]) if found["messages"] else ""
    more = [f"-> {whole(f'bb chat history --before-event-id {oldest}')}"] if found["has_more"] else []
    return [*lines, *more] or ["No messages."]


def message(event: Foreign) -> list[str]:
    """A message or a notification in full."""
    data = event["data"]
    body = data.get("text") or data.get("message") or Foreign("")
    title = f": {flowing(data['title'])}" if data.get("title") else ""
    answers = f", answers {whole(data['reply_to'])}" if data.get("reply_to") else ""
    by = f"{styling.coloured(str(event['by']), 'cyan')}{styling.doubt(event)}"
    head = f"{_when(event)}  {by} -> {_to(data)}{_urgency(data)}{answers}"
    lines = [f"{head}{title}  [{whole(event['id'])}]"]
    lines += block(body, "    ")
    # A notice about an actor carries the last lines of that actor's terminal.
    lines += block(data.get("context").get("terminal_tail") or "", "    ")
    attached = data.get("attachments")
    return lines + [
        f"    attached: {whole(_attachment(attachment))}" for attachment in (attached if attached.is_list else ())
    ]


def _when(event: Foreign) -> str:
    return styling.minute(Foreign(str(event["ts"])))


def _to(data: Foreign) -> str:
    to = data.get("target_actor_id") or data.get("to")
    return names(to) if to.is_list and to else str(to or "everybody")


def _urgency(data: Foreign) -> str:
    priority = data.get("priority")
    notes = [styling.coloured(str(priority), "red")] if priority in ("attention", "high", "urgent") else []
    notes += ["to be acknowledged"] if data.get("requires_ack").is_true else []
    notes += ["asks for a reply"] if data.get("message_mode") == "request_reply" or data.get("reply_required") else []
    return "".join(f", {note}" for note in notes)


def _attachment(each: Foreign) -> Foreign:
    return each.get("path") or each.get("title") if each.is_mapping else each


def sent(found: Foreign) -> list[str]:
    event = found["event"]
    return [f"Sent to {_to(event['data'])}  [{whole(event['id'])}]"]


def reacted(found: Foreign) -> list[str]:
    return [f"Reaction recorded  [{whole(found['event']['id'])}]"]


def _attended(command: str, found: Foreign) -> Iterable[str]:
    """The C2A form of COMMAND's answer."""
    from bb.cli.screens import attention_acts  # noqa: PLC0415  (rarely needed)

    return attention_acts.FORMS[command](found)


def delivered(found: Foreign) -> list[str]:
    how = "will be typed as soon as possible" if found["delivery_state"] == "claimed" else "already typed"
    return [f"{names(found['actor_ids'])}: {how}"]


def crossed(found: Foreign) -> list[str]:
    event = found["dst_event"]
    return [f"Sent to {_to(event['data'])} of {whole(event['group_id'])}  [{whole(event['id'])}]"]


def acknowledged(found: Foreign) -> list[str]:
    return ["Already acknowledged" if found["already"] else "Acknowledged"]


def marked(found: Foreign) -> list[str]:
    cursor = found["cursor"]
    return [f"Read up to {whole(cursor['event_id'])}" if cursor["event_id"] else "There was nothing to read"]


# -- events


def event(found: Foreign) -> list[str]:
    """One event on one line."""
    content = found["data"].get("text") or found["data"].get("title") or found["data"]
    when = f"{found.get('seq', '-'):>6}  {str(found['ts'])[:19].replace('T', ' ')}"
    what = f"{found['kind']}  {found['by']}{styling.doubt(found)}  {brief(content)}"
    return [f"{when}  {what}  [{whole(found['id'])}]"]


# -- attachments


def kept(found: Foreign) -> list[str]:
    return [f"{whole(found['path'])}  {styling.counted(int(found['bytes']), 'byte')}"]


def fetched(found: Foreign) -> list[str]:
    return [f"Wrote {styling.counted(int(found['bytes']), 'byte')} to {whole(found['output'])}"]


# -- the daemon


def daemon(found: Foreign) -> list[str]:
    """Whether a daemon runs, its groups and its actors."""
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
    at_work = [f"  {row['actor_id']}  {row['runner']}, in {row['group_id']}" for row in found["actors"]]
    return [*lines, "", heading("Running actors"), *(at_work or ["  none"])]


def _running(found: Foreign) -> str:
    return f"The daemon is running: process {found['pid']}, version {found['version']}"


def _where(found: Foreign) -> list[str]:
    return [f"  {name:<{LABEL}}{whole(found[key])}" for name, key in WHERE]


WHERE = (("listens at", "endpoint"), ("home", "home"), ("log", "log"))


def daemon_started(found: Foreign) -> list[str]:
    before = "" if found["started"] else "Already running. "
    return [before + _running(found), *_where(found), *_fleet(found), *_warning(found)]


def _fleet(found: Foreign) -> list[str]:
    """The relay of the clone, if it has joined a fleet, and the address of the metrics."""
    lines = [f"  {'metrics':<{LABEL}}http://127.0.0.1:{found['metrics']}/metrics"] if found.get("metrics") else []
    if not (about := found.get("fleet")):
        return lines
    if refused := about.get("refused"):
        lines.append(f"The relay of this clone does not run: {sentence(refused['message'])}")
        return lines + ([f"-> {sentence(refused['hint'])}"] if refused.get("hint") else [])
    where = "in another process" if about["elsewhere"] else "in this daemon"
    states = {
        "connected": "connected to the engine",
        "away": "not connected to the engine yet; if it stays so, `bb fleet status` says why",
        "stopped": "it gives no verdicts: `bb fleet status` says why",
    }
    return [*lines, f"The relay of this clone runs {where}: {states.get(str(about['engine']), about['engine'])}"]


def _warning(found: Foreign) -> list[str]:
    if not found.get("warning"):
        return []
    return [
        f"WARNING: {sentence(found['warning'])}",
        f"-> run {whole('bb daemon stop')}, then start it again without {whole('--allow-anonymous-tcp')}",
    ]


def daemon_stopped(found: Foreign) -> list[str]:
    if not found["stopped"]:
        return [f"No daemon was running for {whole(found['home'])}."]
    ended = ", ".join(str(row["actor_id"]) for row in found["actors"])
    return [f"The daemon has stopped (process {found['pid']})" + (f", with its actors {ended}" if ended else "")]


def log(found: Foreign) -> list[str]:
    written = [line for entry in found["lines"] for line in page(entry)]
    return written or [f"The log is empty: {whole(found['log'])}."]


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "group list": groups,
    "group show": group,
    "group attach": attached,
    "group create": created,
    "group update": updated,
    "group delete": lambda found: [f"Deleted the group {whole(found['group_id'])}"],
    "group use": lambda found: [f"The group now works in {whole(found['active_scope_key'])}"],
    "group detach-scope": lambda found: [f"Removed the directory from {whole(found['group_id'])}"],
    "group set-state": lambda found: [f"{whole(found['group_id'])} is {styling.state(found['state'])}"],
    "group settings": settings,
    "group template-export": lambda found: page(found["template"]),
    "group template-preview": previewed,
    "group template-import": imported,
    "group create-from-template": lambda found: [f"Created {whole(found['group_id'])} from the template"],
    "group start": started,
    "group stop": started,
    "actor list": actors,
    "actor add": actor,
    "actor update": actor,
    "actor start": actor,
    "actor stop": actor,
    "actor restart": actor,
    "actor remove": lambda found: [f"Removed {found['actor_id']} from the group"],
    "actor tail": tail,
    "actor clear": lambda found: [f"Cleared the stored output of {found['actor_id']}"],
    "actor resize": lambda found: [f"{found['actor_id']}: {found['cols']} columns, {found['rows']} rows"],
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
