"""What a template is passed: plain data, and nothing that is alive."""

import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import ContentError, System, Template, User, Volatile, render, trusted
from tests.internals import Trusted, check_variables, frozen


class Plan(StrEnum):
    """A string of another class."""

    PRO = "pro"


class Level(IntEnum):
    """A number of another class."""

    HIGH = 3


class Loud(float):
    """A number with code of its own."""

    def __add__(self, other: object) -> float:
        raise AssertionError("it was asked")


class Day(datetime):
    """A time with code of its own."""


class Pair(NamedTuple):
    """A tuple of another class."""

    a: int
    b: int


ZONE = timezone(timedelta(hours=2))

KEPT = (
    ("a", "a"),
    (Plan.PRO, "pro"),
    (1, 1),
    (Level.HIGH, 3),
    (True, True),
    (None, None),
    (1.5, 1.5),
    (Loud(1.5), 1.5),
    (Decimal("1.10"), Decimal("1.10")),
    (Fraction(1, 3), Fraction(1, 3)),
    (date(2026, 1, 2), date(2026, 1, 2)),
    (datetime(2026, 1, 2, 3), datetime(2026, 1, 2, 3)),
    (Day(2026, 1, 2, 3), datetime(2026, 1, 2, 3)),
    (datetime(2026, 1, 2, 3, tzinfo=ZoneInfo("UTC")), datetime(2026, 1, 2, 3, tzinfo=UTC)),
    (time(3, 4), time(3, 4)),
    (time(3, 4, tzinfo=ZONE), time(3, 4, tzinfo=ZONE)),
    (UUID(int=7), UUID(int=7)),
    ([1, [2]], [1, [2]]),
    ((1, (2,)), [1, [2]]),
    (Pair(1, 2), [1, 2]),
    ({"a": {"b": 1}}, {"a": {"b": 1}}),
    (OrderedDict(a=1), {"a": 1}),
    ({Plan.PRO: 1}, {"pro": 1}),
)


@pytest.mark.parametrize(("value", "expected"), KEPT)
def test_plain_data_is_kept(value: object, expected: object) -> None:
    """Plain data is kept as a value of exactly its type."""
    kept = check_variables({"x": value})["x"]
    assert (expected, True) == (kept, type(expected) in type(kept).__mro__)


def test_no_subclass_is_kept() -> None:
    """What a template works on has no code of its own, time zones included."""
    given = {
        "s": Plan.PRO,
        "i": Level.HIGH,
        "f": Loud(1),
        "d": Day(2026, 1, 2, tzinfo=ZoneInfo("UTC")),
    }
    kept = check_variables(given)
    assert [str, int, float, datetime] == [type(value) for value in kept.values()]
    assert timezone is type(kept["d"].tzinfo)


def test_trusted_text_keeps_its_mark() -> None:
    """A string marked by trusted() stays marked."""
    assert Trusted is type(check_variables({"x": [trusted("a")]})["x"][0])


def test_variables_are_a_copy() -> None:
    """What is changed later changes nothing, and what is kept refuses change."""
    items = ["a"]
    kept = check_variables({"x": items})
    items.append("b")
    assert ["a"] == kept["x"]
    with pytest.raises(TypeError, match="this value is frozen"):
        kept["x"].append("b")


def test_checked_variables_are_not_copied_again() -> None:
    """What was checked is passed back unchanged."""
    kept = check_variables({"x": ["a"]})
    assert kept is check_variables(kept)


def test_frozen_data_is_checked() -> None:
    """Data that is frozen already may hold anything, and is checked like any other."""
    with pytest.raises(ContentError, match="not plain data"):
        check_variables(frozen({"x": object()}))


def test_variables_can_be_pickled() -> None:
    """After a pickle, variables are equal to what they were."""
    kept = check_variables({"x": [{"a": Decimal(1)}], "y": date(2026, 1, 2)})
    assert kept == check_variables(pickle.loads(pickle.dumps(kept)))


@pytest.mark.parametrize(
    ("value", "path", "kind"),
    [
        (object(), "vars.x", "object"),
        ([{"y": object()}], "vars.x.0.y", "object"),
        (1j, "vars.x", "complex"),
        (iter([1]), "vars.x", "list_iterator"),
        (range(2), "vars.x", "range"),
        (len, "vars.x", "builtin_function_or_method"),
        (User("a"), "vars.x", "User"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_live_objects_are_refused(value: object, path: str, kind: str) -> None:
    """Any other object is an error that says where it is and what to give instead."""
    with pytest.raises(ContentError) as caught:
        check_variables({"x": value})
    assert (
        f"{path} is an object, not plain data: {kind}\n"
        "  pass the data in it that the template needs: strings, numbers, lists, dictionaries"
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("value", "kind", "fix"),
    [
        (Path("a"), type(Path("a")).__name__, "write str(path)"),
        ({1, 2}, "set", "write sorted(values)"),
        (b"a", "bytes", "write data.decode()"),
    ],
)
def test_the_plain_form_of_a_live_object_is_named(value: object, kind: str, fix: str) -> None:
    """For an object of a known type the error says what its plain form is."""
    with pytest.raises(ContentError) as caught:
        check_variables({"x": value})
    assert (f"vars.x is an object, not plain data: {kind}", fix) == (
        caught.value.what,
        caught.value.fix,
    )


@dataclass
class Order:
    """A dataclass with what is no field of it."""

    number: int
    items: list[Any] = field(default_factory=list)
    next: Any = None
    unset: int = field(init=False)
    source: InitVar[str] = "web"
    count: ClassVar[int] = 1

    @property
    def total(self) -> int:
        """Refuse to be asked."""
        raise AssertionError("it was asked")

    def __getattr__(self, name: str) -> object:
        raise AssertionError("it was asked")


@dataclass(slots=True, frozen=True)
class Item:
    """A dataclass with slots."""

    name: str
    unset: int = field(init=False)


@attrs.frozen
class Customer:
    """A class of attrs, with a private field."""

    name: str
    _plan: Any = "free"


@attrs.define(slots=False)
class Empty:
    """A class of attrs without a field."""


FIELDS: dict[str, tuple[object, object]] = {
    "a dataclass": (Order(1), {"number": 1, "items": [], "next": None}),
    "others in it": (
        Order(1, [Item("a"), {"b": Customer("c")}]),
        {
            "number": 1,
            "items": [{"name": "a"}, {"b": {"name": "c", "_plan": "free"}}],
            "next": None,
        },
    ),
    "attrs": (Customer("a", plan=Plan.PRO), {"name": "a", "_plan": "pro"}),
    "no field": (Empty(), {}),
}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("around", [lambda it: it, lambda it: [it], lambda it: {"a": (it,)}])
def test_an_instance_is_the_mapping_of_its_fields(
    name: str, around: Callable[[object], object]
) -> None:
    """Of a dataclass or a class of attrs the fields that are set are copied, and nothing is run."""
    value, expected = FIELDS[name]
    assert check_variables({"x": around(expected)}) == check_variables({"x": around(value)})


class Computed(Order):
    """A dataclass in which a property takes the place of a field."""

    @property
    def number(self) -> int:
        """Refuse to be asked."""
        raise AssertionError("it was asked")

    @number.setter
    def number(self, value: int) -> None:
        pass


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Computed(1), "vars.x.number is an object, not plain data: property"),
        (lambda: Order(1, [object()]), "vars.x.items.0 is an object, not plain data: object"),
        (lambda: Order, "vars.x is an object, not plain data: type"),
    ],
)
def test_what_is_no_data_of_an_instance(make: Callable[[], object], what: str) -> None:
    """A property in the place of a field, a live object in one, and a class are refused."""
    with pytest.raises(ContentError) as caught:
        check_variables({"x": make()})
    assert what == caught.value.what


def test_an_instance_keeps_the_marks_of_its_values() -> None:
    """A volatile or trusted field is inserted as such a variable is."""
    customer = Customer(trusted("# <event>"), Volatile("<event>", "plan"))
    rendered = render(System(Template.from_string("{{ c.name }} {{ c._plan }}", c=customer)))
    assert "# <event> &lt;event>" == rendered.messages[0].text
    assert ["plan"] == [span.label for span in rendered.spans() if span.kind == "volatile"]


def _circle() -> Any:
    circle: list[Any] = []
    circle.append(circle)
    return {"x": circle}


def _circle_of_instances() -> Any:
    order = Order(1)
    order.next = [order]
    return {"x": order}


def _deep_instances() -> Any:
    order = Order(1)
    for _ in range(200):
        order = Order(1, next=order)
    return {"x": order}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (_circle, "the data contains itself"),
        (_circle_of_instances, "the data contains itself"),
        (_deep_instances, "nested deeper than 200 levels"),
        (lambda: {"x": {1: "a"}}, "must be a string, not int"),
        (lambda: {1: "a"}, "must be a string, not int"),
        (lambda: ["x"], "the variables of a template must be a mapping, not list"),
    ],
    ids=["a circle", "a circle of instances", "deep instances", "a key", "a name", "a list"],
)
def test_what_no_template_takes(given: Callable[[], Any], expected: str) -> None:
    """Data that holds itself, keys that are no strings and what is no mapping are refused."""
    with pytest.raises(ContentError, match=expected):
        check_variables(given())


@pytest.mark.parametrize(("levels", "what"), [(199, "not plain data"), (200, "than 200 levels")])
def test_very_many_levels(levels: int, what: str) -> None:
    """Data of 200 levels is checked; deeper data is refused."""
    data: Any = object()
    for _ in range(levels):
        data = {"a": data}
    with pytest.raises(ContentError, match=what):
        check_variables({"x": data})


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(data=st.dictionaries(st.text(), PLAIN))
def test_any_plain_data_is_the_same(data: dict[str, Any]) -> None:
    """Any plain data is equal to what is kept of it."""
    assert data == check_variables(data)
