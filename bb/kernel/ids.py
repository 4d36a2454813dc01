"""The names things have: agents, writers, events, groups. Every id that reaches a path has been through here."""

from __future__ import annotations

from bb.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    Order = tuple[int, str, int]  # Lamport time, writer, number: where an event stands in the total order

LOWER = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
BASE32 = LOWER + "234567"
IN_AGENT_ID = LOWER + DIGITS + "-"
IN_ACTOR_ID = IN_AGENT_ID + LOWER.upper() + "_"

SYSTEM, SERVICE = "system", "svc:"  # who may change a group too, though they are nobody's agents
IN_SERVICE = IN_ACTOR_ID + "."
SERVICE_LENGTH = 128
PERSON = "user"  # the human principal of CCCS: whoever steers the agents here
AGENT_LENGTH = range(3, 49)
ACTOR_LENGTH = range(1, 49)
WRITER_LENGTH = 12

# Principals that CCCS and CCCC give a meaning of their own, and names that a Windows file system refuses: an agent
# called so could speak as somebody else, or could not have a file.
RESERVED = frozenset(
    "user all system foreman peers admin root cccc broadcast con prn aux nul".split()  # noqa: SIM905
    + [port + str(n) for port in ("com", "lpt") for n in range(1, 10)]
)


class InvalidAgentId(Usage):
    """An agent id is lower-case words of letters and digits joined by single hyphens, 3 to 48 characters."""

    code = "INVALID_AGENT_ID"
    hint = "for example amber-otter"


class InvalidEventId(Usage):
    """An event id is a writer of 12 characters, a dot, and a number."""

    code = "INVALID_EVENT_ID"
    hint = "`bb ledger log` shows the ids there are"


def agent_id(text: str) -> str:
    """TEXT, when it may name an agent."""
    if not is_agent_id(text):
        reason = (
            "is reserved"
            if text in RESERVED
            else "is no agent id: lower-case words joined by single hyphens, 3 to 48 characters"
        )
        raise InvalidAgentId(f"{text[:60]!r} {reason}")
    return text


def actor_id(text: str) -> str:
    """TEXT, when it may name somebody who is here already, an actor of CCCC too."""
    return text if is_actor_id(text) else agent_id(text)


def is_agent_id(text: str) -> bool:
    return (
        len(text) in AGENT_LENGTH
        and not text.strip(IN_AGENT_ID)
        and "--" not in text
        and text[0] != "-" != text[-1]
        and text not in RESERVED
    )


def is_actor_id(text: str) -> bool:
    """Whether TEXT may name an actor of CCCC, which is an agent whose name is less regular."""
    return (
        len(text) in ACTOR_LENGTH
        and not text.strip(IN_ACTOR_ID)
        and text[0] not in "-_"
        and text.lower() not in RESERVED
    )


def is_principal(value: object) -> bool:
    """Whether VALUE names somebody who can hold things and be told things: an actor, or the person."""
    return type(value) is str and (value == PERSON or is_actor_id(value))


def is_author(value: object) -> bool:
    """Whether an event may have been recorded in the name of VALUE: a principal's, the system's or a service's."""
    return is_principal(value) or (type(value) is str and (value == SYSTEM or is_service(value)))


def is_service(text: str) -> bool:
    """Whether TEXT names a service: `svc:` and a name."""
    own = text.removeprefix(SERVICE)
    return text.startswith(SERVICE) and 0 < len(own) <= SERVICE_LENGTH and not own.strip(IN_SERVICE)


def is_writer_id(text: str) -> bool:
    return len(text) == WRITER_LENGTH and not text.strip(BASE32)


def writer_id(octets: bytes) -> str:
    """A writer id from at least eight random OCTETS."""
    number = int.from_bytes(octets, "big")
    return "".join(BASE32[number >> 5 * place & 31] for place in range(WRITER_LENGTH))


def event_id(writer: str, n: int) -> str:
    return f"{writer}.{n}"


def split_event_id(text: str) -> tuple[str, int]:
    """The writer and the number that an event id names."""
    writer, dot, n = text.partition(".")
    if not (is_writer_id(writer) and dot and n.isascii() and n.isdigit() and n[0] != "0" and len(n) <= 15):
        raise InvalidEventId(f"{text[:60]!r} is no event id")
    return writer, int(n)


def is_event_id(text: str) -> bool:
    """Whether TEXT has the form of an event's name, which is also that of a reservation."""
    try:
        split_event_id(text)
    except InvalidEventId:
        return False
    return True


def order_of(lamport: int, event: str) -> Order:
    """Where an event stands in the total order."""
    writer, n = split_event_id(event)
    return lamport, writer, n
