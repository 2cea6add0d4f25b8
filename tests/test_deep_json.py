"""JSON text without recursion: read and written as Python's own reader and writer do."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.any_data import json_values
from tests.internals import read_deep, write_deep

DECODER = json.JSONDecoder()
PIECES = ["{", "}", "[", "]", ",", ":", '"a"', '"', "1", "-", "true", "nul", " ", "\n", "\\u0061"]
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | json_values.map(json.dumps)


def outcome(read: Callable[[str], Any], text: str) -> Any:
    """Return what a reader makes of a text, as text, or that it refuses it."""
    try:
        return repr(read(text))
    except ValueError:
        return ValueError


@given(texts)
@example('{"a": 1, "a": 2}')
@example('{"a" 1}')
@example('{"a": 1,}')
@example("[1,]")
@example("[,1]")
@example("1 2")
@example("[1 2]")
@example("[1}")
@example('["a": 1]')
@example('{"a": "b": 1}')
@example("{1: 2}")
@example('"a": 1')
@example("")
@example("]")
@example(",")
@example("\u00a01")
def test_read_as_python_reads(text: str) -> None:
    """Any text is read, or refused, as Python's own reader does."""
    assert outcome(DECODER.decode, text) == outcome(lambda given: read_deep(given, DECODER), text)


@given(json_values, st.booleans())
def test_written_as_python_writes(value: Any, ascii_only: bool) -> None:
    """Any value is the text that Python's own writer makes of it."""
    expected = json.dumps(value, ensure_ascii=ascii_only)
    assert expected == write_deep(value, ascii_only=ascii_only)


@given(json_values)
def test_ordered_as_python_orders(value: Any) -> None:
    """Ordered text is what Python's own writer makes of it, in the order of the keys."""
    expected = json.dumps(value, ensure_ascii=False, sort_keys=True)
    assert expected == write_deep(value, ordered=True)


@pytest.mark.parametrize(
    "text", ["[" * 10_000 + "]" * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000]
)
def test_any_depth(text: str) -> None:
    """A text 10,000 levels deep is read and written to the byte."""
    assert text == write_deep(read_deep(text, DECODER)).replace(": ", ":")


@pytest.mark.parametrize("text", ["[" * 10_000, "[" * 10_000 + "]" * 9_999, '{"a":' * 10_000])
def test_an_open_end(text: str) -> None:
    """A deep text that ends too early is refused."""
    assert ValueError is outcome(lambda given: read_deep(given, DECODER), text)
