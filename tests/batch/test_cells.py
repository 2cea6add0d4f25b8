"""Cells as arguments: by the types that a function declares, and of JSON, CSV or code."""

import enum
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Literal, Union

import pytest

from promptdsl import DataError, OptionError, Timeline, User, component
from promptdsl.batch import Parameters
from tests.batch.folders import Folder
from tests.errors import raised

NOT = "the cell 'cell' is "


def of(annotation: Any) -> Callable[..., object]:
    """Return a function with one parameter of a type."""

    def function(cell: Any) -> object:
        return cell

    function.__annotations__["cell"] = annotation
    return function


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Any, "4", "4"),
        (str, "4", "4"),
        (str, "", ""),
        (int, "4", 4),
        (int, " -4 ", -4),
        (int, "4.0", f"{NOT}str '4.0', not int"),
        (int, "", f"{NOT}str '', not int"),
        (int | None, "", None),
        (int, "x" * 90, f"{NOT}str '{'x' * 40}', not int"),
        (int, "9" * 5000, f"{NOT}str '{'9' * 40}', not int"),
        (float, "1e3", 1000.0),
        (float, "4", 4.0),
        (bool, "True", True),
        (bool, "0", False),
        (bool, "yes", f"{NOT}str 'yes', not bool"),
        (date, "2026-11-26", date(2026, 11, 26)),
        (date, "26.11.2026", f"{NOT}str '26.11.2026', not date"),
        (datetime, "2026-11-26T08:30", datetime(2026, 11, 26, 8, 30)),
        (int | str, "4", "4"),
        (Union[int, None], "4", 4),  # noqa: UP007 (another class than int | None)
        ("int", "4", 4),
        ("int | None", "4", 4),
        ("Missing", "4", "4"),
        ("int.missing", "4", "4"),
        ("int | 'Missing'", "4", "4"),
        (list[str], "a,b", "a,b"),
        (int | list[str], "4", "4"),
        (int | float, "1.5", 1.5),
        (int | float, "4", 4),
        (float | int, "4", 4.0),
        (int | float, "x", f"{NOT}str 'x', not int or float"),
        (bool | int, "1", True),
        (int | bool, "1", 1),
        (int | bool, "true", True),
        (bool | int, " TRUE ", True),
        (bool | int, "2", 2),
        (date | int, "7", 7),
        (int | date | None, "2026-11-26", date(2026, 11, 26)),
        (date | datetime, "2026-11-26", date(2026, 11, 26)),
        (datetime | date, "2026-11-26", datetime(2026, 11, 26)),
        (date | datetime, "2026-11-26T08:30", datetime(2026, 11, 26, 8, 30)),
        (int | float | None, "", None),
        (int | float | None, "x", f"{NOT}str 'x', not int or float or None"),
        (int | None | str, "", ""),
        (int | float | str, "4", "4"),
        (float, "1_0.0", f"{NOT}str '1_0.0', not float"),
        (float, "nan", f"{NOT}str 'nan', not float"),
        (int, "1e3", f"{NOT}str '1e3', not int"),
        ("int | float", "1.5", 1.5),
    ],
)
def test_a_text_of_csv_is_what_its_parameter_declares(
    annotation: Any, text: str, value: object
) -> None:
    """A cell of CSV stays text, but where a parameter declares a number, a truth or a date."""
    assert value == argument(annotation, text, texts=True)


@pytest.mark.parametrize(
    ("annotation", "cell", "value"),
    [
        (Any, None, None),
        (Any, {"a": 1}, {"a": 1}),
        (int, 4, 4),
        (int, "4", f"{NOT}str '4', not int"),
        (int, 4.0, f"{NOT}float '4.0', not int"),
        (int, True, f"{NOT}bool 'True', not int"),
        (float, 4, 4),
        (bool, 1, f"{NOT}int '1', not bool"),
        (str, 4, f"{NOT}int '4', not str"),
        (str, None, f"{NOT}null, not str"),
        (str | None, None, None),
        (int | str, 4, 4),
        (int | str, None, f"{NOT}null, not int or str"),
        (date, "2026-11-26", date(2026, 11, 26)),
        (date, date(2026, 11, 26), date(2026, 11, 26)),
        (date, datetime(2026, 11, 26), f"{NOT}datetime '2026-11-26 00:00:00', not date"),
        (list[str], "any", "any"),
        (int | float, 4.5, 4.5),
        (float | str, 4, 4),
        (bool | float, 4, 4),
        (bool | str, 4, f"{NOT}int '4', not bool or str"),
        (int | bool, True, True),
        (int | str, True, f"{NOT}bool 'True', not int or str"),
        (int | date, "2026-11-26", date(2026, 11, 26)),
        (int | date, "4", f"{NOT}str '4', not int or date"),
        (date | datetime, "2026-11-26T08:30", datetime(2026, 11, 26, 8, 30)),
        (int | float | None, "", f"{NOT}str '', not int or float or None"),
        (int | float, None, f"{NOT}null, not int or float"),
    ],
)
def test_a_value_is_of_the_type_that_its_parameter_declares(
    annotation: Any, cell: object, value: object
) -> None:
    """JSON and Parquet have types: a text is no number there, but JSON has no dates."""
    assert value == argument(annotation, cell, texts=False)


def argument(annotation: Any, cell: object, *, texts: bool) -> object:
    """Return the argument of a function of one parameter, or the words of the error."""
    parameters = Parameters(of(annotation), "ask")
    try:
        return parameters.arguments({"cell": cell, "other": 1}, texts=texts)["cell"]
    except DataError as error:
        return error.what


def test_what_is_not_taken_is_left_out() -> None:
    """Other columns are left out, but by a function that takes all; a missing one has advice."""

    def all_of(**cells: object) -> object:
        return cells

    assert {} == Parameters(lambda: None, "ask").arguments({"a": 1})
    assert {"a": 1, "b c": 2} == Parameters(all_of, "ask").arguments({"a": 1, "b c": 2})
    error = raised(DataError, lambda: Parameters(of(str), "ask").arguments({"cel": "4"}))
    assert ("the row has no 'cell', which ask needs", "'cel' should be 'cell'") == (
        error.what,
        error.fix,
    )


def test_cells_of_several_parameters() -> None:
    """Each cell is read by its own parameter, in the order of the row; defaults are left out."""

    def ask(a: int, b: str, /, c: float = 0.5, *, d: bool = True, e: int | None = None) -> None: ...

    def named(a: int, b: str, c: float = 0.5, *, d: bool = True, e: int | None = None) -> None: ...

    def more(a: int, *rest: int, b: str = "", **others: int) -> None: ...

    error = raised(OptionError, lambda: Parameters(ask, "ask"))
    assert "ask takes 'a' by position only" == error.what
    parameters = Parameters(named, "named")
    row = {"e": "", "x": "9", "d": "0", "b": "7", "c": "8", "a": "1"}
    read = {"e": None, "d": False, "b": "7", "c": 8.0, "a": 1}
    assert [*read.items()] == [*parameters.arguments(row, texts=True).items()]
    assert (["a", "b"], [*"abcde"]) == (parameters.required, [*parameters.types])
    assert [True, False] == [*map(parameters.takes, ("e", "x"))]
    error = raised(DataError, lambda: parameters.arguments({"d": True, "ab": 1}))
    assert ("the row has no 'a', which named needs", "'ab' should be 'a'") == (
        error.what,
        error.fix,
    )
    error = raised(DataError, lambda: parameters.arguments({"d": True, "a": 1}))
    assert ("the row has no 'b', which named needs", "it has a, d") == (error.what, error.fix)
    error = raised(DataError, lambda: parameters.arguments({}))
    assert ("the row has no 'a', which named needs", "") == (error.what, error.fix or "")
    error = raised(DataError, lambda: parameters.arguments({"a": 1, "b": 2, "c": "3", "d": 4}))
    assert "the cell 'b' is int '2', not str" == error.what
    parameters = Parameters(more, "more")
    assert (True, ["a"], None, [True, True]) == (
        parameters.takes_all,
        parameters.required,
        parameters.columns,
        [*map(parameters.takes, ("rest", "others"))],
    )
    assert {"x": "3", "a": 1, "rest": "2"} == parameters.arguments(
        {"x": "3", "a": "1", "rest": "2"}, texts=True
    )


@pytest.mark.parametrize(
    ("cell", "texts", "fix"),
    [
        (None, False, "add `| None` to the type of the parameter"),
        ("", True, "an empty cell is None if the type of the parameter has `| None`"),
        ("x", True, ""),
    ],
)
def test_advice_for_a_cell_of_another_type(cell: object, texts: bool, fix: str) -> None:
    """A null and an empty cell are what people stumble over."""
    parameters = Parameters(of(int), "ask")
    assert fix == raised(DataError, lambda: parameters.arguments({"cell": cell}, texts=texts)).fix


def test_a_parameter_without_a_name_is_refused() -> None:
    """Columns have names: a function that takes an argument by position cannot have it."""

    def ask(question: str, /) -> None: ...

    error = raised(OptionError, lambda: Parameters(ask, "ask"))
    assert "ask takes 'question' by position only" == error.what


def test_the_first_of_two_parameters_without_a_name_is_refused() -> None:
    """That the last one has a default does not help: the first is needed."""

    def ask(question: str, tone: str = "kind", /) -> None: ...

    error = raised(OptionError, lambda: Parameters(ask, "ask"))
    assert "ask takes 'question' by position only" == error.what


def test_two_parameters_without_a_name_may_have_defaults() -> None:
    """Parameters that no column can fill stay as they are; those behind them are columns."""

    def ask(question: str = "Why?", tone: str = "kind", /, rating: int = 0) -> None: ...

    parameters = Parameters(ask, "ask")
    assert ([], {"rating": 4}) == (
        parameters.required,
        parameters.arguments({"question": "How?", "tone": "", "rating": "4"}, texts=True),
    )


def test_a_component_has_its_own_parameters() -> None:
    """A component is a function: the types of its parameters are read."""

    @component
    def card(rating: int) -> Any:
        return Timeline(User("Rating: ", rating))

    assert {"rating": 4} == Parameters(card, "card").arguments({"rating": "4"}, texts=True)


@pytest.mark.parametrize(
    ("cell", "problem"),
    [("3", ""), ("often", "the cell 'attempts' is str 'often', not int")],
)
def test_a_section_of_a_library_has_typed_inputs(folder: Folder, cell: str, problem: str) -> None:
    """A section is a target: its inputs are parameters with types."""
    table = folder.table(f"to,attempts\nAnn,{cell}\nBo,1\n", "rows.csv")
    command = folder.batch("starter:handover", table)
    assert bool(problem) == command.code
    assert [problem] * bool(problem) == [it["what"] for it in folder.entries("errors.jsonl")]
    expected = ["tried 3 times to", "tried 1 time to"][bool(problem) :]
    texts = [request["messages"] for request in folder.requests()]
    assert expected == [word for text in texts for word in expected if word in text]


def test_annotations_that_are_texts_are_read(folder: Folder) -> None:
    """``from __future__ import annotations`` makes annotations texts, which are still types."""
    folder.path.joinpath("texts.py").write_text(
        "from __future__ import annotations\n"
        "from promptdsl import Timeline, User\n\n\n"
        "def rated(rating: int | None):\n"
        "    return Timeline(User(repr(rating)))\n"
    )
    assert 0 == folder.batch("texts.py:rated", folder.table("rating\n4\n", "rows.csv")).code
    assert ["4"] == folder.users()


class Plan(enum.Enum):
    """The plans of a shop."""

    PRO = "pro"
    FREE = "free"


def chosen(
    plan: Plan,
    size: Literal["s", 2] = "s",
    region: Literal["EU"] | None = None,
    both: Literal["a"] | int = 1,
) -> None:
    """Take choices, and a type with a choice."""


@pytest.mark.parametrize("texts", [True, False])
def test_choices(texts: bool) -> None:
    """A cell of a Literal or an Enum is one of its values, and the argument is the member."""
    arguments = Parameters(chosen, "chosen").arguments
    cells = {"plan": "pro", "size": "2" if texts else 2, "region": "" if texts else None}
    assert {"plan": Plan.PRO, "size": 2, "region": None} == arguments(cells, texts=texts)
    assert {"plan": Plan.FREE} == arguments({"plan": Plan.FREE}, texts=texts)
    assert {"plan": Plan.PRO, "both": "b"} == arguments({"plan": "pro", "both": "b"}, texts=texts)


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ({"plan": "gold"}, "the cell 'plan' is 'gold', not one of 'pro', 'free'"),
        ({"plan": "pro", "size": "xl"}, "the cell 'size' is 'xl', not one of 's', 2"),
        ({"plan": None}, "the cell 'plan' is null, not one of 'pro', 'free'"),
        ({"plan": "pro", "region": [1]}, "the cell 'region' is '[1]', not one of 'EU', None"),
    ],
)
def test_a_cell_that_is_no_choice(cells: dict[str, object], what: str) -> None:
    """A cell that is none of the values is an error that names them."""
    arguments = Parameters(chosen, "chosen").arguments
    error = raised(DataError, lambda: arguments(cells, texts=False))
    assert what == error.what
    assert error.fix
