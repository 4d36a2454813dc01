"""Mail addresses of agents: the addresses under which their commits appear, as author or co-author."""

from __future__ import annotations

from bb.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bb.coordination.agents.roster import Agent

LONGEST, MOST = 254, 20

InvalidAddress = Usage.declare(
    "INVALID_EMAIL",
    "The text is not a mail address as git writes it",
    hint="for example `--email amber-otter@agents.example`, without a name and without < >",
)


def canonical(address: str) -> str:
    """ADDRESS in the form in which addresses are compared. Case does not count. GitHub and GitLab write the number of
    an account before its name in a noreply address, or leave it out."""
    local, _, domain = address.strip().lower().rpartition("@")
    number, plus, rest = local.partition("+")
    dash_number, dash, dash_rest = local.partition("-")
    if domain.startswith("users.noreply."):
        if plus and number.isdigit():
            local = rest
        elif domain != "users.noreply.github.com" and dash and dash_number.isdigit():
            local = dash_rest
    return f"{local}@{domain}"


def is_address(text: object) -> bool:
    """Whether TEXT may be an address of an agent in the ledger."""
    if type(text) is not str or not 3 <= len(text) <= LONGEST or not text.isprintable():
        return False
    return "@" in text[1:-1] and not any(mark in text for mark in " <>,;\"'`\\")


def address(text: str) -> str:
    """TEXT as an address."""
    if not is_address(text.strip()):
        raise InvalidAddress()
    return text.strip().lower()


def refuse_too_many(emails: Sequence[str]) -> None:
    """Refuse more addresses than an agent may have."""
    if len(emails) > MOST:
        raise InvalidAddress(f"{len(emails)} addresses are too many; an agent may have {MOST}")


def by_address(agents: Iterable[Agent]) -> dict[str, tuple[str, ...]]:
    """The agents of each address. Retired agents have an address only if no agent in service has it."""
    serving: dict[str, tuple[str, ...]] = {}
    retired: dict[str, tuple[str, ...]] = {}
    for agent in agents:
        for one in {canonical(each) for each in agent.emails}:
            of = retired if agent.is_retired else serving
            of[one] = (*of.get(one, ()), agent.agent_id)
    return retired | serving
