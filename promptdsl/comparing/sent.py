"""How each block of a prompt is sent: its role, its message, its cache mark, or not at all."""

from collections.abc import Sequence
from typing import NamedTuple

import attrs

from promptdsl import (
    OutputSchema,
    PendingToolCalls,
    Rendered,
    SentLocation,
    TargetError,
    TextBlock,
    ToolResultBlock,
)
from promptdsl.foundation.frozen import is_mapping


@attrs.define
class SentBlock:
    """How a block is sent: the number and role of its message in the request.

    ``number`` is ``None`` for a block that is not sent, and -1 for system text outside the
    messages. ``before`` and ``after`` are texts that the adapter adds around it. ``id`` is the id
    of a call or result as it is sent.
    """

    number: int | None = None
    role: str = ""
    cache: str | None = None
    id: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    added_messages: tuple[tuple[str, str], ...] = ()
    """The messages that the adapter adds before it: role and text."""
    is_error: bool = False
    """Whether a result is sent with the flag of an error."""
    is_joined: bool = False
    """Whether an empty line and more text follow it in the block that is sent."""
    fence: str = ""
    """The name of the tag around a text that can only be sent in a tag."""
    is_changed: bool = False
    """Whether its text is changed when it is sent."""


class SentPrompt(NamedTuple):
    """How each block of each message is sent, and the messages that are added at the end.

    ``names`` are the names that are sent: of speakers, and of the output schema.
    """

    blocks: list[list[SentBlock]]
    tail: tuple[tuple[str, str], ...]
    names: set[str | None]


def sent_prompt(rendered: Rendered) -> SentPrompt | None:
    """Return how a prompt is sent; ``None`` without a target, or while calls have no results."""
    try:
        locations = rendered.locations()
    except (TargetError, PendingToolCalls):
        return None
    blocks = [[SentBlock() for _ in message.content] for message in rendered.messages]
    added: list[SentLocation] = []
    last = result = SentBlock()
    in_result: tuple[str | int, ...] = ()
    has_text = False
    for location, following in zip(locations, (*locations[1:], None), strict=False):
        is_inside = bool(in_result) and location.address[: len(in_result)] == in_result
        if location.message is None or location.block is None:
            if not is_inside:
                added.append(location)
            elif has_text:
                result.after += _added_text(location.text)
            else:
                result.before += _added_text(location.text)
            continue
        if location.inner is not None:
            has_text = has_text or (is_inside and location.text != "")
            continue
        block = rendered.messages[location.message].content[location.block]
        sent = blocks[location.message][location.block]
        sent.number, sent.role, sent.is_error = _number(location), location.role, location.is_error
        sent.cache, sent.id, sent.fence = location.cache, location.id, location.fence
        if location.text:
            _add_around(sent, location.address, last, added)
            last, added = sent, []
            sent.is_joined = following is not None and following.address == location.address
        if location.fence in ("developer", "tool_result"):
            sent.before += (f"<{location.fence}>",)
            sent.after = (f"</{location.fence}>",)
        if isinstance(block, TextBlock):
            sent.is_changed = bool(location.text) and block.text not in location.text
        elif isinstance(block, ToolResultBlock):
            result, in_result, has_text = sent, location.address, False
    end = SentBlock()
    _add_around(end, (), last, added)
    names = {location.speaker for location in locations} | {_schema_name(rendered)}
    return SentPrompt(blocks, end.added_messages, names)


def _add_around(
    sent: SentBlock, address: tuple[str | int, ...], last: SentBlock, added: Sequence[SentLocation]
) -> None:
    """Put the texts that were added since the last text after it, before the next, or between.

    ``address`` is the address of the next text; empty at the end.
    """
    for addition in added:
        texts, number = _added_text(addition.text), _number(addition)
        if number == last.number and addition.address != address:
            last.after += texts
        elif number == sent.number:
            sent.before += texts
        else:
            sent.added_messages += tuple((addition.role, text) for text in texts)


def _number(location: SentLocation) -> int:
    return -1 if location.entry is None else location.entry


def _added_text(text: str) -> tuple[str, ...]:
    """Return a text that the adapter adds, without blank lines around it; ``()`` if it is blank."""
    text = text.strip("\n")
    return (text,) if text.strip() else ()


def _schema_name(rendered: Rendered) -> str | None:
    """Return the name of the output schema that is sent, its default if it is sent without one."""
    wire = rendered.facts.wire
    output_format: object = rendered._payload() if rendered.output_mode == "native" else None
    for key in wire.output:
        output_format = output_format.get(key) if is_mapping(output_format) else None
    if not is_mapping(output_format) or wire.output_schema not in output_format:
        return None
    return str(output_format.get("name", OutputSchema({}).name))
