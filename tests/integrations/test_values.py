"""Values that several integrations share: reasoning in parts, instructions, attachments."""

from typing import Any

import pytest

from promptdsl import *
from tests.internals import integration_values_module as values


def thought(
    words: str, id: str | None = None, origin: str = "openai_responses", **more: Any
) -> Any:
    """Return reasoning of an item."""
    extra = {} if id is None else {"id": id}
    return ReasoningBlock(words, None, more.pop("encrypted", None), origin, {**extra, **more})


def summary(*words: str) -> list[dict[str, str]]:
    """Return the summaries of an item."""
    return [{"type": "summary_text", "text": part} for part in words]


def test_reasoning_of_two_items() -> None:
    """Reasoning in a row is one block as long as it has one id and nothing else."""
    assert (
        thought("A\n\nB\n\nC", "1", summary=summary("A", "B", "C")),
        thought("D", "2"),
        TextBlock("Hi"),
        thought("E\n\nF", "2", summary=summary("E", "F")),
        thought("G", "2", encrypted="e"),
        thought("H\n\nI\n\nJ", "3", summary=summary("H", "I", "J")),
        thought("K", "3", "gemini"),
        thought("L"),
        thought("M"),
    ) == values.joined_reasoning(
        [
            thought("A", "1"),
            thought("B", "1"),
            thought("C", "1"),
            thought("D", "2"),
            TextBlock("Hi"),
            thought("E", "2"),
            thought("F", "2"),
            thought("G", "2", encrypted="e"),
            thought("H\n\nI", "3", summary=summary("H", "I")),
            thought("J", "3"),
            thought("K", "3", "gemini"),
            thought("L"),
            thought("M"),
        ]
    )


def test_reasoning_behind_an_encrypted_one() -> None:
    """What was encrypted keeps it when more summaries of its item follow."""
    blocks = [thought("A", "1", encrypted="e"), thought("B", "1"), thought("", "1")]
    expected = thought("A\n\nB\n\n", "1", encrypted="e", summary=summary("A", "B", ""))
    assert (expected,) == values.joined_reasoning(blocks)


@pytest.mark.parametrize(
    ("block", "texts", "keys"),
    [
        (thought("A\n\nB", "1", summary=summary("A", "B")), ["A", "B"], set()),
        (thought("A", "1", summary=summary("A", "B")), None, {"summary"}),
        (thought("A\n\nB", "1", summary=[*summary("A"), {"text": "B"}]), None, {"summary"}),
        (thought("A\n\n1", "1", summary=[*summary("A"), {"type": "x", "text": 1}]), None, ...),
        (thought("", "1", summary=[]), [], set()),
        (thought("A", "1"), None, set()),
        (thought("A", "1", odd=1, more=2), None, {"more", "odd"}),
        (thought("A", odd=1, summary=summary("A")), ["A"], {"odd"}),
    ],
)
def test_summaries(block: Any, texts: Any, keys: Any) -> None:
    """Summaries are those that together are the text; other further keys are named."""
    assert texts == values.summaries(block)
    assert ({"summary"} if keys is ... else keys) == values.further_keys(block, "id", "status")


SYSTEM, DEVELOPER, USER = (Message(role, "a") for role in ("system", "developer", "user"))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ([], ("system", "recorded")),
        ([SYSTEM], ("system", "recorded")),
        ([SYSTEM, SYSTEM], ("system", "recorded")),
        ([SYSTEM, DEVELOPER], ("developer", "recorded_system")),
        ([USER, SYSTEM], ("system", "recorded")),
        ([SYSTEM, USER], ("developer", "recorded_system")),
    ],
)
def test_an_instruction_behind_others(before: list[Message], expected: tuple[str, str]) -> None:
    """A system message behind another role is a developer's that remembers its role."""
    assert expected == values.instruction_role(before, is_developer=False)
    assert ("developer", "recorded") == values.instruction_role(before, is_developer=True)


@pytest.mark.parametrize(
    ("media_type", "kind", "known"),
    [
        ("image/png", "image", "image/png"),
        ("image/*", "image", "image/*"),
        (None, "document", "application/octet-stream"),
        ("video/*", "video", "video/*"),
        ("text/plain", "document", "text/plain"),
        ("application/*", "document", "application/*"),
    ],
)
def test_media_types(media_type: str | None, kind: str, known: str) -> None:
    """The class of an attachment is the head of its media type; ``image/*`` says no more."""
    block: Any = values.media_block(
        values.media_kind(media_type), media_type, {"url": "https://example.com/a"}
    )
    assert (kind, known) == (block.type, values.media_type_of(block))
    is_open = media_type in (None, "image/*", "video/*")
    assert is_open == (block.source.media_type is None)


def test_addresses() -> None:
    """The address of a bucket is under a key of its own, whatever its letters."""
    addresses = ("s3://a", "GS://a", "https://s3://a", "s3:/a", 1)
    keys = [[*values.address_source(address)] for address in addresses]
    assert [["uri"], ["uri"], ["url"], ["url"], ["url"]] == keys
