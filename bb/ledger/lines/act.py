"""Why bb looks at a file."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.wiring.tool_edits import ToolEdit


class Act(Record):
    """Why bb looks: the act of the agent BY, or of no agent.

    EDIT is what the agent's tool does to the file; None if that is unknown. The file was at FROM_PATH before. A command
    of the agent COMMAND_OF has ended, or that agent looks while it is going on.
    """

    kind: str
    by: str = ""
    edit: ToolEdit | None = None
    from_path: str | None = None
    command_of: str = ""
