"""The content of each page: answers of ops, combined and limited to a readable number of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import bb
from bb.coordination.agents import work_state
from bb.kernel import clock, ids
from bb.ledger.journal import kinds
from bb.ops.desk.desk import Desk
from bb.ops.overview import problems
from bb.ops.overview.sessions import SessionNotFound
from bb.web import attention, timeline, tree
from bb.web.queries import Query, answer

# name -> title, in the order of the navigation bar
TITLES = {
    "sessions": "Sessions",
    "agents": "Agents",
    "map": "Map",
    "timeline": "Timeline",
    "attention": "Attention",
    "problems": "Problems",
    "ledger": "Ledger",
    "cbcl": "CBCL",
}
# members that only some problems have
ABOUT_A_PROBLEM = (
    "body",
    "bead_id",
    "message_id",
    "request",
    "event_id",
    "category",
    "from_agent",
    "scope",
    "agent_id",
)
STATIONS, CARDS, ROWS, SAID, MOST = 40, 60, 100, 60, 1000  # on a page at first, and at most
RECIPIENTS = 100  # offered in a form, participants first; other agents have a form on their own cards
# the state of a CBCL message's signature, in words
PROOFS = {
    "verified": "verified",
    "unsigned": "unsigned",
    "unchecked": "not verified: the author's key is not known here",
    "other-ledger": "not verified: signed for another ledger or for no ledger",
    "forged": "forged",
    "revoked": "verified with a key that is no longer trusted",
}
SORTS = {
    "recent": "Most recent",
    "priority": "Most urgent",
    "owner": "By owner",
    "name": "By name",
}
URGENCY = (work_state.NEEDS_INPUT, work_state.EVICTED, work_state.STALE, work_state.DECIDING, work_state.ACTIVE)


def page(desk: Desk, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """The template variables of the page NAME for the query GIVEN."""
    desk.store.require_ledger()
    query = Query(given)
    open_problems = [{**dict.fromkeys(ABOUT_A_PROBLEM), **problem} for problem in problems.open_problems(desk)]
    return {
        "name": name,
        "title": TITLES[name],
        "titles": TITLES,
        "is_static": False,
        "at": clock.text(desk.now()),
        "person": ids.PERSON,
        "repository": desk.place.title,
        "version": bb.__version__,
        "asked": query,
        "problems": open_problems,
        "mine": attention.for_the_person(desk),
        "is_damaged": any(problem["kind"] == "damage" for problem in open_problems),
        **CONTENTS[name](desk, query),
    }


# -- sessions


def _sessions(desk: Desk, asked: Query) -> dict[str, Any]:
    is_searched = any(asked.text(name) for name in ("state", "owner", "epic", "q", "show"))
    sessions = answer(desk, "sessions.list", **({"all": True} if is_searched else {}))
    others = sessions.get("left_out", {})
    tasks = [task | {"epic": group["epic"]} for group in sessions["feed"] for task in group["tasks"]]
    matching = [task for task in tasks if _is_asked_for(task, asked)]
    order = asked.one_of("sort", SORTS, "recent")
    kept = sorted(sorted(matching, key=last_activity, reverse=True), key=_ORDERS[order])
    few = kept[: asked.count("show", CARDS, MOST)]
    bead = asked.text("bead")
    return {
        "epics": _by_epic(few),
        "all_epics": [group["epic"] for group in sessions["feed"]],
        "counts": {state: sum(task["session_state"] == state for task in tasks) for state in work_state.STATES},
        "owners": sorted({task["owner"] for task in tasks if task["owner"]}),
        "sorts": SORTS,
        "sort": order,
        "found": len(matching),
        "left_out": len(matching) - len(few) + others.get("beads", 0),
        "more": len(few) + CARDS if len(few) < MOST else None,
        "agents": sessions["agents"][:STATIONS],
        "more_agents": max(len(sessions["agents"]) - STATIONS, 0) + others.get("agents", 0),
        "at_work": {task["owner"] for task in tasks if task["scopes"]},
        "incursions": sessions["incursions"],
        "beads": sessions["beads"],
        "drawer": _drawer(desk, bead, sessions["agents"], asked.count("rows", SAID, MOST)) if bead else None,
    }


def _is_asked_for(task: Mapping[str, Any], asked: Query) -> bool:
    if asked.text("state") not in ("", task["session_state"]) or asked.text("owner") not in ("", task["owner"]):
        return False
    if asked.text("epic") not in ("", task["epic"]["id"] or "-"):
        return False
    talk = task["communication"]
    words = " ".join(filter(None, [task["id"], task["title"], task["owner"], talk["latest_snippet"], *task["scopes"]]))
    return asked.text("q").casefold() in words.casefold()


def last_activity(task: Mapping[str, Any]) -> str:
    """A sort key: the time of the last message or act about a bead."""
    return str(task["last_activity_at"] or "")


_ORDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "recent": lambda task: task["session_state"] == work_state.COMPLETED,
    "priority": lambda task: (*URGENCY, work_state.COMPLETED).index(task["session_state"]),
    "owner": lambda task: (task["owner"] is None, task["owner"] or ""),
    "name": lambda task: task["id"],
}


def _by_epic(tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """TASKS grouped by epic, in the order of TASKS. Tasks without an epic come last."""
    groups: dict[str, dict[str, Any]] = {}
    for task in tasks:
        groups.setdefault(task["epic"]["id"] or "", {"epic": task["epic"], "tasks": []})["tasks"].append(task)
    return sorted(groups.values(), key=lambda group: group["epic"]["id"] is None)


def _drawer(desk: Desk, bead: str, agents: list[dict[str, Any]], most: int) -> dict[str, Any] | None:
    """The last MOST rows of the conversation about a bead; None if the bead is unknown."""
    try:
        session: dict[str, Any] = answer(desk, "sessions.show", bead=bead)
    except SessionNotFound.error:
        return None
    spoken = [row[side] for row in session["conversation"][::-1] for side in ("from", "to") if row.get(side)]
    agent_ids = {agent["agent_id"] for agent in agents}
    to = [who for who in dict.fromkeys([session["owner"], *spoken]) if who in agent_ids]
    rows = merge_copies(session["conversation"])
    earlier = max(len(rows) - most, 0)
    return session | {
        "conversation": rows[earlier:],
        "earlier": earlier,
        "more": min(len(rows), MOST) if most < MOST else None,
        "to": [*to, *sorted(agent_ids.difference(to))][:RECIPIENTS],
    }


def merge_copies(conversation: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a CONVERSATION. The copies of one message for several recipients are one row."""
    rows: dict[str, dict[str, Any]] = {}
    for row in conversation:
        event = str(row["id"]).partition("_")[0]
        key = event if row["type"] != "activity" else row["id"]
        rows.setdefault(key, row | {"copies": []})["copies"].append(row)
    return list(rows.values())


# -- the others


def _agents(desk: Desk, asked: Query) -> dict[str, Any]:
    count = asked.count("show", CARDS, MOST)
    status = answer(desk, "status", **({"all": True} if count > CARDS else {}))
    others = status.get("left_out", {}).get("agents", 0)
    held: dict[str, list[Any]] = {}
    owed: dict[str, int] = {}
    for reservation in status["reservations"]:
        held.setdefault(reservation["agent_id"], []).append(reservation)
    for message in status["unacked"]:
        owed[message["to_agent"]] = owed.get(message["to_agent"], 0) + 1
    groups: dict[str, list[Any]] = {}
    for agent in status["agents"][:count]:
        name = agent["agent_id"]
        groups.setdefault(agent["liveness"], []).append(
            agent
            | {
                "holds": held.get(name, []),
                "missions": len({bead for reservation in held.get(name, []) if (bead := reservation["bead_id"])}),
                "owes": owed.get(name, 0),
            }
        )
    return {
        "groups": groups,
        "counts": Counter(agent["liveness"] for agent in status["agents"]),
        "names": _receivers(status["agents"]),
        "more": count + CARDS if len(status["agents"]) + others > count else None,
        "left_out": max(len(status["agents"]) - count, 0) + others,
        "colliding": {event[side] for event in status["incursions"] for side in ("from_agent", "to_agent")},
        "frozen": held.get(ids.PERSON, []),
        "everybody_is_paused": bool(status["paused"]),
    }


def _map(desk: Desk, asked: Query) -> dict[str, Any]:
    return {"tree": tree.folder_map(desk, asked.text("under")), "names": _receivers(answer(desk, "status")["agents"])}


def _receivers(agents: Iterable[dict[str, Any]]) -> list[str]:
    """The agents that can receive a reservation, the most recently active first."""
    return [agent["agent_id"] for agent in agents if "paused" not in agent][:RECIPIENTS]


def _timeline(desk: Desk, asked: Query) -> dict[str, Any]:
    hours = asked.count("hours", 8, 24 * 31)
    since = desk.now() - hours * clock.HOUR
    return {
        "hours": hours,
        "spans": {1: "1 hour", 8: "8 hours", 24: "1 day", 24 * 7: "1 week"},
        "picture": timeline.diagram(desk, since),
        "told": answer(desk, "timeline", limit=str(ROWS), since=clock.text(since))[::-1],
    }


def _attention(desk: Desk, _: Query) -> dict[str, Any]:
    return attention.page_content(desk)


def _problems(_: Desk, asked: Query) -> dict[str, Any]:  # every page already has the list
    return {"show": asked.count("show", ROWS, MOST)}


def _ledger(desk: Desk, asked: Query) -> dict[str, Any]:
    count = asked.count("show", ROWS, MOST)
    arguments: dict[str, Any] = {"limit": str(count), **asked.those("agent", "since", "until")}
    if kind := asked.text("kind"):
        arguments["kind"] = [kind]
    events = list(answer(desk, "ledger.log", **arguments))
    state = answer(desk, "ledger.status")
    return {
        "events": events[::-1],
        "kinds": sorted(kinds.KINDS),
        "state": state,
        "writers": len(state["writers"]) + state.get("left_out", {}).get("writers", 0),
        "signing": answer(desk, "ledger.signing"),
        "fleet": answer(desk, "fleet.status"),
        "more": min(count + ROWS, MOST) if len(events) == count < MOST else None,
        "older": events[0]["ts"] if len(events) == count else None,
    }


def _cbcl(desk: Desk, asked: Query) -> dict[str, Any]:
    agents = [agent["agent_id"] for agent in answer(desk, "agent.list")]
    who, thread = asked.text("agent"), asked.text("thread")
    talks: dict[str, dict[str, Any]] = {}
    for name in [ids.PERSON, *agents]:
        for conversation in answer(desk, "cbcl.conversations", agent=name, limit=str(ROWS))["conversations"]:
            talk = talks.setdefault(conversation["thread"], {"messages": 0, "who": []})
            talk["who"].append(name)
            # Show the thread as the agent with the most messages has it.
            if conversation["messages"] > talk["messages"]:
                talk |= conversation | {"agent": name}
    selected_conversation = answer(desk, "cbcl.conversations", thread=thread, agent=who) if who and thread else None
    return {
        "talks": sorted(talks.values(), key=lambda each: str(each["at"]), reverse=True),
        "conversation": selected_conversation,
        "dialects": answer(desk, "cbcl.dialect.list")["dialects"],
        "proofs": PROOFS,
    }


CONTENTS: dict[str, Callable[[Desk, Query], dict[str, Any]]] = {
    "sessions": _sessions,
    "agents": _agents,
    "map": _map,
    "timeline": _timeline,
    "attention": _attention,
    "problems": _problems,
    "ledger": _ledger,
    "cbcl": _cbcl,
}
