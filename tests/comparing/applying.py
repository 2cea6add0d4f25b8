"""The changes of a diff, applied to the first prompt: what they say is all that changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from promptdsl.comparing import Change, PromptFile
from tests.internals import NamedEntry, named

Position: TypeAlias = tuple[int, ...]
Texts: TypeAlias = dict[object, str]
"""Texts by their position before, or, of those that came, by their change."""


class Counted(NamedTuple):
    """A prompt as changes count it: the lines of the header, and the text of each message."""

    header: list[str]
    messages: list[str]


def counted(file: PromptFile) -> Counted:
    """Return a file as changes count it."""
    messages = ["\n".join([f"──▶ {entry.title}", *_items(entry)]) for entry in named(file)]
    return Counted([": ".join(line) for line in file.header], messages)


def _items(entry: NamedEntry) -> Iterator[str]:
    """Yield the sections, blocks and cache marks of a message, each with its text."""
    items = dict(zip(entry.items, entry.parts, strict=True))
    items |= {mark.item: mark for mark in entry.cache}
    yield from (_lines(items[number].mark, items[number].text) for number in sorted(items))


def _lines(mark: str, text: str) -> str:
    return "\n".join(filter(None, (mark, text)))


def applied_to(before: PromptFile, changes: Sequence[Change]) -> Counted:
    """Return what changes make of a file, by their positions and texts alone."""
    header = [change for change in changes if change.location[0] == "header"]
    beside = [change for change in changes if change.location[0] != "header"]
    messages = [it for it in beside if len(it.before_at or it.after_at or ()) == 1]
    items = [it for it in beside if len(it.before_at or it.after_at or ()) == 2]

    lines: Texts = {(n,): ": ".join(line) for n, line in enumerate(before.header)}
    titles: Texts = {(n,): f"──▶ {entry.title}" for n, entry in enumerate(before.entries)}
    texts: Texts = {
        (n, place): item
        for n, entry in enumerate(named(before))
        for place, item in enumerate(_items(entry))
    }
    header_order, message_order = _order([*lines], header), _order([*titles], messages)
    places = [*texts]
    _edit(lines, header)
    _edit(titles, messages)
    _edit(texts, items)
    new_header = [lines[key] for key in header_order]
    new_messages: list[str] = []
    for number, key in enumerate(message_order):
        here = [it for it in places if it[:1] == key]
        # An added message has all its items already.
        inside = _order(here, items, number) if key[0] != "new" else []
        new_messages.append("\n".join([titles[key], *(texts[it] for it in inside)]))
    return Counted(new_header, new_messages)


def _edit(texts: Texts, changes: Iterable[Change]) -> None:
    """Change texts at their position before; those that came are put beside them."""
    for it in changes:
        if it.before_at is None:
            known = texts.get(("new", it.after_at))
            texts["new", it.after_at] = it.after if known is None else _lines(known, it.after or "")
        elif it.after_at is not None and it.after is not None and it.before is not None:
            text = texts[it.before_at]
            mark = text.partition("\n")[0]
            if it.kind in ("renamed", "role", "cache"):
                assert text.startswith(it.before)
                texts[it.before_at] = it.after + text[len(it.before) :]
            elif text == it.before:
                texts[it.before_at] = it.after
            else:
                assert text == _lines(mark, it.before)
                texts[it.before_at] = _lines(mark, it.after)


def _order(keys: Sequence[object], changes: Sequence[Change], message: int | None = None) -> list:
    """Return the keys in the order after changes, of the items of one message or of all."""
    moving = [it for it in changes if it.kind in ("added", "removed", "moved", "cache")]
    gone = {it.before_at for it in moving}
    order = [key for key in keys if key not in gone]
    coming = {it.after_at: it.before_at or ("new", it.after_at) for it in moving if it.after_at}
    for at in sorted(at for at in coming if message in (None, at[0])):
        order.insert(at[-1], coming[at])
    return order
