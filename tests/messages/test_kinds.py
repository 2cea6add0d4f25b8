"""Blocks made in code: checked as they are made, and changed by nobody afterwards."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import attrs
import pytest

from promptdsl import *
from tests.any_data import Liar
from tests.errors import raised
from tests.internals import CLASSES, AnyBlock, is_ambiguous

SOURCE = MediaSource("url", "u")


@pytest.mark.parametrize("cls", [*CLASSES.values(), UnknownBlock])
def test_every_field_is_checked(cls: Any) -> None:
    """Every field of every block has its check."""
    assert [field.name for field in attrs.fields(cls)] == list(cls._checks)


@pytest.mark.parametrize(
    ("write", "what"),
    [
        (lambda: TextBlock(5), "'text' must be a string, not int"),
        (lambda: TextBlock("x", "1d"), "unknown cache '1d'"),
        (lambda: TextBlock("x", extra=[1]), "'extra' must be a mapping, not list"),
        (lambda: TextBlock("x", extra={"a": {1}}), "'extra.a' is not a JSON value: set"),
        (lambda: ImageBlock("u"), "'source' must be a MediaSource, not str"),
        (lambda: ImageBlock({"url": "u"}), "'source' must be a MediaSource, not dict"),
        (lambda: ToolUseBlock("1", "f", []), "'arguments' must be a string, not list"),
        (lambda: ToolResultBlock("1", 5), "content[0] must be a block, not int"),
        (lambda: ToolResultBlock("1", ["x"]), "content[0] must be a block, not str"),
        (
            lambda: ToolResultBlock("1", [TextBlock("x"), {}]),
            "content[1] must be a block, not dict",
        ),
        (lambda: ToolResultBlock("1", is_error=1), "'is_error' must be true or false, not int"),
        (lambda: ReasoningBlock("x", b"s"), "'signature' must be a string, not bytes"),
        (lambda: UserActionBlock([1]), "'action' must be a string, not list"),
        (lambda: UserActionBlock("a", target={1}), "'target' is not a JSON value: set"),
        (lambda: UserActionBlock("a", details=[]), "'details' must be a mapping, not list"),
        (lambda: StateChangeBlock("k", old=b"x"), "'old' is not a JSON value: bytes"),
        (lambda: SystemEventBlock("e", data={"a": b""}), "'data.a' is not a JSON value: bytes"),
        (lambda: JsonBlock(date(2026, 1, 2)), "'value' is not a JSON value: date"),
        (lambda: CodeBlock("x", 5), "'language' must be a string, not int"),
        (lambda: UnknownBlock([]), "'data' must be a mapping, not list"),
    ],
)
def test_the_wrong_value_is_named(write: Callable[[], object], what: str) -> None:
    """A value that a field cannot hold is an error that names the field."""
    assert what == raised(DataError, write).what


@pytest.mark.parametrize(
    ("write", "key"),
    [
        (lambda extra: TextBlock("x", extra=extra), "text"),
        (lambda extra: TextBlock("x", extra=extra), "type"),
        (lambda extra: TextBlock("x", extra=extra), "cache"),
        (lambda extra: ToolUseBlock("1", "f", "{}", extra=extra), "input"),
        (lambda extra: ToolUseBlock("1", "f", "{}", extra=extra), "toolUseId"),
        (lambda extra: ToolResultBlock("1", extra=extra), "tool_call_id"),
        (lambda extra: StateChangeBlock("k", extra=extra), "from"),
        (lambda extra: StateChangeBlock("k", extra=extra), "old"),
        (lambda extra: AudioBlock(SOURCE, extra=extra), "url"),
        (lambda extra: AudioBlock(SOURCE, extra=extra), "source"),
    ],
)
def test_a_further_key_is_none_of_its_own(write: Callable[[Any], object], key: str) -> None:
    """``extra`` holds no key that the block has itself: one of the two would be dropped."""
    error = raised(DataError, lambda: write({"further": 1, key: "x"}))
    assert f"{key!r} cannot be in the 'extra' of a " in error.what


def test_a_source_may_say_more() -> None:
    """Further keys of a source stand under ``source`` in ``extra``."""
    block = DocumentBlock(SOURCE, extra={"source": {"expires": 5}})
    assert {"type": "url", "url": "u", "expires": 5} == block.to_dict()["source"]


@pytest.mark.parametrize(
    ("content", "kept"),
    [("x", (TextBlock("x"),)), ("", ()), (TextBlock("x"), (TextBlock("x"),))],
)
def test_a_result_may_be_a_text(content: Any, kept: Any) -> None:
    """The content of a tool result may be given as a string, or as one block."""
    assert kept == ToolResultBlock("1", content).content


def test_what_it_was_made_of_can_be_changed() -> None:
    """A list or mapping a block was made of is not part of it."""
    content, data = [TextBlock("x")], {"a": [1]}
    block, event = ToolResultBlock("1", content), UserActionBlock("a", data, [data], data)  # type: ignore[arg-type]
    content.clear()
    data["a"].clear()
    assert ((TextBlock("x"),), UserActionBlock("a", {"a": [1]}, [{"a": [1]}], {"a": [1]})) == (
        block.content,
        event,
    )


def test_strings_are_exact() -> None:
    """A string that pretends to be another one is kept as what it holds."""
    block = ToolUseBlock(Liar("1"), Liar("f"), Liar("{}"))
    assert [str] * 3 == [type(text) for text in (block.id, block.name, block.arguments)]
    assert "1f{}" == f"{block.id}{block.name}{block.arguments}"


@pytest.mark.parametrize(
    "value",
    [
        date(2026, 1, 2),
        datetime(2026, 1, 2, tzinfo=UTC),
        time(1, 2),
        Decimal("1.50"),
        Fraction(1, 3),
        UUID(int=5),
        float("inf"),
    ],
)
def test_an_event_holds_what_has_a_text(value: object) -> None:
    """Code may give an event what has a text of its own; a dictionary may not."""
    block = StateChangeBlock("k", value, [value], value, {"a": value})
    assert (value, [value], value, value) == (
        block.old,
        block.new,
        block.trigger,
        block.details["a"],
    )
    assert raised(DataError, lambda: block_from_dict(block.to_dict())).what.startswith("'from' is")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": 5},
        {"type": "text", "text": 5},
        {"type": "image"},
        {"type": "unknown", "data": {"type": "text"}},
        {"type": "unknown", "data": {"type": "unknown", "data": {}}},
        {"type": "unknown", "data": {}, "origin": "gemini"},
    ],
)
def test_an_unknown_block_stays_one(data: dict[str, Any]) -> None:
    """A block kept whole is read as one, also where its dictionary alone reads as another."""
    block = UnknownBlock(data)
    assert (data, {"type": "unknown", "data": data}) == (block.data, block.to_dict())
    assert block == block_from_dict(block.to_dict())


@pytest.mark.parametrize(
    "data",
    [
        {"type": "new"},
        {"type": "unknown"},
        {"type": "unknown", "data": 5},
        {"type": "unknown", "data": {"type": "new"}},
        {"type": "unknown", "data": {"type": "text"}, "a": 1},
        {"type": "unknown", "data": 5, "origin": "gemini"},
        {"type": "unknown", "data": {}, "origin": 5},
    ],
)
def test_an_unknown_block_is_its_dictionary(data: dict[str, Any]) -> None:
    """A block nobody knows is written as the dictionary it was read from."""
    assert (UnknownBlock(data), data) == (block_from_dict(data), UnknownBlock(data).to_dict())


def test_an_unknown_block_knows_its_origin() -> None:
    """The provider a block was read from stands in its dictionary."""
    block = UnknownBlock({"type": "text", "a": 1}, "gemini")
    data = {"type": "unknown", "data": {"type": "text", "a": 1}, "origin": "gemini"}
    assert (block, data) == (block_from_dict(data), block.to_dict())


def test_wrappers_of_wrappers() -> None:
    """However often a block was wrapped, whether it has to be is found without recursion."""
    data: dict[str, Any] = {"type": "text"}
    for _ in range(10_000):
        data = {"type": "unknown", "data": data}
    unknown = {"type": "unknown", "data": []}
    assert (True, False) == (is_ambiguous(data, CLASSES), is_ambiguous(unknown, CLASSES))


@pytest.mark.parametrize("depth", [2, 3, 10_000])
def test_results_in_results(depth: int) -> None:
    """A result in a result in a result is refused as it is made."""

    def nest() -> AnyBlock:
        block = ToolResultBlock("1")
        for _ in range(depth):
            block = ToolResultBlock("1", (block,))
        return block

    error = raised(DataError, nest)
    assert (
        "'content' of a 'tool_result' block contains a result with another result in it",
        "write the content of the innermost result instead of that result",
    ) == (error.what, error.fix)


def test_what_kind_of_attachment() -> None:
    """An attachment says whether it is a picture, a document, an address."""
    blocks = ImageBlock(SOURCE), DocumentBlock(MediaSource("file_id", "f"))
    told = [(block.is_image, block.is_document, block.is_url) for block in blocks]
    assert [(True, False, True), (False, True, False)] == told
