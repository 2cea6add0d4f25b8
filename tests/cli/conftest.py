"""What the tests of the command share: prompts in files, and the command itself, twice."""

from collections.abc import Callable
from pathlib import Path

import pytest

from promptdsl.cli import main
from tests.commands import Done, run_command


def first_lines(code: str) -> dict[str, int]:
    """Return the line of the definition of every function."""
    return {
        line[4:].partition("(")[0]: number
        for number, line in enumerate(code.split("\n"), start=1)
        if line.startswith("def ")
    }


SUPPORT = '''\
"""Prompts to render."""

from promptdsl import Assistant, Developer, Section, System, Timeline, ToolUse, User, UserAction
from promptdsl import Event, History, Output, Tool, render

GREETING = Timeline(System("Be brief."), User("Hello."))
RULES = Section("rules", "Be kind.", title="Rules")
LIMIT = 3


def demo(question: str = "Why?", plan="Pro", count: int = 1):
    return Timeline(System("Plan: ", plan), User(question), User("Times: ", count))


def needs(question, *, plan):
    return Timeline(User(question, plan))


def anything(**given):
    return Timeline(User(repr(given)))


def loud():
    print("Building.")
    return GREETING


def corrected():
    return Timeline(User("One."), Developer("Be brief."), User("Two."))


def waiting():
    return Timeline(User("Look."), Assistant(ToolUse("look", {"at": "it"}, id="call_1")))


def clicked():
    return Timeline(User("Hello."), Event(UserAction("clicked", target="help")))


def pictured():
    image = {"type": "image", "path": "shown.png"}
    return Timeline(History([{"role": "user", "content": [image]}]))


def equipped():
    schema = {"type": "object"}
    return Timeline(Tool(name="find", input_schema=schema), Output(schema), User("Hello."))


def misplaced():
    return Timeline(User(User("Inside.")))


def unknown():
    return render(GREETING, transformation={"fromat": "xml"})


def failing():
    return {}["plan"]


def leaving():
    raise SystemExit(0)


def nothing():
    return None


async def later():
    return GREETING
'''

COUNTED = r"""
from promptdsl import History, Section, System, Timeline, Tool, Untrusted, User


def trimmed(question: str = "Why?"):
    said = [{"role": role, "content": "Hello there. " * 9} for role in ("user", "assistant") * 3]
    hours = Section("hours", "Nine to five. " * 9, priority=-1)
    return Timeline(System(hours, Section("role", "Help.")), History(said), User(question))


def hostile():
    tool = Tool(name="a\x1b[2J\x9b\n\u202eb", input_schema={"type": "object"})
    system = Section("s", "Hello.", title="\x1b[31m")
    return Timeline(tool, system, User(Untrusted("\x1b[0m", source="\x1b")))
"""
"""Prompts of which much is to be counted."""


LINES = {name: line + 1 for name, line in first_lines(SUPPORT).items()}
"""The first line of the body of every function."""


Command = Callable[..., Done]


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    """Return the folder of ``support.py``."""
    (tmp_path / "support.py").write_text(SUPPORT, "utf-8")
    return tmp_path


@pytest.fixture
def counted(prompts: Path) -> Path:
    """Return the folder of ``support.py``, with ``counted.py`` in it."""
    (prompts / "counted.py").write_text(COUNTED, "utf-8")
    return prompts


@pytest.fixture
def cli(
    prompts: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Command:
    """Return the command; it runs in this process, in the folder of ``support.py``."""
    monkeypatch.chdir(prompts)

    def run(*arguments: str) -> Done:
        code = main(arguments)
        out, err = capsysbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return run


@pytest.fixture
def process(prompts: Path) -> Command:
    """Return the command; it runs in a new process, in the folder of ``support.py``."""

    def run(*arguments: str, **variables: str) -> Done:
        return run_command(*arguments, cwd=prompts, **variables)

    return run
