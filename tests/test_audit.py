"""Rendering and reading open no socket, start no process and touch no file that is not declared."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from tests.audit import auditing
from tests.internals import templates_root

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
HERE = Path(__file__)


def spawn() -> None:
    """Start a process the way ``posix_spawn`` does."""
    path = sys.executable
    os.waitpid(os.posix_spawn(path, [path, "-c", ""], {}), 0)


# What would not come back is only announced, as the interpreter does.
ACTS: dict[str, Callable[[], Any]] = {
    "open": HERE.read_bytes,
    "os.listdir": lambda: os.listdir(HERE.parent),
    "os.scandir": lambda: os.scandir(HERE.parent).close(),
    "os.mkdir": lambda: os.makedirs(HERE.parent, exist_ok=True),
    "os.remove": lambda: sys.audit("os.remove", str(HERE), -1),
    "socket.__new__": lambda: socket.socket().close(),
    "socket.getaddrinfo": lambda: socket.getaddrinfo("127.0.0.1", 80),
    "subprocess.Popen": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    "os.system": lambda: os.system("exit 0"),
    "os.posix_spawn": spawn,
    "os.fork": lambda: sys.audit("os.fork"),
    "os.exec": lambda: sys.audit("os.exec", sys.executable, [], None),
}

every_act = pytest.mark.parametrize("event", ACTS)


def kinds(reached: list[str]) -> set[str]:
    """Return the names of the events that were recorded."""
    return {entry.split(" ")[0] for entry in reached}


@every_act
def test_a_function_that_formats_blocks_is_audited(event: str) -> None:
    """What a ``format_block`` reaches for while a prompt is rendered is recorded."""

    def format_block(_: object) -> str:
        ACTS[event]()
        return "text"

    tree = Timeline(Event(UserAction("x")), transformation={"format_block": format_block})
    with auditing() as reached:
        render(tree)
    assert event in kinds(reached)


@every_act
def test_a_function_that_configures_is_audited(event: str) -> None:
    """What a ``transformation`` reaches for when a prompt is rendered for a target is recorded."""

    def transformation(_: str | None, provider: str | None) -> dict[str, Any]:
        ACTS[event]() if provider else None
        return {}

    rendered = render(Timeline(User("q"), transformation=transformation))
    with auditing() as reached:
        rendered.to_openai()
    assert event in kinds(reached)


class Reaching(Mapping[str, Any]):
    """A mapping that reaches for something when it is read."""

    def __init__(self, data: dict[str, Any], event: str) -> None:
        self.data = data
        self.event = event

    def __getitem__(self, key: str) -> Any:
        ACTS[self.event]()
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)


@every_act
@pytest.mark.parametrize(
    ("read", "data"),
    [
        (block_from_dict, {"type": "text", "text": "x"}),
        (Message.from_dict, {"role": "user", "content": "x"}),
        (lambda data: render(History([data])), {"role": "user", "content": "x"}),
    ],
)
def test_what_reads_data_is_audited(
    event: str, read: Callable[[Any], object], data: dict[str, Any]
) -> None:
    """What is reached for while blocks, messages and recordings are read is recorded."""
    with auditing() as reached:
        read(Reaching(data, event))
    assert event in kinds(reached)


@every_act
def test_what_runs_beside_a_render_is_not_audited(event: str) -> None:
    """Tests open files and start processes themselves."""
    with auditing() as reached:
        ACTS[event]()
    assert [] == reached


def test_what_was_recorded_names_the_file_and_the_line() -> None:
    """An entry says what was reached for, and which line did."""

    def format_block(_: object) -> str:
        with open(HERE, "rb"):
            return "text"

    tree = Timeline(Event(UserAction("x")), transformation={"format_block": format_block})
    with auditing() as reached:
        render(tree)
    line = format_block.__code__.co_firstlineno + 1
    # A path that is no string is given as it is.
    assert {f"open {HERE!r} at {HERE}:{line}", f"open {str(HERE)!r} at {HERE}:{line}"} & {*reached}


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """Return the path of a picture."""
    path = tmp_path / "x.png"
    path.write_bytes(PNG)
    return path


def recorded(path: Path) -> History:
    """Return a recording that names a picture."""
    return History([{"role": "user", "content": [{"type": "image", "path": str(path)}]}])


@pytest.mark.parametrize(
    "show",
    [
        lambda path: render(User(Image.from_path(path))),
        lambda path: render(Timeline(User("q"), User(Image.from_path(path)))).to_openai(),
        lambda path: render(
            History([Message("user", [ImageBlock(MediaSource("path", str(path)))])])
        ),
        lambda path: render(User(Lazy(lambda _: Image.from_path(path)))),
        lambda path: asyncio.run(arender(User(Lazy(lambda _: Image.from_path(path))))),
        lambda path: render(recorded(path), media_roots=[path.parent]),
        lambda path: render(recorded(path), media_roots=iter([path.parent])),
        lambda path: render(recorded(path), media_roots=path.parent).to_anthropic(),
    ],
)
def test_declared_files_may_be_read(show: Callable[[Path], object], picture: Path) -> None:
    """A path in code and a file under a media root are what an author asked for."""
    with auditing() as reached:
        show(picture)
    assert [] == reached


@pytest.mark.parametrize(
    "show",
    [
        lambda path: render(System(Template(path))),
        lambda path: render(System(Lazy(lambda _: Template(path)))),
        lambda path: render(System(Template(path.name))),
    ],
)
def test_declared_templates_may_be_read(show: Callable[[Path], object], tmp_path: Path) -> None:
    """A template named by its path, or standing in a registered folder, is read, includes too."""
    (tmp_path / "page.md.j2").write_text("{% include 'part.md.j2' %}", "utf-8")
    (tmp_path / "part.md.j2").write_text("x", "utf-8")
    with register_templates(tmp_path), auditing() as reached:
        show(tmp_path / "page.md.j2")
    assert [] == reached


@every_act
def test_lazies_are_audited(event: str) -> None:
    """What the function of a ``Lazy`` reaches for while a prompt is rendered is recorded."""

    def write(_: object) -> str:
        ACTS[event]()
        return "text"

    with auditing() as reached:
        render(System(Lazy(write)))
    assert event in kinds(reached)


def test_a_refused_file_is_not_touched(picture: Path) -> None:
    """A path in data that lies under no media root is not even looked at."""
    with auditing() as reached, pytest.raises(MediaError):
        render(recorded(picture), media_roots=[picture.parent / "elsewhere"])
    assert [] == reached


def test_a_new_file_in_the_working_folder_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name without a folder is no way around the audit."""
    monkeypatch.chdir(tmp_path)

    def format_block(_: object) -> str:
        return str(Path("new.txt").write_text("x", "utf-8"))

    tree = Timeline(Event(UserAction("x")), transformation={"format_block": format_block})
    with auditing() as reached:
        render(tree)
    assert {"open"} == kinds(reached)


def test_a_declared_file_declares_no_other(picture: Path) -> None:
    """A function that opens a file beside the one an author named is recorded."""
    other = picture.with_name("y.png")
    other.write_bytes(PNG)

    def format_block(_: object) -> str:
        return str(len(other.read_bytes()))

    with auditing() as reached:
        render(
            Timeline(Event(UserAction("x")), User(Image.from_path(picture))),
            transformation={"format_block": format_block},
        )
    assert {"open"} == kinds(reached)


@pytest.mark.slow
def test_a_fresh_process_reads_what_it_needs_only() -> None:
    """The first render of a process reads its templates, its models and its modules, no more."""
    code = (
        "from tests.audit import auditing\n"
        "from promptdsl import Event, UserAction, render\n"
        "with auditing() as reached:\n"
        "    render(Event(UserAction('x')), model='gpt-4o').to_openai()\n"
        "print(reached)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[]\n" == done.stdout


def test_templates_and_models_may_be_read() -> None:
    """What comes with promptdsl is no violation."""
    template = next((templates_root() / "events").iterdir())

    def format_block(_: object) -> str:
        return template.read_text("utf-8")

    tree = Timeline(Event(UserAction("x")), transformation={"format_block": format_block})
    with auditing() as reached:
        render(tree)
    assert [] == reached


def test_an_error_hides_nothing() -> None:
    """What was reached for is recorded when the render ends in an error, too."""

    def format_block(_: object) -> str:
        ACTS["open"]()
        raise PromptError("no")

    tree = Timeline(Event(UserAction("x")), transformation={"format_block": format_block})
    with auditing() as reached, pytest.raises(PromptError):
        render(tree)
    assert {"open"} == kinds(reached)
