"""Differences: the first node in which two prompts differ, as an author wrote it."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, takewhile
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.source import Source
from promptdsl.messages import TextBlock
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.messages.roles import FLEETING
from promptdsl.rendering.reports.cache_order import GAP, common
from promptdsl.rendering.reports.outcome import Outcome, on_one_line
from promptdsl.rendering.reports.places import Key, Leaf, Place, Spoken, unmarked

How: TypeAlias = Literal["changed", "added", "removed", "moved", "appended"]


@attrs.frozen
class Difference:
    """Where two prompts differ first.

    ``how`` says what was done to it: ``changed``, ``added``, ``removed``, ``moved``, or
    ``appended`` behind all there was. ``source`` is the line that wrote it, of what was removed the
    line it had.
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
        how, said = _told(one.output, two.output)
        return Difference(how, "form of the answer", said.name, said.source)
    return _messages(before, after, named=False) or _messages(before, after, named=True)


def _told(one: Any, two: Any) -> tuple[How, Any]:
    if two is None:
        return "removed", one
    return ("added" if one is None else "changed"), two


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
    """Return where two lists differ first, and what was done there."""
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
        return _said(one) == _said(two) and (not named or one.name == two.name)

    found = _first(before.sent.messages, after.sent.messages, is_same)
    if found is None:
        return None
    how, number = found
    if how == "added" and before.sent.messages[number].kind in FLEETING:
        # It stands behind all that was added, so it is not where a cache has it.
        return Difference("moved", *Spoken.of(before, number).place)
    if how != "changed":
        return Difference(how, *Spoken.of(before if how == "removed" else after, number).place)
    old, new = Spoken.of(before, number), Spoken.of(after, number)
    if old.message.role == new.message.role:
        return _inside(old, new)
    if old.message.role == "system":
        return Difference("removed", *old.place)
    return Difference("added" if new.message.role == "system" else how, *new.place)


def _said(message: Message) -> tuple[Any, ...]:
    """Return what a message says, without marks: two texts with one between them are one."""
    if message.plain is not None:
        return message.role, message.plain
    said: list[Any] = []
    for is_text, blocks in groupby(message.content, lambda block: isinstance(block, TextBlock)):
        if is_text:
            said.append(GAP.join(getattr(block, "text", "") for block in blocks))
        else:
            said += map(unmarked, blocks)
    return (message.role, *said)


def _inside(before: Spoken, after: Spoken) -> Difference:
    """Return where two messages of one role differ first, that stand in the same place."""
    sides = [*before.leaves()], [*after.leaves()]
    length = common(*["".join([leaf.text for leaf in leaves]) for leaves in sides])
    old, new = (_behind(leaves, length) for leaves in sides)
    olds = before.chain(old) if old else []
    news = after.chain(new) if new else []
    if olds and news:
        return _between(olds, news, before.known(), after.known())
    if olds:
        return Difference("removed", *_outermost(olds, after.known()))
    return Difference("added", *_outermost(news or [after.place], before.known()))


def _between(
    olds: Sequence[Place], news: Sequence[Place], before: set[Key], after: set[Key]
) -> Difference:
    """Return what was done where another part stands than before; the parts around them behind."""
    old, new = olds[0], news[0]
    was_there, is_there = new.key in before, old.key in after
    if old.key == new.key or was_there == is_there:
        moved = was_there and old.key != new.key
        return Difference("moved" if moved else "changed", *new)
    if was_there:
        return Difference("removed", *_outermost(olds, after))
    return Difference("added", *_outermost(news, before))


def _outermost(chain: Sequence[Place], known: set[Key]) -> Place:
    """Return the largest part around a piece that the other prompt does not have."""
    unknown = [*takewhile(lambda place: place.key not in known, chain)]
    return unknown[-1] if unknown else chain[0]


def _behind(leaves: Iterable[Leaf], length: int) -> Leaf | None:
    """Return the piece that holds the character behind so many, ``None`` at the end."""
    for leaf in leaves:
        length -= len(leaf.text)
        if length < 0:
            return leaf
    return None
