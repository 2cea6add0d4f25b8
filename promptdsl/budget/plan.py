"""A plan: what a prompt needs, what may go, and the tree that is left for a limit."""

from collections.abc import Iterator, Sequence
from itertools import chain

import attrs

from promptdsl.budget.choose import Choice, Order
from promptdsl.budget.dropped import Dropped, Needed, dropped_by, needed_by
from promptdsl.budget.histories import Cuts, cuts_of, heard
from promptdsl.budget.measure_protocol import Measure, frame_tokens
from promptdsl.budget.pairs import last_question, pair_units
from promptdsl.budget.places import TreePlace, changed, first_forms
from promptdsl.budget.scan import Entry, Scan, scan
from promptdsl.budget.units import Past
from promptdsl.messages.message import Message, spoken
from promptdsl.tree.group_nodes import ConversationNode, GroupNode
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import remember
from promptdsl.tree.turn_nodes import RecordedNode


@attrs.frozen(eq=False)
class Fitted:
    """A tree that was fitted, and the tokens that were saved."""

    tree: Node
    saved: int
    _choice: Choice
    _entries: Sequence[Entry]

    def dropped(self) -> tuple[Dropped, ...]:
        """Return what is missing, in the order of the document."""
        return dropped_by(self._choice, self._entries)


class Plan:
    """What may go of a prompt to make room, and in which order. It is made once for all limits.

    ``total`` are the tokens of all of it, ``spare`` those that may go.
    """

    def __init__(self, root: Node, measure: Measure) -> None:
        self.root = root
        self.measure = measure
        self._scan = scan(root, measure)
        self.total = sum(entry.tokens for entry in self._scan.entries)
        _cut_histories(self._scan)
        self._order = Order(self._scan.units)
        self.spare = self._order.all

    def need(self, limit: int) -> int:
        """Return how many tokens have to go for the rest to be within a limit, by the plan."""
        return self.total + frame_tokens(self.root, self.measure) - limit

    def fit(self, need: int, step: int | None = None) -> Fitted:
        """Return the tree without at least ``need`` tokens, or all that may go if that is less.

        The cut of a conversation moves by ``step`` tokens where it does not say by how many.
        """
        choice = self._order.choose(min(need, self.spare), step)
        tree = changed(self._scan.root, [*_decided(choice)])
        return Fitted(first_forms(tree), choice.saved, choice, self._scan.entries)

    def saves(self, need: int, step: int | None = None) -> int:
        """Return how many tokens :meth:`fit` saves."""
        return self._order.choose(min(need, self.spare), step).saved

    def needed(self) -> tuple[Needed, ...]:
        """Return what has to stay, the largest first."""
        return needed_by(self._scan.entries, self._order.within)


def _decided(choice: Choice) -> Iterator[TreePlace]:
    for forms, number in choice.forms.values():
        forms.place.becomes(forms.node.content[forms.sizes[number][0]])
        yield forms.place
    for past, place in choice.cuts.values():
        if past.cuts is not None and place:
            past.place.becomes(past.cuts.kept(place))
            yield past.place
    for unit in choice.gone.values():
        for one in (unit, *unit.beside):
            one.place.becomes(None)
            yield one.place


def _cut_histories(found: Scan) -> None:
    """Find where the recorded conversations of a prompt may be cut."""
    tied = pair_units(found.entries)
    asked = last_question(found.entries)
    for number, entry in enumerate(found.entries):
        unit = entry.unit
        if isinstance(unit, Past):
            # What comes after the last question stays, but for the oldest rounds.
            required = 0 <= asked <= number or number in tied.calling
            answers = number in tied.answering
            unit.cuts = _cuts(entry, found.measure, required=required, answers=answers)
        elif unit is not None and 0 <= asked <= number and isinstance(unit.node, GroupNode):
            # Its own number may send the last question away; one of what is beside it may not.
            unit.stays = unit.stays or unit.node.priority is None


def _cuts(entry: Entry, measure: Measure, *, required: bool, answers: bool) -> Cuts:
    node: ConversationNode = entry.place.node
    if len(node.content) == 1 and isinstance(node.content[0], RecordedNode):
        tokens: Sequence[int] = measure.messages(node.content[0])
        known = remember(node.content[0], heard, heard)
    else:
        tokens = [*chain.from_iterable(_tokens(one, measure) for one in node.content)]
        known = heard([*chain.from_iterable(map(_said, node.content))])
    return cuts_of(node, tokens, known, required=required, answers=answers)


def _tokens(one: Node, measure: Measure) -> Sequence[int]:
    return measure.messages(one) if isinstance(one, RecordedNode) else [measure.turn(one)[0]]


def _said(one: Node) -> Sequence[Message]:
    return one.items if isinstance(one, RecordedNode) else (_ELSE,)


_ELSE = spoken("ephemeral", "")
"""The message in the place of an event or a request-only turn: nobody speaks."""
