"""A language server of an editor, asked over its standard input: pyright's."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SETTINGS = {"analysis": {"autoImportCompletions": False}}
"""No name of another module is offered."""


class LanguageServer:
    """A server that runs in a folder: what it answers on files that exist in its editor alone."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process, self._folder, self._requests, self._files = process, folder, 0, 0

    def completed(self, code: str) -> list[str]:
        """Return what the server offers at the end of code."""
        return [item["label"] for item in self._at_end(code, "textDocument/completion")["items"]]

    def docstring(self, code: str) -> str:
        """Return the docstring that the server shows of the name at the end of code."""
        shown: str = self._at_end(code, "textDocument/hover")["contents"]["value"]
        return shown.partition("\n\n")[2]

    def ask(self, method: str, **params: Any) -> Any:  # Any: JSON
        """Send a request, and return the answer; the server asks for no setting in vain."""
        self._requests += 1
        self._send({"id": self._requests, "method": method, "params": params})
        while True:
            message = self._read()
            if "method" not in message and message.get("id") == self._requests:
                return message["result"]
            if "method" in message and "id" in message:
                settings = [SETTINGS for _ in message["params"].get("items", ())]
                self._send({"id": message["id"], "result": settings})

    def tell(self, method: str, **params: Any) -> None:
        """Send a message that has no answer."""
        self._send({"method": method, "params": params})

    def _at_end(self, code: str, method: str) -> Any:
        self._files += 1
        uri = (self._folder / f"file{self._files}.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": code}
        self.tell("textDocument/didOpen", textDocument=document)
        lines = code.split("\n")
        end = {"line": len(lines) - 1, "character": len(lines[-1])}
        return self.ask(method, textDocument={"uri": uri}, position=end)

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> Any:
        assert self._process.stdout
        length = 0
        while line := self._process.stdout.readline().strip():
            key, _, value = line.partition(b": ")
            length = int(value) if key == b"Content-Length" else length
        assert length, "the language server ended"
        return json.loads(self._process.stdout.read(length))


@contextmanager
def language_server(folder: Path, packages: Path) -> Iterator[LanguageServer]:
    """Yield pyright's server in an empty folder; it imports packages from a folder, too."""
    settings = json.dumps({"extraPaths": [str(packages)]})
    (folder / "pyrightconfig.json").write_text(settings, "utf-8")
    command = [sys.executable, "-m", "pyright.langserver", "--stdio"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe) as process:
        server = LanguageServer(process, folder)
        place = {"uri": folder.as_uri(), "name": folder.name}
        capabilities = {
            "textDocument": {"hover": {"contentFormat": ["plaintext"]}},
            "workspace": {"configuration": True},
        }
        server.ask(
            "initialize",
            processId=os.getpid(),
            rootUri=folder.as_uri(),
            workspaceFolders=[place],
            capabilities=capabilities,
        )
        server.tell("initialized")
        try:
            yield server
        finally:
            server.ask("shutdown")
            server.tell("exit")
