"""The first bot: the program of its page, with a model on the loopback interface, and killed."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples import first_bot
from promptdsl import SqliteStore, Transcript
from tests.examples.chat_model import bytes_of_reply
from tests.examples.desk import ROOT
from tests.examples.served import served

PAGE = (ROOT / "docs" / "how-to" / "first-bot.md").read_text("utf-8")
PROGRAM = (ROOT / "examples" / "first_bot.py").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
SHORT = re.findall(r"^```py\n(import promptdsl as p\n.*?)^```", README, re.DOTALL | re.MULTILINE)
"""The bot of the README, which has neither a store nor questions to read."""
MODELS = {"openai": "gpt-5", "anthropic": "claude-opus-5-5"}
ROLES = ["user", "assistant", "tool", "assistant"]


def test_the_page_has_the_program() -> None:
    """The program of the page is the example, of forty lines at most."""
    assert [PROGRAM] == re.findall(r"^```py\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert 40 >= len([line for line in PROGRAM.splitlines() if line])


def test_the_page_is_the_second_link_of_the_readme() -> None:
    """A newcomer reads what it is, and can go to a whole program."""
    assert ["docs/how-to/first-bot.md"] == re.findall(r"\]\((.*?)\)", README)[1:2]


def has_result(body: dict[str, Any]) -> bool:
    """Return whether the last message of a request has a tool's result."""
    last = body["messages"][-1]
    return last["role"] == "tool" or "tool_result" in json.dumps(last["content"])


def reply(body: dict[str, Any]) -> tuple[int, Iterator[bytes]]:
    """Answer as a model that looks a month up once, and then answers."""
    call = None if has_result(body) else ("call_1", "charges", {"month": "May"})
    text = "You paid twice in May." if call is None else "I look it up. "
    return 200, bytes_of_reply(body, text, call)


def events(body: dict[str, Any]) -> Iterator[Any]:
    """Yield the events of the answer to a request of Chat."""
    for line in b"".join(reply(body)[1]).splitlines():
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def test_a_question(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The text of both answers is printed, and the call and its result are recorded."""

    def ask(transcript: Transcript) -> Iterator[Any]:
        return events({"messages": [{"role": transcript[-1].role, "content": ""}]})

    monkeypatch.setattr(first_bot, "ask", ask)
    transcript = Transcript(["Why was I charged twice?"])
    first_bot.answer(transcript)
    assert "I look it up. You paid twice in May.\n" == capsys.readouterr().out
    assert [*ROLES[:2], ("tool", "[49.0, 49.0]"), ROLES[3]] == [
        ("tool", message.text) if message.role == "tool" else message.role for message in transcript
    ]


def started(folder: Path, provider: str, url: str) -> "subprocess.Popen[str]":
    """Start the program in a folder."""
    addresses = {"OPENAI_BASE_URL": url, "ANTHROPIC_BASE_URL": url}
    keys = {"OPENAI_API_KEY": "test", "ANTHROPIC_API_KEY": "test", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "first_bot.py", MODELS[provider]],
        cwd=folder,
        env=os.environ | addresses | keys,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def roles_in(folder: Path) -> list[str]:
    """Return the roles of what stands in the database of the bot."""
    transcript = Transcript.open("Ann", store=SqliteStore(folder / "chats.db"))
    return [message.role for message in transcript]


@pytest.mark.slow
@pytest.mark.sdk("openai", "anthropic")
@pytest.mark.parametrize("provider", MODELS)
def test_with_the_real_clients(provider: str, tmp_path: Path) -> None:
    """The program as it stands on the page runs with the real client of a provider."""
    (tmp_path / "first_bot.py").write_text(PROGRAM, "utf-8")
    with served(reply) as url, started(tmp_path, provider, url) as process:
        out, err = process.communicate("Why twice?\nAnd now?\n\n")
    answer = "I look it up. You paid twice in May.\n"
    assert (0, f"> {answer}> {answer}> ", "") == (process.returncode, out, err)
    assert ROLES * 2 == roles_in(tmp_path)


@pytest.mark.slow
@pytest.mark.sdk("openai")
def test_the_bot_of_the_readme(tmp_path: Path) -> None:
    """The program of the README runs with the real client of OpenAI: it calls, and answers."""
    (program,) = SHORT
    (tmp_path / "first_bot.py").write_text(program, "utf-8")
    with served(reply) as url, started(tmp_path, "openai", url) as process:
        out, err = process.communicate()
    assert (0, "I look it up. You paid twice in May.", "") == (process.returncode, out, err)


@pytest.mark.slow
@pytest.mark.sdk("openai", "anthropic")
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("provider", MODELS)
def test_killed_between_a_call_and_its_result(provider: str, tmp_path: Path) -> None:
    """Killed while its tool runs, the bot runs the call at the next start, and answers."""
    waiting = '    print("<running>", flush=True)\n    __import__("time").sleep(60)\n    return {'
    (tmp_path / "first_bot.py").write_text(PROGRAM.replace("    return {", waiting), "utf-8")
    with served(reply) as url, started(tmp_path, provider, url) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("Why twice?\n")
        process.stdin.flush()
        assert "> I look it up. <running>\n" == process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert ROLES[:2] == roles_in(tmp_path)
    (tmp_path / "first_bot.py").write_text(PROGRAM, "utf-8")
    with served(reply) as url, started(tmp_path, provider, url) as process:
        out, err = process.communicate("\n")
    assert (0, "You paid twice in May.\n> ", "") == (process.returncode, out, err)
    assert ROLES == roles_in(tmp_path)
