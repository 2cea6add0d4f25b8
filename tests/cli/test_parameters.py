"""What a function is called with."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Command
from tests.commands import Done
from tests.internals import UsageError, call_function, read_arguments
from tests.renders import ruled

TYPED = """\
from datetime import date
from typing import TYPE_CHECKING, Literal, Optional
from promptdsl import User

if TYPE_CHECKING:
    from somewhere import Plan


def demo(value: {annotation}):
    return User(repr(value))
"""
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("annotation", "pair", "value"),
    [
        ("str", "value=3", "'3'"),
        ("int", "value=3", "3"),
        ("int", "value:=3", "3"),
        ("float", "value=3", "3.0"),
        ("bool", "value=true", "True"),
        ("bool", "value=0", "False"),
        ("int | None", "value=3", "3"),
        ("int | None", "value=", "None"),
        ("Optional[int]", "value:=null", "None"),
        ("'int'", "value=3", "3"),
        ("int | str", "value=3", "'3'"),
        ("date", "value=2026-11-29", "datetime.date(2026, 11, 29)"),
        ("dict[str, int]", 'value:={"a": 1}', "{'a': 1}"),
        ("list[str]", "value=3", "'3'"),
        ("Literal['a', 3]", "value=3", "3"),
        ("'Plan | None'", "value=3", "'3'"),
    ],
)
def test_an_argument_is_read_as_its_type(
    cli: Command, prompts: Path, *, annotation: str, pair: str, value: str
) -> None:
    """A text is read as the type of its parameter, as the cell of a table in ``batch`` is."""
    (prompts / "typed.py").write_text(TYPED.format(annotation=annotation), "utf-8")
    assert Done(0, ruled(f"[user]\n{value}\n"), "") == cli("render", "typed.py:demo", "-p", pair)


@pytest.mark.parametrize("command", ["render", "tokens", "diff"])
@pytest.mark.parametrize(
    ("annotation", "pair", "problem"),
    [
        ("int", "value=abc", "str 'abc', not int"),
        ("int", "value=1_0", "str '1_0', not int"),
        ("int", "value=", "str '', not int"),
        ("bool", "value=maybe", "str 'maybe', not bool"),
        ("str", "value:=3", "int '3', not str"),
        ("str", "value:=null", "null, not str"),
        ("date", "value=tomorrow", "str 'tomorrow', not date"),
    ],
)
def test_an_argument_of_another_type_is_an_error(
    cli: Command, prompts: Path, *, command: str, annotation: str, pair: str, problem: str
) -> None:
    """What is not of the type is refused, before the function is called."""
    (prompts / "typed.py").write_text(TYPED.format(annotation=annotation), "utf-8")
    run = cli(command, "typed.py:demo", "-p", pair)
    assert (2, "") == (run.code, run.out)
    assert f"typed.py:demo: the argument 'value' is {problem}" in run.err


def test_a_text_without_annotation_stays_text(cli: Command) -> None:
    """A parameter that is not annotated gets the text."""
    run = cli("render", "support.py:anything", "-p", "a=3", "-p", "b=")
    assert Done(0, ruled("[user]\n{'a': '3', 'b': ''}\n"), "") == run


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("a:=3", "{'a': 3}"),
        ("a:=null", "{'a': None}"),
        ("a:=[1, {}]", "{'a': [1, {}]}"),
        ('a:="x=y"', "{'a': 'x=y'}"),
        ("a=b:=3", "{'a': 'b:=3'}"),
        ("a=b=c", "{'a': 'b=c'}"),
    ],
)
def test_a_pair_is_cut_at_its_first_sign(cli: Command, pair: str, value: str) -> None:
    """``key=`` is followed by text, ``key:=`` by JSON."""
    assert Done(0, ruled(f"[user]\n{value}\n"), "") == cli(
        "render", "support.py:anything", "-p", pair
    )


def test_parameters_replace_defaults(cli: Command) -> None:
    """What is given replaces the defaults of the function, and only that."""
    run = cli("render", "support.py:demo", "-p", "question=How?", "-p", "count=2")
    assert Done(0, ruled("[system]\nPlan: Pro\n\n[user]\nHow?\n\nTimes: 2\n"), "") == run


def test_the_last_pair_of_a_name_holds(cli: Command) -> None:
    """A parameter given twice has its last value."""
    run = cli("render", "support.py:anything", "-p", "a=1", "-p", "a:=2")
    assert Done(0, ruled("[user]\n{'a': 2}\n"), "") == run


def test_properties_come_from_a_file(cli: Command, prompts: Path) -> None:
    """A file of properties gives values as they are, and ``-p`` wins over it."""
    (prompts / "props.json").write_text('{"a": 1, "b": {"c": [null]}, "d": "5"}', "utf-8-sig")
    run = cli("render", "support.py:anything", "-p", "a=2", "--props", "props.json")
    assert Done(0, ruled("[user]\n{'a': '2', 'b': {'c': [None]}, 'd': '5'}\n"), "") == run


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["support.py:demo", "-p", "question"], "-p question: write key=value, or key:=JSON"),
        (["support.py:demo", "-p", "=x"], "-p =x: write key=value, or key:=JSON"),
        (["support.py:demo", "-p", ":=1"], "-p :=1: write key=value, or key:=JSON"),
        (
            ["support.py:demo", "-p", "plan:=[1,"],
            "-p plan:=[1,: not JSON: Expecting value (line 1 column 4)",
        ),
        (
            ["support.py:demo", "-p", "plan:=NaN"],
            "-p plan:=NaN: not JSON: NaN is not a JSON number",
        ),
        (
            ["support.py:demo", "-p", "plan:=1e400"],
            "-p plan:=1e400: not JSON: 1e400 is too large",
        ),
        (
            ["support.py:demo", "-p", "qestion=x"],
            "support.py:demo has no parameter 'qestion': did you mean 'question'?",
        ),
        (
            ["support.py:demo", "-p", "x=1"],
            "support.py:demo has no parameter 'x'; choose from count, plan, question",
        ),
        (["typed.py:LARGEST"], "the parameters of typed.py:LARGEST are not known"),
        (
            ["support.py:needs"],
            "support.py:needs needs question, plan: -p question=... -p plan=...",
        ),
        (["support.py:needs", "-p", "question=x"], "support.py:needs needs plan: -p plan=..."),
        (["support.py:nothing", "-p", "x=1"], "support.py:nothing has no parameter 'x'"),
        (
            ["support.py:GREETING", "-p", "x=1"],
            "support.py:GREETING is not a function: it takes no arguments",
        ),
        (
            ["support.py:demo", "--props", "no.json"],
            "cannot read no.json: No such file or directory",
        ),
        (
            ["support.py:demo", "--props", "list.json"],
            "list.json is not a JSON object with arguments by name",
        ),
        (
            ["support.py:demo", "--props", "broken.json"],
            "broken.json: not JSON: Expecting value (line 2 column 7)",
        ),
        (["support.py:demo", "--props", "bytes.json"], "bytes.json is not UTF-8"),
        (
            ["support.py:demo", "--props", "deep.json"],
            "deep.json: not JSON: maximum recursion depth exceeded",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_said(
    cli: Command, prompts: Path, options: list[str], message: str
) -> None:
    """Arguments that cannot be read, are not known or are missing are errors of the call."""
    (prompts / "typed.py").write_text("LARGEST = max\n", "utf-8")
    (prompts / "list.json").write_text("[]", "utf-8")
    (prompts / "broken.json").write_text('{\n "a": x}', "utf-8")
    (prompts / "bytes.json").write_bytes(b"\xff")
    (prompts / "deep.json").write_text("[" * 100_000, "utf-8")
    run = cli("render", *options)
    said = f"promptdsl render: error: {message}"
    assert (2, "", said) == (run.code, run.out, run.err.rstrip("\n")[: len(said)])


@given(st.text())
def test_any_text_arrives(text: str) -> None:
    """Any text after ``key=`` reaches its parameter unchanged."""
    assert text == call_function(
        lambda value: value, read_arguments([f"value={text}"], None), "target"
    )


@given(JSON)
def test_any_json_value_arrives(value: Any) -> None:
    """Any JSON value after ``key:=`` reaches its parameter unchanged."""
    pairs = [f"value:={json.dumps(value)}"]
    assert value == call_function(lambda value: value, read_arguments(pairs, None), "target")


@given(st.text(), st.text())
def test_any_pair_is_read_or_refused(pair: str, more: str) -> None:
    """Whatever is given as a pair is taken or is an error of the call, nothing else."""
    try:
        found = len(read_arguments([f"{pair}={more}"], None))
    except UsageError:
        found = 1
    assert 1 == found
