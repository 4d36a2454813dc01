"""The pages as they are served: a real server, and somebody who asks it without a browser."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from tests import preloaded
from tests.support import ROOT, Scratch, environment
from tests.waiting import PATIENCE


class Served:
    """The server of `bb web` in a repository, until it is ended."""

    def __init__(self, repo: Scratch, port: int | None = None, **settings: str) -> None:
        env = _settings(repo, settings)
        words = ["serve", "" if port is None else str(port), "--json"]
        self._watch(repo, preloaded.start("bb.web", words, cwd=repo.path, env=env, stdout=subprocess.PIPE))

    @classmethod
    def started(cls, repo: Scratch, *words: str, **settings: str) -> Self:
        """Start `bb web` as a user does, with an interpreter of its own."""
        command = [sys.executable, "-P", "-m", "bb", "web", "--json", *words]
        served = cls.__new__(cls)
        served._watch(
            repo, subprocess.Popen(command, cwd=repo.path, env=_settings(repo, settings), stdout=subprocess.PIPE)
        )
        return served

    def _watch(self, repo: Scratch, process: preloaded.Process | subprocess.Popen[bytes]) -> None:
        self.repo = repo
        self._process = process
        assert self._process.stdout is not None
        answered = json.loads(self._process.stdout.readline())
        self.refusal = answered["error"]
        begun = answered["data"] or {"url": "http://127.0.0.1:0/", "port": 0, "pid": 0}
        self.url, self.port, self.pid = begun["url"], begun["port"], begun["pid"]
        self.base = f"http://127.0.0.1:{self.port}"

    def end(self) -> int:
        """Let it end as Ctrl-C does; its exit status."""
        if self.refusal is None and self._process.poll() is None:
            self._process.send_signal(2)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def _settings(repo: Scratch, settings: dict[str, str]) -> dict[str, str]:
    return environment(PYTHONPATH=str(ROOT)) | repo.settings | settings


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Stream:
    """A line that is kept open, on which changes are told."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._answer = connection.getresponse()
        self.kind = self._answer.getheader("content-type", "")

    def change(self) -> str:
        """The cursor of the next change that is told."""
        while line := self._answer.readline().decode():
            if line.startswith("id: "):
                return line[4:].strip()
        raise AssertionError("the stream has ended")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answer.close()
        self._connection.close()


class Caller:
    """Somebody with a cookie, and no browser."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.cookie = ""
        answer = self.get(f"/?{urlsplit(served.url).query}")
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def get(self, path: str, **headers: str) -> Answer:
        return _read(self._asked("GET", path, headers))

    def post(self, path: str, octets: bytes | None = None, *, script: bool = False, **form: str) -> Answer:
        headers = {"Origin": self.served.base, **({"X-BB-Script": "1"} if script else {})}
        return _read(self._asked("POST", path, headers, urlencode(form).encode() if octets is None else octets))

    def listen(self, **headers: str) -> Stream:
        return Stream(self._asked("GET", "/live", headers))

    def _asked(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, {"Cookie": self.cookie, **named})
        return connection


def _read(connection: http.client.HTTPConnection) -> Answer:
    with connection.getresponse() as answer:
        found = {name.lower(): value for name, value in answer.getheaders()}
        text = answer.read().decode()
    connection.close()
    return Answer(answer.status, found, text)
