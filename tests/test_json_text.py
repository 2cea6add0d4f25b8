"""Strict JSON text, both ways, at any depth."""

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given

from promptdsl import DataError
from tests.any_data import json_values
from tests.errors import raised
from tests.internals import ABSENT, canonical, read_any_depth, read_json, write_json
from tests.internals import plain_data as plain

DEEP = '{"a": [' * 5_000 + '"é"' + "]}" * 5_000


@given(json_values)
def test_written_and_read(value: Any) -> None:
    """Any JSON value is read back as it was written, by both readers, and its text is UTF-8."""
    text = write_json(value)
    text.encode()
    assert value == read_json(text) == read_any_depth(text)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "[1e400]", "", "{'a': 1}", "1" * 5_000])
def test_no_strict_json(text: str) -> None:
    """What is no strict JSON, or no number that Python can hold, is absent."""
    assert (ABSENT, ABSENT) == (read_json(text), read_any_depth(text))


def test_deep_text_survives() -> None:
    """Text deeper than Python's own reader goes is absent to it; else it is read and written."""
    assert (ABSENT, True) == (read_json(DEEP), DEEP == write_json(read_any_depth(DEEP)))


@pytest.mark.parametrize("text", ["[NaN]", "[1e400]", ",", "]"])
def test_deep_text_is_strict_too(text: str) -> None:
    """Deep text is as strict as any."""
    assert ABSENT is read_any_depth("[" * 5_000 + text + "]" * 5_000)


def test_deep_text_with_a_lone_surrogate() -> None:
    """A lone surrogate is written as an escape, however deep it is."""
    value = read_any_depth(DEEP.replace("é", "\\ud800"))
    assert DEEP.replace("é", "\\ud800") == write_json(value)


def test_deep_circles() -> None:
    """Data that holds itself far below is refused."""
    start: list[Any] = []
    value: list[Any] = start
    for _ in range(5_000):
        value = [value]
    start.append(value)
    assert "data that holds itself" == raised(DataError, lambda: write_json(start)).what


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
