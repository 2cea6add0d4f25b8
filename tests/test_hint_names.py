"""The names of hints: the table with all of them, its page, and renders that leave some out."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import promptdsl
from promptdsl import History, Loss, Timeline, User, render
from tests.internals import HINTS

PACKAGE = Path(promptdsl.__file__).parent


@cache
def modules() -> list[ast.Module]:
    """Return the modules of the package that may make hints, beside the table of names."""
    texts = [p.read_text("utf-8") for p in PACKAGE.rglob("*.py") if p.name != "names.py"]
    return [ast.parse(text) for text in texts if "hint(" in text or '"hint"' in text]


def calls(module: ast.AST) -> list[tuple[str, ast.Call]]:
    """Return the calls in a module, each with the name of what is called."""
    made = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    return [(getattr(it.func, "attr", getattr(it.func, "id", "")), it) for it in made]


def strings(nodes: Any) -> list[str]:
    """Return the strings among nodes."""
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [value for value in values if isinstance(value, str)]


def names_in(module: ast.AST) -> set[str]:
    """Return the names of hints in a module; one in a variable is among the module's strings."""
    made = [strings(it.args[:2])[:1] for name, it in calls(module) if name in ("hint", "_hint")]
    variable = HINTS.keys() & strings(ast.walk(module)) if [] in made else set()
    return {name for names in made for name in names} | variable


def test_each_hint_has_a_name_of_the_table() -> None:
    """The package makes hints with the names of the table, and with each of them."""
    assert HINTS.keys() == {name for module in modules() for name in names_in(module)}


def test_no_hint_is_made_without_a_name() -> None:
    """Whatever is called with the kind of a hint is given a name, too."""
    of_losses = [it for module in modules() for name, it in calls(module) if name == "Loss"]
    made = [it for it in of_losses if "hint" in strings(it.args)]
    assert (2, []) == (len(made), [it for it in made if "name" not in {k.arg for k in it.keywords}])


def test_the_reference_lists_the_names() -> None:
    """The table of the page is that of the package."""
    page = (PACKAGE.parent / "docs" / "reference.md").read_text("utf-8")
    rows = page.split("\n### Names of hints\n")[1].split("\n## ")[0].split("|---|---|\n")[1]
    assert [f"| `{name}` | {says} |" for name, says in HINTS.items()] == rows.strip().split("\n")


def recorded_as(id: str, tool: str, arguments: str) -> list[dict[str, Any]]:
    """Return a question, a call, its result and an answer, as Chat records them."""
    call = {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}}
    question = {"role": "user", "content": "q", "name": id}
    result = {"role": "tool", "tool_call_id": id, "content": "r"}
    answer = {"role": "assistant", "content": "a"}
    return [question, {"role": "assistant", "tool_calls": [call]}, result, answer]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gemini-3.8-flash", "unsigned_call"),
        ("gpt-5", "mended_arguments"),
        ("claude-opus-5-5", "speaker_name"),
    ],
)
def test_one_hint_for_one_cause(model: str, name: str) -> None:
    """Calls of other ids and tools, and other speakers, in a recording have one hint."""
    one, two = recorded_as("a", "find", "[1]"), recorded_as("b", "sum", "[2]")
    history = History.from_openai([*one, *two])
    hints = render(Timeline(history, User("q")), model=model).hints
    assert [2] == [loss.count for loss in hints if loss.name == name]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [("", 1), ("cache_mark", 4), ("white_space", 1)]),
        ({"hints": False}, [("", 1)]),
        ({"transformation": {"silent_hints": ["cache_mark"]}}, [("", 1), ("white_space", 1)]),
    ],
)
def test_hints_that_are_left_out(options: dict[str, Any], expected: object) -> None:
    """A render leaves out all hints or those named, also on the way to another library."""
    mark = Loss("hint", "a mark", "it has none", at=(0, 0), name="cache_mark", also=("b",))
    blank = Loss("hint", "text block", "blank", at=(0, 0), name="white_space")
    lost = [mark, mark, Loss("content", "a film", "it has none", at=(0, 0)), blank]
    losses = render(User("a"), **options).located(lost)
    assert expected == [(loss.name, loss.count) for loss in losses]
