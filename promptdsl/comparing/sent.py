"""The blocks of a prompt, each with how it is sent: its role, its cache mark, or not at all."""

from collections.abc import Sequence, Set
from itertools import chain
from typing import NamedTuple

import attrs

from promptdsl import (
    Block,
    OutputSchema,
    PendingToolCalls,
    Rendered,
    SentLocation,
    Span,
    TargetError,
    TextBlock,
    ToolResultBlock,
)
from promptdsl.foundation.frozen import is_mapping

UNSENT = -2
"""The number of the message of a block that is not sent."""


@attrs.define
class SentBlock:
    """How a block is sent: the number and role of its message in the request.

    ``number`` is ``UNSENT`` for a block that is not sent, and -1 for system text outside the
    messages. ``before`` and ``after`` are texts that the adapter adds around it. ``id`` is the id
    of a call or result as it is sent.
    """

    number: int = UNSENT
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


@attrs.define
class PromptBlock:
    """A block of a prompt with its spans, and how it is sent.

    ``wanted`` is its cache mark in the prompt. ``is_unsent`` is whether a loss or a hint says that
    it is not sent. ``inner`` are the blocks in a result.
    """

    block: Block
    spans: Sequence[Span]
    wanted: str | None
    is_unsent: bool
    inner: "list[PromptBlock]"
    sent: SentBlock


class SentPrompt(NamedTuple):
    """The blocks of each message, and the messages that are added at the end.

    ``names`` are the names that are sent: of speakers, and of the output schema. Where
    ``is_known`` is false, nothing is known of how it is sent: there is no target, or calls have no
    results yet. Then every block is shown as it is in the prompt.
    """

    blocks: list[list[PromptBlock]]
    tail: tuple[tuple[str, str], ...]
    names: Set[str | None]
    is_known: bool


def sent_prompt(rendered: Rendered) -> SentPrompt:
    """Return the blocks of a prompt, and how each is sent."""
    blocks = _blocks_as_written(rendered)
    try:
        locations = rendered.locations()
    except (TargetError, PendingToolCalls):
        names = {message.name for message in rendered.messages}
        if rendered.output is not None:
            names.add(rendered.output.name)
        return SentPrompt(blocks, (), names, is_known=False)
    for block in chain.from_iterable(blocks):
        block.sent = SentBlock()
    tail = _add_locations(blocks, locations)
    speakers = {location.speaker for location in locations}
    return SentPrompt(blocks, tail, speakers | {None, "", _schema_name(rendered)}, is_known=True)


def _blocks_as_written(rendered: Rendered) -> list[list[PromptBlock]]:
    """Return the blocks of each message as they are in the prompt."""
    blocks: list[list[PromptBlock]] = []
    for message in rendered._request_view.messages:
        blocks.append([])
        for part in message.blocks:
            block = _block_as_written(part.block, part.spans, is_unsent=part.is_unsent)
            blocks[-1].append(block)
            for inner in part.inner:
                block.inner.append(
                    _block_as_written(inner.block, inner.spans, is_unsent=inner.is_unsent)
                )
    return blocks


def _block_as_written(block: Block, spans: Sequence[Span], *, is_unsent: bool) -> PromptBlock:
    """Return a block with its cache mark in the prompt: its own, or that after its text."""
    wanted: str | None = getattr(block, "cache", None)
    if wanted is None and spans:
        wanted = spans[-1].cache
    return PromptBlock(block, spans, wanted, is_unsent, [], SentBlock(number=0, cache=wanted))


def _add_locations(
    blocks: Sequence[Sequence[PromptBlock]], locations: Sequence[SentLocation]
) -> tuple[tuple[str, str], ...]:
    """Note in each block how it is sent; return the messages that are added at the end."""
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
        prompt_block = blocks[location.message][location.block]
        block, sent = prompt_block.block, prompt_block.sent
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
    return end.added_messages


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
