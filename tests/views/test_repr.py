"""``repr(rendered)``: one line that changes with anything that is sent."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.extensions.amber import AmberSnapshotExtension

from promptdsl import *
from tests.errors import lines_of, raised

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
SCHEMA = {"type": "object", "properties": {"a": {}, "b": {}}}


def digest(*content: Any, **options: Any) -> str:
    """Return the digest in the ``repr`` of a request."""
    return repr(render(Timeline(*content), **options)).split(", ")[-1].removesuffix(">")


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            lambda: render(Timeline(System("Hi."), User("Hi.")), model="gpt-5"),
            "<Rendered for openai gpt-5: 2 messages, 15 tokens, ",
        ),
        (lambda: render(User("Hi.")), "<Rendered for no target: 1 message, 9 tokens, "),
        (
            lambda: render(User("Hi.", name="Ada"), provider="gemini"),
            "<Rendered for gemini: 1 message, 11 tokens, 1 hint, ",
        ),
        (
            lambda: render(
                Timeline(Section("a", "word " * 99, priority=1), User("Hi.")), budget=20
            ),
            "<Rendered for no target: 1 message, 9 of 20 tokens · 11 free, 1 dropped, ",
        ),
        (
            lambda: render(User("Hi."), model="no\nname"),
            "<Rendered for no target no\\nname: 1 message, 11 tokens, ",
        ),
    ],
)
def test_its_repr(write: Callable[[], Rendered], expected: str) -> None:
    """A result says on one line what it is for, how much it holds, and its digest."""
    found = repr(write())
    assert (expected, ">") == (found[: len(expected)], found[len(expected) + 12 :])


def failing(text: str) -> int:
    """Fail to count."""
    raise RuntimeError(text)


def test_its_repr_is_there_when_nothing_can_be_counted() -> None:
    """A counter that fails leaves out the tokens, in every view."""
    rendered = render(User("Hi."), counter=failing)
    start = "<Rendered for no target: 1 message, "
    assert (start, len(start) + 13) == (repr(rendered)[: len(start)], len(repr(rendered)))
    assert "tokens" not in rendered._repr_html_() + rendered._repr_markdown_()


def test_its_repr_is_there_when_a_file_is_gone(tmp_path: Path) -> None:
    """An attachment of a result that pairing removed may be deleted after the render."""
    file = tmp_path / "a.png"
    file.write_bytes(PNG)
    prompt = Timeline(ToolMessage("a", Image.from_path(file)), User("Hi."))
    rendered = render(prompt, transformation={"tool_pairing": "prune"})
    file.unlink()
    assert repr(rendered).startswith("<Rendered for no target: 1 message, 9 tokens, ")


CALL = Assistant(ToolUse("a", {}, id="1"))
VARIANTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "text": lambda: (User("Hello"),),
    "one character": lambda: (User("Hello."),),
    "role": lambda: (Assistant("Hello"),),
    "voice": lambda: (Developer("Hello"),),
    "name": lambda: (User("Hello", name="Ada"),),
    "two blocks": lambda: (User(Text("Hel"), Text("lo")),),
    "two messages": lambda: (User("Hel", merge=False), User("lo", merge=False)),
    "mark": lambda: (User("Hello", cache=True),),
    "picture": lambda: (User("Hello", Image.from_bytes(PNG)),),
    "other picture": lambda: (User("Hello", Image.from_bytes(PNG + b"1")),),
    "address": lambda: (User("Hello", Document.from_url("https://example.com/a.pdf")),),
    "file": lambda: (User("Hello", Document.from_file_id("file_1")),),
    "tool": lambda: (Tool(name="a", input_schema=SCHEMA), User("Hello")),
    "tool name": lambda: (Tool(name="b", input_schema=SCHEMA), User("Hello")),
    "schema": lambda: (Tool(name="a", input_schema={**SCHEMA, "title": "x"}), User("Hello")),
    "description": lambda: (Tool(name="a", description="A.", input_schema=SCHEMA), User("Hello")),
    "output": lambda: (Output(SCHEMA), User("Hello")),
    "output name": lambda: (Output(SCHEMA, name="other"), User("Hello")),
    "call": lambda: (CALL, ToolMessage("1", "x"), User("Hello")),
    "call id": lambda: (Assistant(ToolUse("a", {}, id="2")), ToolMessage("2", "x"), User("Hello")),
    "result": lambda: (CALL, ToolMessage("1", "y"), User("Hello")),
    "error": lambda: (CALL, ToolMessage("1", "y", is_error=True), User("Hello")),
    "event": lambda: (User("Hello"), Event(UserAction("left"))),
    "unknown": lambda: (History([Message("user", [{"type": "dance", "steps": 2}])]),),
}


def test_anything_that_is_sent_changes_the_digest() -> None:
    """No two prompts that differ in a text, role, name, mark, tool or file have one digest."""
    digests = {name: digest(*write()) for name, write in VARIANTS.items()}
    chosen = digest(*VARIANTS["tool"](), tool_choice="required")
    assert len(VARIANTS) + 1 == len({*digests.values(), chosen})


def test_what_is_not_sent_changes_nothing() -> None:
    """Ids, metadata and tags are not sent: the digest is the same."""
    plain = digest(User("Hello"))
    assert plain == digest(User("Hello", id="a", metadata={"b": 1}, tags=("c",)))


@given(st.text(), st.text())
def test_any_two_texts_have_two_digests(one: str, other: str) -> None:
    """Two requests have one digest only when the same is sent."""
    first, second = (render(Timeline(System("x"), User(text))) for text in (one, other))
    is_same = first.messages == second.messages
    assert is_same == (repr(first).split()[-1] == repr(second).split()[-1])


def test_this_process_has_that_digest() -> None:
    """The digest is this one, with the hash seed of this process."""
    tool = Tool(name="a", input_schema={"type": "object"})
    shown = repr(render(Timeline(tool, User("Hello")), model="gpt-5"))
    assert shown.endswith(", 9c8f036ed722>")


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_process_has_the_same_digest(seed: str) -> None:
    """The digest does not depend on the process and its hash seed."""
    code = (
        "from promptdsl import Timeline, Tool, User, render\n"
        "tool = Tool(name='a', input_schema={'type': 'object'})\n"
        "print(repr(render(Timeline(tool, User('Hello')), model='gpt-5')))"
    )
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    tool = Tool(name="a", input_schema={"type": "object"})
    assert f"{render(Timeline(tool, User('Hello')), model='gpt-5')!r}\n" == done.stdout


def snapshots(*content: Any) -> Iterator[str]:
    """Yield what a snapshot of a request stores: of the request itself, and of its text."""
    rendered = render(Timeline(*content), model="gpt-5")
    yield str(AmberSnapshotExtension().serialize(rendered))
    yield str(AmberSnapshotExtension().serialize(str(rendered)))


def test_a_snapshot_changes_with_the_prompt() -> None:
    """A snapshot of a request is its line with the digest, one of its text reads like it."""
    (line, text), (other, _) = map(tuple, (snapshots(User("a")), snapshots(User("b"))))
    assert "<Rendered for openai gpt-5: 1 message, 8 tokens, " == line[:49]
    assert line != other
    assert ["'''", f"{'── user ':─<72}", "a", "'''"] == text.split("\n")


# Not a text for another prompt.


def as_f_string(rendered: Rendered) -> str:
    """Put a result into an f-string."""
    return f"Before: {rendered}"


def as_format(rendered: Rendered) -> str:
    """Format a result."""
    return "Before: {}".format(rendered)  # noqa: UP032


@pytest.mark.parametrize("write", [as_f_string, as_format])
def test_a_result_is_not_put_into_a_text(write: Callable[[Rendered], str]) -> None:
    """An f-string of a result is an error that names its line and says what to write."""
    rendered = render(User("Hi."))
    error = raised(ContentError, lambda: write(rendered))
    assert str(error).split("\n") == [
        f"{lines_of(write, 2)[0]}: a Rendered has messages, so it cannot be put into a text",
        '  print(rendered) and f"{rendered!s}" show it; in another prompt, write its messages with '
        "History(rendered.messages), or the part itself",
    ]


@pytest.mark.parametrize("write", [System, User, Timeline, Text, Value])
def test_a_result_is_no_content(write: Callable[[Any], object]) -> None:
    """A result as an argument is an error that says to write its messages, or the part."""
    rendered = render(User("Hi."))
    assert (
        "write History(rendered.messages) in the Timeline, or the part itself here"
        == raised(ContentError, lambda: write(rendered)).fix
    )


def test_messages_of_a_result_go_into_the_next_prompt() -> None:
    """What the error says to write works."""
    first = render(Timeline(System("Be brief."), User("Hi.")))
    assert str(first) == str(render(Timeline(History(first.messages))))
