"""Plain data: frozen, compared, printed and saved, and only what JSON can say."""

import copy
import json
import pickle
from collections import OrderedDict
from collections.abc import Callable
from datetime import date
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import DataError
from tests.any_data import Liar, deep_list, json_values
from tests.errors import raised
from tests.internals import LEVELS, FrozenDict, FrozenList, frozen, thawed
from tests.internals import plain_data as plain

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=20,
)
pytestmark = pytest.mark.usefixtures("shallow_stack")


class Level(IntEnum):
    """A number that prints as something else."""

    HIGH = 3


class Ratio(float):
    """A number that prints as something else."""

    def __repr__(self) -> str:
        return "FORGED"


class Word(str, Enum):  # noqa: UP042 (StrEnum formats as its value)
    """A string that formats as something else."""

    ONE = "one"


def nested(innermost: Any = "end") -> dict[str, Any]:
    """Return dictionaries and lists in each other, as deep as data may be."""
    value: Any = {"a": [innermost]}
    for _ in range(LEVELS // 2 - 1):
        value = {"a": [value]}
    return dict(value)


@given(values)
def test_a_copy_is_equal(value: Any) -> None:
    """Any data is equal to its frozen copy, and to a plain copy of that."""
    copied = frozen(value)
    assert (value, value, False) == (copied, thawed(copied), copied != value)


@given(values, values)
def test_equal_is_what_python_says(one: Any, two: Any) -> None:
    """Frozen data is equal exactly where the plain data is."""
    assert (one == two, one != two) == (
        frozen([one]) == frozen([two]),
        frozen([one]) != frozen([two]),
    )


@given(values)
def test_printed_as_python_prints_it(value: Any) -> None:
    """Frozen data is printed as plain data is."""
    assert (repr(value), repr([value])) == (repr(frozen(value)), repr(frozen([value])))


@given(values)
def test_saved_and_copied(value: Any) -> None:
    """Frozen data is read back as it was saved, frozen, and is its own copy."""
    data = frozen({"a": value})
    loaded = pickle.loads(pickle.dumps(data))
    assert (data, FrozenDict, type(data["a"])) == (loaded, type(loaded), type(loaded["a"]))
    assert (True, True) == (copy.copy(data) is data, copy.deepcopy(data) is data)


@given(json_values)
def test_json_writes_it(value: Any) -> None:
    """JSON writes frozen data as it writes the data."""
    assert json.dumps(value) == json.dumps(plain(value, "x"))


def test_deep_data() -> None:
    """Data of 200 levels is compared, printed, saved and copied."""
    one, same, other = frozen(nested()), frozen(nested()), frozen(nested("other"))
    assert (True, False, False, True) == (one == same, one != same, one == other, one != other)
    assert repr(nested()) == repr(one)
    assert one == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == thawed(one)


@pytest.mark.parametrize("freeze", [frozen, lambda value: plain(value, "x"), thawed])
@pytest.mark.parametrize("depth", [LEVELS, 10_000])
def test_deeper_data_is_refused(freeze: Callable[[Any], Any], depth: int) -> None:
    """Data of more levels is refused by name."""
    error = raised(DataError, lambda: freeze(deep_list(depth)))
    assert error.what.endswith(" is nested deeper than 200 levels")


def test_not_equal_to_other_types() -> None:
    """Data is not equal to what is no data, nor a list to a dictionary."""
    assert ([False] * 4, [True] * 2) == (
        [frozen({}) == 1, frozen({}) == frozen([]), frozen([{}]) == [[]], frozen([[]]) == [None]],
        [frozen([1]) != 1, frozen([1]) != frozen({})],
    )


def test_a_tuple_is_a_list() -> None:
    """A tuple is frozen as a list, as JSON writes it; so nothing in it can change."""
    inner = [1]
    data = frozen({"a": (inner,)})
    inner.append(2)
    assert ({"a": [[1]]}, FrozenList) == (data, type(data["a"]))


@pytest.mark.parametrize("freeze", [frozen, lambda value: plain(value, "x")])
def test_any_mapping_is_a_dictionary(freeze: Callable[[Any], Any]) -> None:
    """A mapping of another type is a dictionary; its keys keep their order."""
    data = freeze(OrderedDict([("b", 1), ("a", OrderedDict())]))
    assert (["b", "a"], FrozenDict, {}) == (list(data), type(data), data["a"])


def test_numbers_and_strings_are_exact() -> None:
    """What extends a string or number is the string or number it holds."""
    data = plain({Word.ONE: [Liar("x"), Level.HIGH, Ratio(0.5)]}, "x")
    assert '{"one": ["x", 3, 0.5]}' == json.dumps(data)
    assert "{'one': ['x', 3, 0.5]}" == repr(data)
    assert [str, int, float] == [type(item) for item in data["one"]]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"a": [0, {"b": b"x"}]}, "'data.a[1].b' is not a JSON value: bytes"),
        ({"a": float("nan")}, "'data.a' is not a JSON value: nan"),
        ({"a": float("-inf")}, "'data.a' is not a JSON value: -inf"),
        ([date(2026, 1, 2)], "'data[0]' is not a JSON value: date"),
        ({1, 2}, "'data' is not a JSON value: set"),
        ({"a": {1: "x"}}, "a key of 'data.a' must be a string, not int"),
        ({None: "x"}, "a key of 'data' must be a string, not NoneType"),
        ({"a": 10**5_000}, "'data.a' is a number of more digits than Python reads or writes"),
        ({"x" * 100: {1}}, f"'data.{'x' * 60}' is not a JSON value: set"),
    ],
)
def test_what_json_cannot_say(value: Any, what: str) -> None:
    """A value that JSON has no word for is refused, with the path to it."""
    assert what == raised(DataError, lambda: plain(value, "data")).what


def test_the_path_to_a_deep_value_is_short() -> None:
    """Of a path of many levels, the middle is left out."""
    error = raised(DataError, lambda: plain(nested(b""), "data"))
    place = "data.a[0].a[0].a....a[0].a[0].a[0]"
    assert f"{place!r} is not a JSON value: bytes" == error.what


@pytest.mark.parametrize("make", [frozen, thawed])
def test_two_keys_that_are_one_string(make: Callable[[Any], Any]) -> None:
    """Keys that differ only by what they pretend to be are refused: one would be dropped."""

    class Other(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return self is other

        def __hash__(self) -> int:
            return 7

    data = {"a": [1], Other("a"): 2}
    assert "two keys are the same string" == raised(DataError, lambda: make(data)).what


@pytest.mark.parametrize("freeze", [frozen, lambda value: plain(value, "x"), thawed])
@pytest.mark.parametrize("depth", [0, 1, LEVELS - 1])
def test_circles(freeze: Callable[[Any], Any], depth: int) -> None:
    """Data that contains itself is refused, however long the way round is."""
    start: dict[str, Any] = {}
    value: Any = start
    for _ in range(depth):
        value = [value]
    start["a"] = value
    assert "the data contains itself" == raised(DataError, lambda: freeze(start)).what


def test_the_same_data_twice_is_no_circle() -> None:
    """One list may stand in two places."""
    shared = [1]
    assert [[1], {"a": [1]}] == frozen([shared, {"a": shared}])
