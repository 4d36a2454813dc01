"""`bb web` and `bb report`: pages for people, live in a browser or as one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperOption

from bb.cli.calls import run
from bb.ops.catalogue import MissingOption
from bb.ops.params import Number

if TYPE_CHECKING:
    from collections.abc import Callable

    Chosen = Callable[[bool], int]


class Port(Number):
    """A port: 1 to 65535, or 0 for any free port."""

    least, most = 0, 65535


def _web(port: str | None = None, open_: bool = False, **_: Any) -> Chosen:
    """Show sessions, agents, the map, the timeline, problems and the ledger in a browser, live, until interrupted.

    The pages are served on this machine only, to every client with the printed address. Actions on the pages (accept,
    answer, settle, release) are recorded as `user`, the person. It needs the extra `web`.
    """

    def call(as_json: bool) -> int:
        from bb.cli.programs import extras  # noqa: PLC0415

        number = str(Port.from_text(port, "port")) if port is not None else ""
        extras.require_extra("bb web", "web")
        return extras.exec_face(
            "web", ["serve", number, *(["--open"] if open_ else []), *(["--json"] if as_json else [])]
        )

    return lambda as_json: run.guarded("web", lambda: call(as_json), as_json=as_json)


def _report(output: str | None = None, **_: Any) -> Chosen:
    """Write the pages of `bb web`, in their current state, into one self-contained HTML file: for CI, mail or archives.

    It needs the extra `web`.
    """

    def call(as_json: bool) -> int:
        from bb.cli.programs import extras  # noqa: PLC0415

        if not output:
            raise MissingOption("report needs --output", hint="for example --output report.html", option="--output")
        extras.require_extra("bb report", "web")
        return extras.exec_face("web", ["report", output, *(["--json"] if as_json else [])])

    return lambda as_json: run.guarded("report", lambda: call(as_json), as_json=as_json)


COMMANDS: dict[str, tuple[Callable[..., Chosen], list[Any], tuple[str, ...]]] = {
    "web": (
        _web,
        [
            TyperOption(
                param_decls=["--port"],
                type=str,
                metavar="PORT",
                help="Listen on this port of 127.0.0.1; 0 for any free port. [default: 4780, or any]",
            ),
            TyperOption(param_decls=["--open", "open_"], is_flag=True, default=False, help="Also open a browser."),
        ],
        ("bb web", "bb web --open", "bb web --port 8080 --json"),
    ),
    "report": (
        _report,
        [
            TyperOption(
                param_decls=["--output"],
                type=str,
                metavar="FILE",
                help="The file to write, or - for standard output. [required]",
            )
        ],
        ("bb report --output report.html", "bb report --output - > report.html"),
    ),
}
