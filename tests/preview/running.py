"""A preview in a process of its own, and what it answers: for tests and programs."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Any

MARK = "PROMPTDSL_PREVIEW_TEST"
"""The variable whose value all processes of a preview have, and no other process."""
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60
"""The seconds after which something that is waited for will not come."""
SUPPORT = """
from promptdsl import *

RULE = "Be kind."


def answer(name: str = "Ada") -> Timeline:
    with Timeline() as prompt:
        with System():
            Section("role", RULE)
        Grounding("terms/billing.md", "x " * 50, priority=1)
        Grounding("terms/hours.md", "y " * 80, priority=-1)
        User("I am ", Value(name), ".")
    return prompt
"""
"""The code of a prompt with two documents, of which a budget of 230 tokens holds one."""


class Preview:
    """A preview that runs in a folder; ``states`` are those of its page, the newest last."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.mark = str(folder)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        environment[MARK] = self.mark
        self._errors = (folder.parent / f"{folder.name}.errors").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "promptdsl", "preview", *arguments, "--no-open"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            self.process.wait()
            raise AssertionError(self.errors())
        origin, _, self.token = self.address.partition("/#token=")
        self.port = int(origin.rpartition(":")[2])
        self.states: list[dict[str, Any]] = []
        self._new = Condition()
        self._streams: list[tuple[Thread, http.client.HTTPConnection]] = []

    def errors(self) -> str:
        """Return what the preview wrote to standard error."""
        self._errors.seek(0)
        return self._errors.read().decode()

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return the status, the headers and the body of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            names = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request(method, path, body, names)
            response = connection.getresponse()
            fields = {name.lower(): text for name, text in response.getheaders()}
            return response.status, fields, response.read() if path != "/states" else b""
        finally:
            connection.close()

    def choose(self, **choices: Any) -> None:
        """Choose what the page shows."""
        rest = {"prompt": None, "budget": None, "model": None, "targets": []}
        body = json.dumps({**rest, **choices}).encode()
        headers = {"x_promptdsl_token": self.token, "content_type": "application/json"}
        status, _, answer = self.request("POST", "/choices", body, **headers)
        assert 200 == status, answer

    def follow(self) -> None:
        """Read the states of the page from now on, beside those that are read already."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", "/states", headers={"x-promptdsl-token": self.token})
        response = connection.getresponse()
        assert 200 == response.status
        thread = Thread(target=self._read, args=(response,), daemon=True)
        thread.start()
        self._streams.append((thread, connection))

    def _read(self, response: http.client.HTTPResponse) -> None:
        with response, suppress(OSError, http.client.HTTPException):  # the preview was killed
            for line in response:
                if line.strip():
                    with self._new:
                        self.states.append(json.loads(line))
                        self._new.notify_all()

    def wait(self, is_wanted: Callable[[dict[str, Any]], object], since: int = 0) -> dict[str, Any]:
        """Return the first state after a number of them for which a condition holds."""
        end = time.monotonic() + PATIENCE
        with self._new:
            while True:
                matching = [state for state in self.states[since:] if is_wanted(state)]
                if matching:
                    return matching[0]
                assert self._new.wait(end - time.monotonic()), (
                    str(self.states[-1:])[:900],
                    self.errors(),
                )

    def shown(self, is_wanted: Callable[[dict[str, Any]], object], since: int = 0) -> str:
        """Return the page data, as text, of the first state for which a condition holds."""
        return json.dumps(self.wait(is_wanted, since).get("page"))

    def close(self) -> None:
        """End the preview as Ctrl-C does, and close what it has open."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        for thread, connection in self._streams:
            thread.join(PATIENCE)
            connection.close()
        self._errors.close()


@contextmanager
def preview(folder: Path, *arguments: str) -> Iterator[Preview]:
    """Give a preview that ends afterwards."""
    running = Preview(folder, *arguments)
    try:
        yield running
    finally:
        running.close()


def has_page(state: dict[str, Any]) -> bool:
    """Return whether a state has a new page, and no error."""
    return "page" in state and not state["error"]


def has_error(state: dict[str, Any]) -> bool:
    """Return whether a state has an error and nothing is being made."""
    return bool(state["error"]) and not state["work"]
