"""Lets the person answer a confirmation in a dialog of the host (MCP elicitation), within the call that needs it.

A message that would show private content to more people is refused, and the refusal names a request to the person. If
the host can show a dialog, the call has a result of its own kind first: the question. It is answered by the same call
with the person's answer beside it. In the newer version of the protocol, the host repeats the call. In the older one,
the transport asks the host meanwhile and repeats the call itself.

The model sees neither the question nor anything with which it could answer it.
"""

from __future__ import annotations

from contextlib import closing, suppress

from bb.kernel.errors import BbError
from bb.kernel.escaping import block, name, sentence
from bb.kernel.ids import PERSON
from bb.ops.attention import confirmations
from bb.ops.attention.attention_desk import C2aDesk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.mcp.host_sessions import Caller
    from bb.mcp.tool_calls import Answer, Toolbox

    Result = dict[str, Any]

METHOD = "elicitation/create"
KIND, ASKS, REQUESTS, RESPONSES = "resultType", "input_required", "inputRequests", "inputResponses"
REQUIRED = "confirm_required"
ACCEPT = "accept"
FIELD = "allow"
SCHEMA = {
    "type": "object",
    "properties": {
        FIELD: {"type": "boolean", "title": "Show it there", "description": "Yes: it is sent. No: it is not."}
    },
    "required": [FIELD],
}
LONGEST, LONGEST_CLIENT = 4000, 60  # characters of the message in a question, and of a program's name


def can_ask(capabilities: object) -> bool:
    """Whether a host with these CAPABILITIES shows forms to its person. In the first version that had dialogs, a form
    was the only kind, and was not named."""
    dialogs = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(dialogs, dict) and ("form" in dialogs or "url" not in dialogs)


def request_in(answer: Answer) -> str:
    """The id of the request to the person that a refusal names; empty if it names none."""
    if not answer.is_error or answer.data.get("code") != REQUIRED:
        return ""
    request = (answer.data.get("details") or {}).get("confirmation")
    return request if isinstance(request, str) else ""


def question(toolbox: Toolbox, request: str, caller: Caller) -> Result | None:
    """The result that asks the host for the person's answer; None if the request does not wait for one here."""
    if request in toolbox.dismissed:
        return None
    try:
        with closing(toolbox.desk(caller=caller)) as desk:
            waiting = confirmations.open_requests(C2aDesk(desk, PERSON))
    except BbError:
        return None
    found = next((each for each in waiting if each["id"] == request), None)
    if found is None:
        return None
    params = {"message": text_of(found), "requestedSchema": SCHEMA}
    return {KIND: ASKS, REQUESTS: {request: {"method": METHOD, "params": params}}}


def is_question(result: Result) -> bool:
    """Whether RESULT is a question to the person."""
    return result.get(KIND) == ASKS


def asked_in(result: Result) -> tuple[str, dict[str, Any]]:
    """The request to the person in a question, and the parameters of the dialog."""
    ((request, asked),) = result[REQUESTS].items()
    return request, asked["params"]


def text_of(request: Mapping[str, Any]) -> str:
    """The question to the person: who wants to show what to whom, and why bb asks."""
    text = str(request["text"] or "")
    more = len(text) - LONGEST
    to = name(str(request["to"])) if request["to"] else "another conversation"
    return "\n".join(
        [
            f"{name(str(request['agent']))} wants to send this message to {to}, where more people can read it:",
            *block(text[:LONGEST]),
            *([f"({more} more characters; bb chat confirmations shows them)"] if more > 0 else []),
            f"bb asks because {sentence(str(request['why'] or 'it may contain something private'))}.",
        ]
    )


def record(toolbox: Toolbox, request: str, response: object, caller: Caller) -> None:
    """Record the person's answer in RESPONSE.

    Only a form that was filled in is an answer. Hosts without a person at them decline a dialog or cancel it by
    themselves, and what one records would be the person's word. Such a request stays open, and is not asked again here.
    """
    allows = _allows(response)
    if allows is None:
        toolbox.dismissed.add(request)
        return
    who = f"{PERSON}, in a dialog of {name(caller.client or 'a host', LONGEST_CLIENT)}"
    with suppress(BbError), closing(toolbox.desk(caller=caller)) as desk:  # the repeated call is refused as before
        confirmations.answer(C2aDesk(desk, PERSON), request, allows=allows, who=who)
        desk.sync_later()


def _allows(response: object) -> bool | None:
    given = response if isinstance(response, dict) else {}
    content = given.get("content")
    allows = content.get(FIELD) if given.get("action") == ACCEPT and isinstance(content, dict) else None
    return allows if isinstance(allows, bool) else None
