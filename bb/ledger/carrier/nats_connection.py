"""One connection to a NATS server, in a thread of its own with its own event loop.

A request ends at most PATIENCE after the last octet of its answer. A lost connection is not mended behind the caller's
back: the caller opens another one, and looks whether the log is the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl
import threading

import nats.errors
from nats.aio.client import Client

from bb.kernel.errors import Refused
from bb.ledger.carrier import nats_credentials
from bb.ledger.carrier.door import Denied, EngineUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from nats.aio.msg import Msg

    from bb.ledger.carrier.nats_address import NatsAddress

PATIENCE = 1.8  # seconds; a refusal within two is promised
LEAST_LEVEL = 1  # of JetStream: since nats-server 2.11, which reads many messages with one request
ROOM = 4096  # bytes that a message needs beside the lines
STATUS = "Status"
SEQUENCE = "Nats-Sequence"  # the header of each message of a stream in an answer
NOBODY, NOT_FOUND, END = "503", "404", "204"
AT_ONCE = 64 << 20  # bytes of answers that wait to be read

LEAST_PAYLOAD = (1 << 20) + ROOM  # a message must have room for the longest line of a ledger
EngineUnfit = Refused.declare(
    "ENGINE_UNFIT",
    "The server of the engine is too old for bb, or is not set up for it",
    hint="bb needs nats-server 2.11 or later with JetStream, and `max_payload: 2MB` in its configuration",
)


class Lost(Exception):
    """The connection ended, or no answer came in time. What was asked may have happened."""


class _Client(Client):
    """Refuses a server without TLS, if TLS is demanded, before any credential is sent."""

    demands_tls = False

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        if self.demands_tls and initial_connection and not info.get("tls_required"):
            raise nats.errors.Error("nats: the server offers no TLS")
        await super()._process_info(info, initial_connection)


class _Answers:
    """The messages that answer one request."""

    def __init__(self, is_over: Callable[[Msg], bool]) -> None:
        self.messages: list[Msg] = []
        self.changed = asyncio.Event()
        self.is_complete = False
        self.failure: Exception | None = None
        self._is_over = is_over

    def take(self, message: Msg) -> None:
        self.messages.append(message)
        self.is_complete = self._is_over(message)
        self.changed.set()

    def fail(self, failure: Exception) -> None:
        self.failure = failure
        self.changed.set()


class Connection:
    """A connection that is opened when it is needed. HEARD is called in its thread with each message of a subject that
    `listen` names, and with None when the connection ends."""

    def __init__(
        self,
        address: NatsAddress,
        heard: Callable[[Msg | None], None] = lambda _: None,
        patience: float = PATIENCE,
    ) -> None:
        self.address = address
        self.patience = patience
        self._heard = heard
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: _Client | None = None
        self._asked: dict[str, _Answers] = {}
        self._sent_to: dict[str, str] = {}  # the subject of each request
        self._count = 0
        self._inbox = ""

    @property
    def is_open(self) -> bool:
        return self._client is not None and self._client.is_connected

    @property
    def server(self) -> dict[str, Any]:
        """What the server says of itself."""
        return dict(self._client._server_info) if self._client else {}

    def open(self) -> None:
        """Connect. EngineUnreachable, Denied or EngineUnfit if that fails."""
        self._end()
        try:
            self._run(self._open(), 2 * self.patience)
        except (OSError, TimeoutError, Lost, nats.errors.Error, ssl.SSLError) as error:
            text = str(error) or type(error).__name__
            if "authorization" in text.lower():
                raise Denied(f"NATS refuses the credentials of this machine: {text}") from None
            raise EngineUnreachable(f"{', '.join(self.address.servers)}: {text[:200]}") from None
        about = self.server
        if int(about.get("api_lvl", 0)) < LEAST_LEVEL or not about.get("jetstream"):
            self._end()
            raise EngineUnfit(f"nats-server {about.get('version')} has no JetStream, or is older than 2.11")
        if int(about.get("max_payload", 0)) < LEAST_PAYLOAD:
            self._end()
            raise EngineUnfit(
                f"the server takes messages of {about.get('max_payload')} bytes, and a line may be longer"
            )

    def ask(
        self, subject: str, payload: bytes = b"", headers: dict[str, str] | None = None, patience: float = 0
    ) -> Msg:
        """The answer to a request. Lost if none came, Denied if this user must not ask that."""
        patience = patience or self.patience
        found: list[Msg] = self._run(self._ask(subject, payload, headers, lambda _: True, patience), 3 * patience)
        return found[0]

    def ask_json(self, subject: str, request: Any = None, patience: float = 0) -> Any:
        """The answer of JetStream to a request, both as JSON; None if nobody listens to that subject."""
        answer = self.ask(subject, b"" if request is None else json.dumps(request).encode(), None, patience)
        if answer.headers and answer.headers.get(STATUS) == NOBODY:
            return None
        return json.loads(answer.data)

    def ask_many(self, subject: str, request: Any) -> list[Msg]:
        """The messages that answer a request for several ones, without the last one, which ends them. Lost if the
        server could not answer."""
        payload = json.dumps(request).encode()
        found: list[Msg] = self._run(self._ask(subject, payload, None, _is_end, self.patience), 600)
        status = (found[-1].headers or {}).get(STATUS)
        if status not in (END, NOT_FOUND):
            raise Lost(f"the server answers a request for messages with status {status}")
        return found[:-1]

    def listen(self, subject: str) -> None:
        """Hear every message of SUBJECT from now on."""
        self._run(self._listen(subject), self.patience)

    def drop(self) -> None:
        """End the connection."""
        self._end()

    def close(self) -> None:
        """End the connection and the thread."""
        self._end()
        if self._loop is not None and self._thread is not None:
            with contextlib.suppress(Lost):
                self._run(_settled(), self.patience)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None

    def _end(self) -> None:
        if self._client is not None:
            with contextlib.suppress(Lost, nats.errors.Error, OSError):
                self._run(self._client.close(), PATIENCE)
            self._client = None

    def _run(self, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="bb-nats", daemon=True)
            self._thread.start()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise Lost("no answer in time") from None

    async def _open(self) -> None:
        client = _Client()
        client.demands_tls = self.address.needs_tls
        try:
            await self._connected_to(client)
        except BaseException:
            if client._transport is not None:
                client._transport.close()  # type: ignore[no-untyped-call]
            raise
        self._inbox = client.new_inbox()
        await client.subscribe(f"{self._inbox}.*", cb=self._answered, pending_bytes_limit=AT_ONCE)
        self._client = client

    async def _connected_to(self, client: _Client) -> None:
        async with asyncio.timeout(self.patience):
            await client.connect(
                self.address.urls,
                name="bb",
                allow_reconnect=False,
                connect_timeout=self.patience,  # type: ignore[arg-type]
                max_reconnect_attempts=1,  # of one connection attempt: each server is tried twice
                reconnect_time_wait=0,
                error_cb=self._failed,
                closed_cb=self._closed,
                ping_interval=5,
                **nats_credentials.shown(self.address, os.environ),
            )

    async def _listen(self, subject: str) -> None:
        async def heard(message: Msg) -> None:
            self._heard(message)

        client = self._connected()
        await client.subscribe(subject, cb=heard)
        await client.flush(timeout=1)

    def _connected(self) -> _Client:
        if self._client is None or not self._client.is_connected:
            raise Lost("the connection is closed")
        return self._client

    async def _ask(
        self,
        subject: str,
        payload: bytes,
        headers: dict[str, str] | None,
        is_over: Callable[[Msg], bool],
        patience: float,
    ) -> list[Msg]:
        client = self._connected()
        self._count += 1
        reply = f"{self._inbox}.{self._count}"
        answers = self._asked[reply] = _Answers(is_over)
        self._sent_to[reply] = subject
        try:
            await client.publish(subject, payload, reply=reply, headers=headers)
            while not answers.is_complete:
                answers.changed.clear()
                async with asyncio.timeout(patience):
                    await answers.changed.wait()
                if answers.failure is not None:
                    raise answers.failure
        except TimeoutError:
            raise Lost("no answer in time") from None
        except nats.errors.ConnectionClosedError:
            raise Lost("the connection is closed") from None
        finally:
            del self._asked[reply], self._sent_to[reply]
        return answers.messages

    async def _answered(self, message: Msg) -> None:
        answers = self._asked.get(message.subject)
        if answers is not None:
            answers.take(message)

    async def _failed(self, error: Exception) -> None:
        """An error that the server reports without saying to what: only the subject is in its text."""
        text = str(error)
        if "permissions violation" in text.lower():
            for reply, subject in self._sent_to.items():
                if f'"{subject}"'.lower() in text.lower():
                    self._asked[reply].fail(Denied(f"NATS does not let this user publish to {subject}"))

    async def _closed(self) -> None:
        for answers in self._asked.values():
            answers.fail(Lost("the connection was lost"))
        self._heard(None)


async def _settled() -> None:
    """Let everything else in this loop end: a transport closes its socket only in a later turn."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for _ in range(3):
        await asyncio.sleep(0)


def _is_end(message: Msg) -> bool:
    """Whether a message is the last one of several: a status of the server."""
    return STATUS in (message.headers or {}) and is_of_server(message)


def is_of_server(message: Msg) -> bool:
    """Whether the server says this itself, and it is no message of a stream. A machine chooses the headers of its own
    messages, a status included; the number in the stream is added by the server."""
    return SEQUENCE not in (message.headers or {})
