"""What was dropped and what has to stay, in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs

from promptdsl.budget.choose import Choice
from promptdsl.budget.pairs import last_question
from promptdsl.budget.places import TreePlace
from promptdsl.budget.scan import Entry
from promptdsl.budget.units import Forms, Past, Unit
from promptdsl.foundation.source import Source
from promptdsl.tree.group_nodes import ConversationNode, FirstFitNode, FragmentNode
from promptdsl.tree.node import label
from promptdsl.tree.part_nodes import SectionNode
from promptdsl.tree.turn_nodes import RequestOnlyNode, ToolNode, TurnNode


@attrs.frozen
class Dropped:
    """Something a budget or a limit took away: what, its address, and how many tokens.

    ``priority`` is what it went by, ``None`` where nobody gave one; ``why`` says what was done,
    ``source`` is the author's file and line.
    """

    what: str
    path: str
    tokens: int
    priority: float | None
    why: str
    source: Source | None

    def __str__(self) -> str:
        place = f"{self.source}: " if self.source else ""
        path = f" ({self.path})" if self.path else ""
        return f"{place}{self.what}{path}, {in_tokens(self.tokens)}: {self.why}"


@attrs.frozen
class Needed:
    """Something that has to stay: what, how many tokens, and the author's file and line."""

    what: str
    tokens: int
    source: Source | None
    kind: Literal["question", "turn", "history", "part"] = "part"
    """The last user turn, another turn that could be recorded instead, a history, or else."""


def in_tokens(count: int) -> str:
    """Return a number of tokens in words."""
    return f"{count:,} token{'' if count == 1 else 's'}"


def dropped_by(choice: Choice, entries: Sequence[Entry]) -> tuple[Dropped, ...]:
    """Return what a choice drops or makes smaller, in the order of what is sent.

    Their tokens are all that the choice saves.
    """
    addresses = _addresses(entries)
    gone = [one for unit in choice.gone.values() for one in (unit, *unit.beside)]
    places = {id(unit.place) for unit in gone}
    found = [(u.place, _left_out(u, addresses)) for u in gone if not _is_within(u.place, places)]
    for forms, number in choice.forms.values():
        if id(forms.place) not in places and not _is_within(forms.place, places) and number:
            found.append((forms.place, _shrunk(forms, number, addresses)))
    found += [(p.place, _cut(p, place)) for p, place in choice.cuts.values() if place]
    for holder in choice.emptied_holders():
        if id(holder) not in places and not _is_within(holder, places):
            found.append((holder, _emptied(holder, addresses)))
    return tuple(one for _, one in sorted(found, key=_standing) if one.tokens)


def _standing(found: tuple[TreePlace, Dropped]) -> tuple[int, ...]:
    """Return a key that sorts places in the order of the document."""
    indices: list[int] = []
    one: TreePlace | None = found[0]
    while one is not None:
        indices.append(one.index)
        one = one.parent
    return tuple(reversed(indices))


def _is_within(place: TreePlace, places: set[int]) -> bool:
    around = place.parent
    while around is not None:
        if id(around) in places:
            return True
        around = around.parent
    return False


def _left_out(unit: Unit, addresses: Mapping[int, str]) -> Dropped:
    priority = unit.priority
    why = f"there is no room for it, its priority is {priority}"
    if unit.follows:
        why = "it goes with the calls or results it belongs to"
    return _dropped(unit.place, addresses, tokens=unit.tokens, priority=priority, why=why)


def _shrunk(forms: Forms, number: int, addresses: Mapping[int, str]) -> Dropped:
    form, tokens = forms.sizes[number]
    why = f"form {form + 1} of {len(forms.node.content)} is sent"
    saved = forms.sizes[0][1] - tokens
    return _dropped(forms.place, addresses, tokens=saved, priority=forms.node.priority, why=why)


def _emptied(holder: TreePlace, addresses: Mapping[int, str]) -> Dropped:
    return _dropped(
        holder, addresses, tokens=holder.shell, priority=None, why="nothing is left in it"
    )


def _cut(past: Past, place: int) -> Dropped:
    cuts: Any = past.cuts
    gone = min(place, cuts.rounds - 1)
    parts = [f"its oldest {gone} exchanges" if gone > 1 else "its oldest exchange"] if gone else []
    if cuts.is_among_rounds(place):
        rounds = place - cuts.rounds + 1
        first = f"the first {rounds} rounds" if rounds > 1 else "the first round"
        parts.append(f"{first} of its last exchange")
    elif cuts.places[place] == cuts.size:
        parts = ["it"]
    why = f"there is no room for {' and '.join(parts)}"
    node: ConversationNode = past.node
    return Dropped("history", "history", cuts.saved[place], node.priority, why, node.source)


def _dropped(
    place: TreePlace,
    addresses: Mapping[int, str],
    *,
    tokens: int,
    priority: float | None,
    why: str,
) -> Dropped:
    node = place.node
    return Dropped(described(node), _path(place, addresses), tokens, priority, why, node.source)


def described(node: Any) -> str:
    """Return what a node is, in a word or two."""
    if isinstance(node, SectionNode):
        return f"section {node.options.id!r}"
    if isinstance(node, ToolNode):
        return f"tool {node.definition.name!r}"
    if isinstance(node, TurnNode):
        return f"{node.role} turn"
    return "first fit" if isinstance(node, FirstFitNode) else label(node).lower()


# Addresses.


def _path(place: TreePlace, addresses: Mapping[int, str]) -> str:
    """Return the address of a node: the turn it is in, and the ids of the sections around it."""
    ids: list[str] = []
    one: TreePlace | None = place
    while one is not None and id(one) not in addresses:
        if isinstance(one.node, SectionNode):
            ids.append(str(one.node.options.id))
        one = one.parent
    head = addresses[id(one)] if one is not None else ""
    return "/".join([*([head] if head else []), *reversed(ids)])


def _addresses(entries: Sequence[Entry]) -> dict[int, str]:
    """Return the address of every entry by the id of its place."""
    counts: dict[str, int] = {}
    found: dict[int, str] = {}
    for entry in entries:
        names = [_address(turn, counts) for turn in _turns(entry.place.node)]
        found[id(entry.place)] = next((name for name in names if name), "")
    return found


def _turns(node: Any) -> Iterator[Any]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, FirstFitNode):
            waiting += one.content[:1]
        elif isinstance(one, FragmentNode) and not isinstance(one, ConversationNode):
            waiting += reversed(one.content)
        else:
            yield one


def _address(node: Any, counts: dict[str, int]) -> str:
    if isinstance(node, SectionNode):
        return str(node.options.id)
    if isinstance(node, ConversationNode):
        return "history"
    head = "ephemeral" if isinstance(node, RequestOnlyNode) else getattr(node, "role", "")
    number = counts.get(head, 0)
    counts[head] = number + 1
    if not head or head == "system":
        return ""
    return str(node.options.id) if node.options.id else f"{head}[{number}]"


# What stays.


def needed_by(entries: Sequence[Entry], saved: Mapping[int, int]) -> tuple[Needed, ...]:
    """Return what has to stay, the largest first.

    ``saved`` is by the id of a place in the timeline how many tokens may go there.
    """
    asked = last_question(entries)
    found = [
        _stays(entry, saved.get(id(entry.place), 0), is_last=number == asked)
        for number, entry in enumerate(entries)
    ]
    return tuple(sorted((one for one in found if one.tokens), key=lambda one: -one.tokens))


def _stays(entry: Entry, saved: int, *, is_last: bool) -> Needed:
    node = entry.place.node
    kind: Literal["question", "turn", "history", "part"] = "part"
    if isinstance(node, ConversationNode):
        kind = "history"
    elif isinstance(node, TurnNode) and node.role in ("user", "assistant", "tool"):
        kind = "question" if is_last else "turn"
    return Needed(described(node), max(entry.tokens - saved, 0), node.source, kind)
