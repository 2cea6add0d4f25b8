"""Strict JSON text, both ways."""

import copy
import json
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from promptdsl import DataError, Json, PromptError, System, ToolUse, block_from_dict
from tests.any_data import deep_list, json_values
from tests.errors import raised
from tests.internals import ABSENT, LEVELS, canonical, json_text, read_json, write_json
from tests.internals import plain_data as plain

DEEPEST = "[" * LEVELS + "]" * LEVELS


@given(json_values)
def test_written_and_read(value: Any) -> None:
    """Any JSON value is read back as it was written, and its text is UTF-8."""
    text = write_json(value)
    text.encode()
    assert value == read_json(text)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "[1e400]", "", "{'a': 1}", "1" * 5_000])
def test_no_strict_json(text: str) -> None:
    """What is no strict JSON, or no number that Python can hold, is absent."""
    assert ABSENT is read_json(text)


def test_the_deepest_text() -> None:
    """Text of 200 levels is read and written; brackets in strings are no levels."""
    brackets = json.dumps([DEEPEST, {"[": "{"}])
    assert DEEPEST == write_json(read_json(DEEPEST)) == json_text(deep_list(LEVELS - 1))
    assert brackets == write_json(read_json(brackets))


@pytest.mark.parametrize("depth", [LEVELS + 1, 10_000, 100_000])
def test_deeper_text_is_absent(depth: int) -> None:
    """Text of more levels is absent, however many there are."""
    assert (ABSENT, ABSENT) == (
        read_json("[" * depth + "]" * depth),
        read_json('{"a":' * depth + "1" + "}" * depth),
    )


@pytest.mark.parametrize("depth", [LEVELS, 10_000])
@pytest.mark.parametrize(
    ("write", "what"),
    [
        (write_json, "the data is"),
        (json_text, f"'value{'[0]' * 5}...{'[0]' * 6}' is"),
        (lambda value: plain(value, "x"), f"'x{'[0]' * 5}...{'[0]' * 6}' is"),
        (lambda value: block_from_dict({"type": "json", "value": value}), "'value[0]"),
    ],
)
def test_deeper_data_is_refused(write: Callable[[Any], object], what: str, depth: int) -> None:
    """Data of more levels is refused by name."""
    error = raised(PromptError, lambda: write(deep_list(depth)))
    assert (True, True) == (error.what.startswith(what), "JSON text as a string" in error.fix)
    assert error.what.endswith(" is nested deeper than 200 levels")


@pytest.mark.parametrize(
    "write",
    [
        lambda: System(Json(deep_list(LEVELS))),
        lambda: ToolUse("f", {"a": deep_list(LEVELS)}, id="1"),
        lambda: System("x", metadata={"a": deep_list(LEVELS)}),
    ],
)
def test_the_line_of_deeper_data_is_named(write: Callable[[], object]) -> None:
    """Where an author wrote the data, the error names the line."""
    error = raised(PromptError, write)
    assert (True, True) == (error.what.endswith("deeper than 200 levels"), bool(error.at))
    assert error.at[0].startswith(f"{__file__}:")


COUNTED = pytest.mark.skipif(sys.version_info >= (3, 12), reason="no call in C is counted")
"""For what recurses in C: from Python 3.12 on, its calls have a limit of their own."""


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(write_json, id="write", marks=COUNTED),
        pytest.param(json_text, id="text"),
        pytest.param(lambda value: plain(value, "x"), id="plain"),
    ],
)
def test_no_stack_is_left(write: Callable[[Any], object]) -> None:
    """Near Python's recursion limit data that is not too deep is an error of ours, too."""

    def below(levels: int) -> object:
        return below(levels - 1) if levels else write(deep_list(LEVELS - 1))

    depth = sys.getrecursionlimit() - len(_frames()) - 100
    error = raised(PromptError, lambda: below(depth))
    assert "nested data reached Python's recursion limit" == error.what


def _frames() -> list[object]:
    frame, frames = sys._getframe(), []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return frames  # type: ignore[return-value]


@pytest.mark.parametrize("value", [float("nan"), {1}, b"x", [10**5_000]])
def test_no_json_value(value: Any) -> None:
    """What JSON has no word for is refused."""
    assert raised(DataError, lambda: write_json([value])).what.startswith("not a JSON value: ")


@given(json_values)
def test_canonical_text(value: Any) -> None:
    """The one text of data is that of its frozen copy, and can be read."""
    assert (canonical(value), value) == (canonical(plain(value, "x")), json.loads(canonical(value)))


def test_canonical_text_tells_apart() -> None:
    """Values that Python takes to be equal have texts of their own; the order of keys has none."""
    assert 3 == len({canonical(value) for value in (1, True, 1.0)})
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})


def test_absent_is_one_object() -> None:
    """The value for "not given" is the same object when it is copied or saved."""
    assert ABSENT is pickle.loads(pickle.dumps(ABSENT)) is copy.copy(ABSENT)
    assert (True, "ABSENT") == (copy.deepcopy(ABSENT) is ABSENT, repr(ABSENT))
