"""The first difference: the node in which two prompts differ first, as an author wrote it."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, takewhile
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.source import Source
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages import TextBlock
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.messages.roles import FLEETING
from promptdsl.rendering.reports.cache_order import GAP, common
from promptdsl.rendering.reports.message_parts import (
    Key,
    MessagePart,
    MessageParts,
    TextPiece,
    unmarked,
)
from promptdsl.rendering.reports.outcome import Outcome

How: TypeAlias = Literal["changed", "added", "removed", "moved", "appended"]


@attrs.frozen
class Difference:
    """Where two prompts differ first.

    ``how`` says what was done to it: ``changed``, ``added``, ``removed``, ``moved``, or
    ``appended`` after all there was. ``source`` is the line that wrote it; a part that was removed
    has the line of the first prompt.
    """

    how: How
    what: str
    path: str
    source: Source | None = None

    def __str__(self) -> str:
        path = f" ({self.path})" if self.path and self.path not in self.what else ""
        source = f": {self.source}" if self.source else ""
        return on_one_line(f"{self.what}{path} was {self.how}{source}")


def first_difference(before: Outcome, after: Outcome) -> Difference | None:
    """Return where two prompts differ first, marks aside; ``None`` where they say the same."""
    one, two = before.sent, after.sent
    found = _tools(one.tools, two.tools)
    if found is not None:
        return found
    if one.output != two.output:
        output: Any = one.output if two.output is None else two.output
        how: How = "added" if one.output is None else "changed"
        how = "removed" if two.output is None else how
        return Difference(how, "form of the answer", output.name, output.source)
    return _messages(before, after, named=False) or _messages(before, after, named=True)


def _tools(one: Sequence[ToolDefinition], two: Sequence[ToolDefinition]) -> Difference | None:
    found = _first(one, two, lambda a, b: _bare(a) == _bare(b))
    if found is None:
        return None
    how, tool = found.how, (one if found.how == "removed" else two)[found.place]
    if how == "changed":
        names = [{tool.name for tool in tools} for tools in (one, two)]
        how = "moved" if all(tool.name in known for known in names) else how
        how = "changed" if one[found.place].name == tool.name else how
    how = "added" if how == "appended" else how
    return Difference(how, f"tool {tool.name!r}", tool.name, tool.source)


def _bare(tool: ToolDefinition) -> ToolDefinition:
    return attrs.evolve(tool, cache=None)


class _Found(NamedTuple):
    how: How
    place: int


def _first(
    one: Sequence[Any], two: Sequence[Any], is_same: Callable[[Any, Any], bool]
) -> _Found | None:
    """Return where two lists differ first, and how."""
    least = min(len(one), len(two))
    place = next((n for n in range(least) if not is_same(one[n], two[n])), least)
    if place == len(one):
        return None if place == len(two) else _Found("appended", place)
    if place == len(two) or any(is_same(one[n], two[place]) for n in range(place + 1, len(one))):
        return _Found("removed", place)
    if any(is_same(one[place], two[n]) for n in range(place + 1, len(two))):
        return _Found("added", place)
    return _Found("changed", place)


# Messages.


def _messages(before: Outcome, after: Outcome, *, named: bool) -> Difference | None:
    def is_same(one: Message, two: Message) -> bool:
        return _unmarked_content(one) == _unmarked_content(two) and (
            not named or one.name == two.name
        )

    found = _first(before.sent.messages, after.sent.messages, is_same)
    if found is None:
        return None
    how, number = found
    if how == "added" and before.sent.messages[number].kind in FLEETING:
        # It comes after all that was added, so it is not where a cache has it.
        return Difference("moved", *MessageParts.of(before, number).whole)
    if how != "changed":
        side = before if how == "removed" else after
        return Difference(how, *MessageParts.of(side, number).whole)
    old, new = MessageParts.of(before, number), MessageParts.of(after, number)
    if old.message.role == new.message.role:
        return _inside(old, new)
    if old.message.role == "system":
        return Difference("removed", *old.whole)
    return Difference("added" if new.message.role == "system" else how, *new.whole)


def _unmarked_content(message: Message) -> tuple[Any, ...]:
    """Return role and content without marks: two texts with a mark between them are one."""
    if message.plain is not None:
        return message.role, message.plain
    content: list[Any] = []
    for is_text, blocks in groupby(message.content, lambda block: isinstance(block, TextBlock)):
        if is_text:
            content.append(GAP.join(getattr(block, "text", "") for block in blocks))
        else:
            content += map(unmarked, blocks)
    return (message.role, *content)


def _inside(before: MessageParts, after: MessageParts) -> Difference:
    """Return where two messages of one role and one place differ first."""
    sides = [*before.pieces()], [*after.pieces()]
    length = common(*["".join([piece.text for piece in pieces]) for pieces in sides])
    old, new = (_piece_at(length, pieces) for pieces in sides)
    olds = before.around(old) if old else []
    news = after.around(new) if new else []
    old_keys, new_keys = before.keys(), after.keys()
    if not olds:
        return Difference("added", *_outermost(news or [after.whole], old_keys))
    if not news:
        return Difference("removed", *_outermost(olds, new_keys))
    # Another part comes next than before.
    was_there, is_there = news[0].key in old_keys, olds[0].key in new_keys
    if olds[0].key == news[0].key or was_there == is_there:
        moved = was_there and olds[0].key != news[0].key
        return Difference("moved" if moved else "changed", *news[0])
    if was_there:
        return Difference("removed", *_outermost(olds, new_keys))
    return Difference("added", *_outermost(news, old_keys))


def _outermost(around: Sequence[MessagePart], keys: set[Key]) -> MessagePart:
    """Return the largest part around a piece that the other prompt does not have."""
    unknown = [*takewhile(lambda part: part.key not in keys, around)]
    return unknown[-1] if unknown else around[0]


def _piece_at(length: int, pieces: Iterable[TextPiece]) -> TextPiece | None:
    """Return the piece that holds the character after so many, ``None`` at the end."""
    for piece in pieces:
        length -= len(piece.text)
        if length < 0:
            return piece
    return None
