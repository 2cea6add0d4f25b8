"""The root of a prompt."""

from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import said

URL = "https://example.com/x.png"


def test_a_timeline_has_a_configuration() -> None:
    """The configuration of a prompt holds for it, in whatever form it is passed."""
    forms: list[Any] = [
        {"format": "xml"},
        MessageTransformationConfig(format="xml"),
        lambda _model, _provider: {"format": "xml"},
    ]
    trees = [Timeline(System(Section("s", "x")), transformation=form) for form in forms]
    assert [[("system", ["<s>\nx\n</s>"])]] * 3 == [said(tree) for tree in trees]


def test_a_configuration_is_checked_where_it_is_written() -> None:
    """A configuration with an unknown key is an error at the line of the prompt."""

    def write() -> None:
        Timeline(transformation={"formt": "xml"})

    error = raised(ConfigError, write)
    assert lines_of(write, 1) == error.at
    assert "did you mean 'format'?" == error.fix


def test_a_timeline_in_call_style_is_the_same_tree() -> None:
    """Calls and blocks say the same."""
    with Timeline() as tree:
        with System():
            Section("role", "a")
            with Section("rules", title="Rules"):
                Text("b")
        User("q")
    called = Timeline(
        System(Section("role", "a"), Section("rules", Text("b"), title="Rules")), User("q")
    )
    assert called == tree


def test_an_empty_prompt_has_no_messages() -> None:
    """A prompt nothing was written in comes to nothing."""
    with Timeline() as tree:
        pass
    assert [] == said(tree)


LOOSE: dict[str, Callable[[], Node]] = {
    "alone": lambda: Section("s", Image.from_url(URL)),
    "nested": lambda: Section("s", Section("t", Image.from_url(URL))),
    "in a fragment": lambda: Fragment(Section("s", Image.from_url(URL))),
    "beside a turn": lambda: Fragment(User("x"), Section("s", Image.from_url(URL))),
}


@pytest.mark.parametrize("write", LOOSE.values(), ids=LOOSE)
def test_media_in_loose_sections_is_refused(write: Callable[[], Node]) -> None:
    """A section outside of any turn is system content: media in it are refused, with the line."""
    error = raised(PlacementError, lambda: Timeline(write()))
    assert lines_of(write, 0)[0] == error.at[0]
    assert "put it in a User turn" == error.fix


@pytest.mark.parametrize("write", LOOSE.values(), ids=LOOSE)
def test_media_in_loose_sections_are_refused_in_blocks(write: Callable[[], Node]) -> None:
    """The same holds for a prompt written as a block."""

    def block() -> None:
        with Timeline():
            write()

    assert lines_of(write, 0)[0] == raised(PlacementError, block).at[0]


def test_media_beside_loose_sections_are_fine() -> None:
    """Turns and request-only turns in one fragment with a loose section keep their media."""
    tree = Timeline(Fragment(Section("s", "x"), Ephemeral(Image.from_url(URL)), User("q")))
    assert [("system", ["x"]), ("user", ["<context>\n", "image", "</context>", "q"])] == [
        (role, texts) for role, texts in said(tree)
    ]
