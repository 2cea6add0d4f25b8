"""Chromium without a window, driven through a pipe: real keys, pictures, and what it complains of.

Debian's package ``chromium`` is all it needs.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--remote-debugging-pipe",
)  # fmt: skip
AS_3_AND_4 = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(it), fcntl.F_DUPFD, 10) for it in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Starts a program that reads from the file 3 and writes to 4, as this browser does."""
AXE = Path(__file__).parents[1] / ".venv-page/node_modules/axe-core/axe.min.js"
FINDINGS = """axe.run().then(report =>
    report.violations.map(rule => [rule.id, rule.nodes.length, rule.nodes[0].html]))"""
COMPLAINTS = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")


def chromium(folder: Path) -> "Browser":
    """Return a browser that keeps its files in a folder; without Chromium, skip, or fail in CI."""
    program = shutil.which("chromium")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no chromium")
    return Browser(str(program), folder)


def axe_script() -> str:
    """Return the script of axe, which finds what not everybody can use; without it, skip."""
    if not AXE.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("make .venv-page/.test installs axe")
    return AXE.read_text("utf-8")


class Browser:
    """One page of a browser; ``events`` are what it told so far."""

    def __init__(self, program: str, folder: Path) -> None:
        read, self._out = os.pipe()
        back, write = os.pipe()
        command = [sys.executable, "-c", AS_3_AND_4, str(read), str(write), program, *OPTIONS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={folder}"],
            pass_fds=(read, write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._in = os.fdopen(back, "rb")
        self._rest = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = session["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return what the browser answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            told = self._read()
            if told.get("id") == self._number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], 60)
            assert ready, "the browser does not answer"
            more = os.read(self._in.fileno(), 1 << 20)
            assert more, "the browser ended"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        if "method" in told:
            self.events.append(told)
        return told

    def open(self, address: str) -> None:
        """Open a page, and wait until it is loaded."""
        self.events.clear()
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=address)
        here = "document.readyState + location.protocol"
        while self.run(here) != f"complete{address.partition(':')[0]}:":
            time.sleep(0.01)

    def run(self, script: str) -> Any:
        """Return what a script gives, run by the debugger and not by the page."""
        wrapped = f"(async () => ({script}))()"
        options = {"returnByValue": True, "awaitPromise": True}
        return self.ask("Runtime.evaluate", expression=wrapped, **options)["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def look(self, width: int = 1400, scheme: str = "light", *, script: bool = True) -> None:
        """Set the width of the page, its colours, and whether scripts run."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        dark = {"name": "prefers-color-scheme", "value": scheme}
        self.ask("Emulation.setEmulatedMedia", features=[dark])
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)

    def findings(self) -> list[object]:
        """Return what axe finds on the page: each rule, how often, and the first element."""
        self.ask("Runtime.evaluate", expression=axe_script())
        findings: list[object] = self.run(FINDINGS)
        return findings

    def picture(self, path: Path) -> None:
        """Write a picture of what can be seen."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def complaints(self) -> list[str]:
        """Return what the browser, or the page, wrote to its console."""
        self.run("0")
        return [str(it["params"]) for it in self.events if it["method"] in COMPLAINTS]

    def loaded(self) -> list[str]:
        """Return the addresses that were asked for, of data or of another place."""
        sent = [it for it in self.events if it["method"] == "Network.requestWillBeSent"]
        return [it["params"]["request"]["url"] for it in sent]

    def close(self) -> None:
        """End the browser."""
        os.close(self._out)
        self._in.close()
        self._process.terminate()
        self._process.wait(10)
