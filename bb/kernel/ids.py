"""Ids of agents, writers, events and groups. Every id that becomes part of a path is checked here."""

from __future__ import annotations

from bb.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Order: TypeAlias = "tuple[int, str, int]"  # Lamport time, writer, number: an event's position in the total order

LOWER = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
BASE32 = LOWER + "234567"
IN_AGENT_ID = LOWER + DIGITS + "-"
IN_ACTOR_ID = IN_AGENT_ID + LOWER.upper() + "_"

SYSTEM, SERVICE = "system", "svc:"  # authors that are not agents but may change a group
IN_SERVICE = IN_ACTOR_ID + "."
SERVICE_LENGTH = 128
PERSON = "user"  # the human principal of CCCS: the person who steers the agents
AGENT_LENGTH = range(3, 49)
ACTOR_LENGTH = range(1, 49)
WRITER_LENGTH = 12
SESSION_LENGTH = 16  # characters of the digest that stands for a session
INCARNATION_LENGTH = 16  # hexadecimal digits
NAMED_BY_BB = "?"  # prefix of a session's digest if bb generated its id and no caller has presented it yet

# Names with a meaning in CCCS and CCCC, and names that Windows file systems refuse. An agent with such a name could act
# as another principal, or could not have a file.
RESERVED = frozenset(
    "user all system foreman peers admin root cccc broadcast con prn aux nul".split()  # noqa: SIM905
    + [port + str(n) for port in ("com", "lpt") for n in range(1, 10)]
)

InvalidAgentId = Usage.declare(
    "INVALID_AGENT_ID",
    "An agent id has 3 to 48 characters: lower-case words of letters and digits, joined by single hyphens",
    hint="for example amber-otter; `bb agent name` proposes a free name",
)

InvalidEventId = Usage.declare(
    "INVALID_EVENT_ID",
    "An event id is a writer id of 12 characters, a dot, and a number",
    hint="list the ids: `bb ledger log`",
)


def agent_id(text: str) -> str:
    """TEXT as the id of a new agent."""
    if not is_agent_id(text):
        reason = (
            "is reserved"
            if text in RESERVED
            else "is not an agent id: 3 to 48 characters, lower-case words joined by single hyphens"
        )
        raise InvalidAgentId(f"{text[:60]!r} {reason}")
    return text


def actor_id(text: str) -> str:
    """TEXT as the id of an existing agent or CCCC actor."""
    return text if is_actor_id(text) else agent_id(text)


def is_agent_id(text: str) -> bool:
    return (
        len(text) in AGENT_LENGTH
        and not text.strip(IN_AGENT_ID)
        and "--" not in text
        and text[0] != "-" != text[-1]
        and text not in RESERVED
    )


def is_incarnation(text: str) -> bool:
    """Whether TEXT has the form of the id of an engine's incarnation (`ledger/carrier/door.py`)."""
    return len(text) == INCARNATION_LENGTH and not text.strip(DIGITS + "abcdef")


def is_actor_id(text: str) -> bool:
    """Whether TEXT may be the id of a CCCC actor: an agent with fewer restrictions on its name."""
    return (
        len(text) in ACTOR_LENGTH
        and not text.strip(IN_ACTOR_ID)
        and text[0] not in "-_"
        and text.lower() not in RESERVED
    )


def is_principal(value: object) -> bool:
    """Whether VALUE is the id of an actor or the person, which can hold reservations and receive messages."""
    return type(value) is str and (value == PERSON or is_actor_id(value))


def is_author(value: object) -> bool:
    """Whether VALUE may be the author of an event: a principal, the system or a service."""
    return is_principal(value) or (type(value) is str and (value == SYSTEM or is_service(value)))


def is_service(text: str) -> bool:
    """Whether TEXT is the id of a service: `svc:` and a name."""
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
    """The writer and the number in an event id."""
    writer, dot, n = text.partition(".")
    if not (is_writer_id(writer) and dot and n.isascii() and n.isdigit() and n[0] != "0" and len(n) <= 15):
        raise InvalidEventId(f"{text[:60]!r} is not an event id")
    return writer, int(n)


def is_event_id(text: str) -> bool:
    """Whether TEXT has the form of an event id. Reservation ids have the same form."""
    try:
        split_event_id(text)
    except InvalidEventId.error:
        return False
    return True


def order_of(lamport: int, event: str) -> Order:
    """The position of an event in the total order."""
    writer, n = split_event_id(event)
    return lamport, writer, n


def is_session(value: object) -> bool:
    """Whether VALUE, read from the ledger, is a session's digest."""
    bare = value.removeprefix(NAMED_BY_BB) if isinstance(value, str) else ""
    return len(bare) == SESSION_LENGTH and not bare.strip(DIGITS + "abcdef")
