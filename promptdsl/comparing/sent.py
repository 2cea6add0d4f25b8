"""What became of each block on the wire: its role, its message, its cache mark, or nothing."""

from collections.abc import Sequence
from typing import NamedTuple

import attrs

from promptdsl import (
    OutputSchema,
    PendingToolCalls,
    Rendered,
    SentPlace,
    TargetError,
    TextBlock,
    ToolResultBlock,
)
from promptdsl.foundation.frozen import is_mapping


@attrs.define
class SentBlock:
    """What became of a block: the number and role of its message on the wire.

    ``number`` is ``None`` for a block that is not sent, -1 for system text beside the messages.
    ``before`` and ``after`` are texts that the adapter put around it, ``id`` is that of a call or
    result as sent.
    """

    number: int | None = None
    role: str = ""
    cache: str | None = None
    id: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    turns: tuple[tuple[str, str], ...] = ()
    """The messages before it that nobody wrote: role and text."""
    is_error: bool = False
    """Whether a result has the flag of an error."""
    is_joined: bool = False
    """Whether an empty line and more text follow it in its block on the wire."""
    fence: str = ""
    """The tag around a text that cannot be sent otherwise."""
    is_changed: bool = False
    """Whether its text is another one on the wire."""


class SentPrompt(NamedTuple):
    """What became of each block of each message, and the messages at the end that nobody wrote.

    ``names`` are those that are sent: of speakers, and of the form of the answer.
    """

    blocks: list[list[SentBlock]]
    tail: tuple[tuple[str, str], ...]
    names: set[str | None]


def sent_prompt(rendered: Rendered) -> SentPrompt | None:
    """Return what became of a prompt, ``None`` without a target and while calls have no results."""
    try:
        places = rendered.places()
    except (TargetError, PendingToolCalls):
        return None
    blocks = [[SentBlock() for _ in message.content] for message in rendered.messages]
    added: list[SentPlace] = []
    last = result = SentBlock()
    in_result: tuple[str | int, ...] = ()
    has_text = False
    for place, following in zip(places, (*places[1:], None), strict=False):
        is_inside = bool(in_result) and place.address[: len(in_result)] == in_result
        if place.message is None or place.block is None:
            if not is_inside:
                added.append(place)
            elif has_text:
                result.after += _said(place.text)
            else:
                result.before += _said(place.text)
            continue
        if place.inner is not None:
            has_text = has_text or (is_inside and place.text != "")
            continue
        block = rendered.messages[place.message].content[place.block]
        sent = blocks[place.message][place.block]
        sent.number, sent.role, sent.is_error = _number(place), place.role, place.is_error
        sent.cache, sent.id, sent.fence = place.cache, place.id, place.fence
        if place.text:
            _add_around(sent, place.address, last, added)
            last, added = sent, []
            sent.is_joined = following is not None and following.address == place.address
        if place.fence in ("developer", "tool_result"):
            sent.before += (f"<{place.fence}>",)
            sent.after = (f"</{place.fence}>",)
        if isinstance(block, TextBlock):
            sent.is_changed = bool(place.text) and block.text not in place.text
        elif isinstance(block, ToolResultBlock):
            result, in_result, has_text = sent, place.address, False
    end = SentBlock()
    _add_around(end, (), last, added)
    names = {place.speaker for place in places} | {_answer_name(rendered)}
    return SentPrompt(blocks, end.turns, names)


def _add_around(
    sent: SentBlock, address: tuple[str | int, ...], last: SentBlock, added: Sequence[SentPlace]
) -> None:
    """Put what was added after the last text around it and the next one, or between them.

    ``address`` is that of the next text, empty after all texts.
    """
    for addition in added:
        texts, number = _said(addition.text), _number(addition)
        if number == last.number and addition.address != address:
            last.after += texts
        elif number == sent.number:
            sent.before += texts
        else:
            sent.turns += tuple((addition.role, text) for text in texts)


def _number(place: SentPlace) -> int:
    return -1 if place.entry is None else place.entry


def _said(text: str) -> tuple[str, ...]:
    """Return a text that the adapter added, without the blank lines around it, if there is one."""
    text = text.strip("\n")
    return (text,) if text.strip() else ()


def _answer_name(rendered: Rendered) -> str | None:
    """Return the name of the form of the answer that is sent, its usual one where none is."""
    wire = rendered.facts.wire
    form: object = rendered.payload() if rendered.output_mode == "native" else None
    for key in wire.output:
        form = form.get(key) if is_mapping(form) else None
    if not is_mapping(form) or wire.output_schema not in form:
        return None
    return str(form.get("name", OutputSchema({}).name))
