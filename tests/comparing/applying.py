"""The changes of a diff, applied to the first prompt: what they say is all that changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from promptdsl.comparing import Change, PromptFile
from tests.internals import NamedEntry, named_entries

Position: TypeAlias = tuple[int, ...]
Texts: TypeAlias = dict[object, str]
"""Texts by their position before, or, of those that came, by their change."""


class Counted(NamedTuple):
    """A prompt as changes count it: the lines of the header, and the text of each message."""

    header: list[str]
    messages: list[str]


def counted(file: PromptFile) -> Counted:
    """Return a file as changes count it."""
    messages = [
        "\n".join([f"──▶ {named_entry.title}", *_items(named_entry)])
        for named_entry in named_entries(file)
    ]
    return Counted([": ".join(line) for line in file.header], messages)


def _items(named_entry: NamedEntry) -> Iterator[str]:
    """Yield the sections, blocks and cache marks of a message, each with its text."""
    items = dict(zip(named_entry.item_indices, named_entry.parts, strict=True))
    items |= {cache_mark.item_index: cache_mark for cache_mark in named_entry.cache_marks}
    yield from (_lines(items[index].sign, items[index].text) for index in sorted(items))


def _lines(sign: str, text: str) -> str:
    return "\n".join(filter(None, (sign, text)))


def applied_to(before: PromptFile, changes: Sequence[Change]) -> Counted:
    """Return what changes make of a file, by their positions and texts alone."""
    header = [change for change in changes if change.location[0] == "header"]
    other_changes = [change for change in changes if change.location[0] != "header"]
    messages = [
        change for change in other_changes if len(change.before_at or change.after_at or ()) == 1
    ]
    items = [
        change for change in other_changes if len(change.before_at or change.after_at or ()) == 2
    ]

    lines: Texts = {(n,): ": ".join(line) for n, line in enumerate(before.header)}
    titles: Texts = {(n,): f"──▶ {file_entry.title}" for n, file_entry in enumerate(before.entries)}
    texts: Texts = {
        (n, item_index): text
        for n, file_entry in enumerate(named_entries(before))
        for item_index, text in enumerate(_items(file_entry))
    }
    header_order, message_order = _order([*lines], header), _order([*titles], messages)
    positions = [*texts]
    _edit(lines, header)
    _edit(titles, messages)
    _edit(texts, items)
    new_header = [lines[key] for key in header_order]
    new_messages: list[str] = []
    for message_index, key in enumerate(message_order):
        positions_in_message = [change for change in positions if change[:1] == key]
        # An added message has all its items already.
        item_order = _order(positions_in_message, items, message_index) if key[0] != "new" else []
        new_messages.append("\n".join([titles[key], *(texts[change] for change in item_order)]))
    return Counted(new_header, new_messages)


def _edit(texts: Texts, changes: Iterable[Change]) -> None:
    """Change texts at their position before; those that came are put beside them."""
    for change in changes:
        if change.before_at is None:
            earlier_text = texts.get(("new", change.after_at))
            texts["new", change.after_at] = (
                change.after if earlier_text is None else _lines(earlier_text, change.after or "")
            )
        elif change.after_at is not None and change.after is not None and change.before is not None:
            text = texts[change.before_at]
            sign = text.partition("\n")[0]
            if change.kind in ("renamed", "role", "cache"):
                assert text.startswith(change.before)
                texts[change.before_at] = change.after + text[len(change.before) :]
            elif text == change.before:
                texts[change.before_at] = change.after
            else:
                assert text == _lines(sign, change.before)
                texts[change.before_at] = _lines(sign, change.after)


def _order(keys: Sequence[object], changes: Sequence[Change], message: int | None = None) -> list:
    """Return the keys in the order after changes, of the items of one message or of all."""
    moving = [change for change in changes if change.kind in ("added", "removed", "moved", "cache")]
    old_positions = {change.before_at for change in moving}
    order = [key for key in keys if key not in old_positions]
    new_positions = {
        change.after_at: change.before_at or ("new", change.after_at)
        for change in moving
        if change.after_at
    }
    for position in sorted(
        position for position in new_positions if message in (None, position[0])
    ):
        order.insert(position[-1], new_positions[position])
    return order
