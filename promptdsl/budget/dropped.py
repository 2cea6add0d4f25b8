"""What a budget drops, and the report about it.

The choice comes first: which units are dropped, cut or replaced, and which come back. Then the
reports: the parts that were dropped, and the parts that have to stay.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.budget.budget import Measure
from promptdsl.budget.histories import CutPoints
from promptdsl.budget.units import (
    LAST,
    Action,
    Alternatives,
    ConversationUnit,
    Cut,
    Drop,
    Entry,
    Shrink,
    Slot,
    Unit,
    first_alternatives,
    last_question,
    turns_in,
)
from promptdsl.foundation.errors import counted
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.old_names import OldAttribute
from promptdsl.foundation.source import Source
from promptdsl.tokens.payloads import OWN
from promptdsl.tree.masks import MEDIA, SHIFT
from promptdsl.tree.node import Node, in_words, label
from promptdsl.tree.part_nodes import SectionNode
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import (
    ConversationNode,
    FirstFitNode,
    RecordedNode,
    RequestOnlyNode,
    ToolNode,
    TurnNode,
)

# The choice of a budget: which parts are dropped, cut or replaced, and which come back.
#
# The order: of neighbouring units the one with the lowest priority goes first, of equal priorities
# one that no cache mark of the author follows (so a cache still serves the others), of these the
# first in the document. The units inside a unit go directly before it.
#
# An example of three units: a hint (1) of 50 tokens, a conversation (2) of 300 that is cut in
# steps, a log (3) of 500. The actions in their order are: drop the hint, cut the conversation, drop
# the log. They save 50, 350 and 850 tokens in all; a bisection of these sums finds how many are
# needed.
#
# - 40 tokens too many: the hint is dropped. Nothing fits into the 10 tokens that are left over.
# - 150 too many: the hint is dropped, and the conversation is cut, at the end of a step. The tokens
#   left over stay free. Without steps the cut saves no more than is missing, and then the hint
#   comes back if there is room for it.
# - 400 too many: all three actions are done, and 450 tokens are left over. Then actions are undone
#   where there is room, the last one first: the log (500) does not fit, the conversation and the
#   hint come back. So the drop of one large part does not also drop the small ones.
#
# Read first ``actions_of``, then ``Order.choose``.


def actions_of(units: Iterable[Unit]) -> Iterator[Action]:
    """Yield the actions that make room, the lowest priority first.

    The actions inside a unit come before the drop of the unit itself.
    """
    stack: list[Unit | Drop] = [*_stacked(unit for unit in units if not unit.is_linked)]
    while stack:
        unit = stack.pop()
        if isinstance(unit, Drop):
            yield unit
        elif isinstance(unit, ConversationUnit):
            if unit.cuts.last > 0:
                yield Cut(unit, unit.cuts.saved[-1])
        else:
            if isinstance(unit, Alternatives):
                for number in range(1, len(unit.sizes)):
                    larger, smaller = unit.sizes[number - 1][1], unit.sizes[number][1]
                    yield Shrink(unit, number, larger - smaller)
            if unit.priority < LAST and not unit.required and not unit.is_linked:
                stack.append(Drop(unit))
            if unit.inner:
                stack += _stacked(unit.inner)


def _stacked(units: Iterable[Unit]) -> list[Unit]:
    """Return units as a stack: the unit that is dropped first is the last element."""
    return sorted(units, key=attrgetter("rank"), reverse=True)


@attrs.define(eq=False)
class Choice:
    """The actions that are done to a prompt, and the tokens that they save."""

    saved: int = 0
    """The tokens of what is left out, each message with a frame of its own."""
    dropped: set[Unit] = attrs.field(factory=set[Unit])
    """The units that are dropped together with the units linked to them."""
    shrunk: dict[Alternatives, int] = attrs.field(factory=dict[Alternatives, int])
    """By unit, the index of the alternative among its sizes."""
    cuts: dict[ConversationUnit, int] = attrs.field(factory=dict[ConversationUnit, int])
    """By unit, the point of the cut."""
    live: dict[Slot, int] = attrs.field(factory=dict[Slot, int])
    """By container, the count of its parts left. Only containers that lost a part are in it."""
    refused: dict[Unit, int] = attrs.field(factory=dict[Unit, int])
    """By unit for which there is no room: the tokens that would stay saved if it came back."""

    def do(self, action: Action) -> None:
        """Do an action."""
        if isinstance(action, Cut):
            self.cut(action.unit, action.unit.cuts.last)
        elif isinstance(action, Shrink):
            self.shrink(action.unit, action.number)
        else:
            self.dropped.add(action.unit)
            self._move(action, 1)

    def put_back(self, action: Drop) -> None:
        """Undo a drop."""
        self.dropped.discard(action.unit)
        self._move(action, -1)

    def _move(self, action: Drop, gone: int) -> None:
        """Take a unit and its linked units out (``gone`` is 1), or put them back (-1).

        A container is taken out with the last of its parts, and put back with the first.
        """
        self.saved += gone * action.saves
        for unit in (action.unit, *action.unit.linked_units):
            # Another slot was taken out before, with the last of its parts.
            if not unit.slot.fixed:
                continue
            for container in unit.slot.containers:
                before = self.live.get(container, container.live)
                self.live[container] = after = before - gone
                if min(before, after) or container.fixed:
                    break
                self.saved += gone * container.container_tokens

    def shrink(self, unit: Alternatives, number: int) -> None:
        """Send the alternative with index ``number`` in ``unit.sizes``."""
        self.saved += unit.sizes[self.shrunk.get(unit, 0)][1] - unit.sizes[number][1]
        self.shrunk[unit] = number

    def cut(self, unit: ConversationUnit, point: int) -> None:
        """Cut a conversation at a point."""
        cuts = unit.cuts
        self.saved += cuts.saved[point] - cuts.saved[self.cuts.get(unit, 0)]
        self.cuts[unit] = point

    def cut_back(self, unit: ConversationUnit, need: int) -> None:
        """Cut a conversation only so far that all actions together save ``need`` tokens."""
        others = self.saved - unit.cuts.saved[self.cuts.get(unit, 0)]
        self.cut(unit, unit.cuts.point(need - others))

    def next_back(self, free: int) -> tuple[Unit | None, int]:
        """Return the unit that comes back first in a larger budget, and the tokens that it lacks.

        ``free`` are the tokens of the budget that the request leaves free. Parts that came back
        after the unit was refused may go for it. It is not certain: where neighbours merge, a
        request has fewer tokens than its parts. ``None`` where a history is cut: a cut moves in
        steps.
        """
        if not self.refused or any(self.cuts.values()):
            return None, 0
        unit = max(self.refused, key=self.refused.__getitem__)
        return unit, max(self.saved - free - self.refused[unit], 1)


class Order:
    """The actions that make room, in order, and the sums of the tokens they save."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self.actions: Sequence[Action] = [*actions_of(units)]
        self.saved = [0]
        """The tokens saved by the first 0, 1, 2... actions."""
        self.earlier_excess = 0
        """By how many tokens an earlier request of a cleared history was longer than this one."""
        trial = Choice()
        inside: dict[Unit, int] = {}  # by unit, the tokens saved by the actions inside it
        for action in self.actions:
            unit, around = action.unit, action.unit.around
            if isinstance(action, Drop) and unit.slot.fixed:
                action.saves = unit.tokens - inside.get(unit, 0)
                for linked in unit.linked_units:
                    action.saves += linked.tokens
            before = trial.saved
            if isinstance(action, Cut) and action.unit.cuts.clearing:
                longer = [request.more for request in action.unit.cuts.clearing.longer]
                self.earlier_excess = max(self.earlier_excess, *longer, 0)
            trial.do(action)
            saved = trial.saved - before
            self.saved.append(trial.saved)
            # A unit is dropped after everything inside it, so the sum of its parts is complete.
            if isinstance(unit, Alternatives):
                inside[unit] = inside.get(unit, 0) + saved
            else:
                saved += inside.get(unit, 0)
            if around is not None:
                inside[around] = inside.get(around, 0) + saved

    def droppable_in(self) -> dict[Slot, int]:
        """Return the tokens that may be dropped, by slot of the timeline or directly in a turn."""
        inside: dict[Slot, int] = {}
        for action, (before, after) in zip(self.actions, pairwise(self.saved), strict=True):
            unit = action.unit
            for slot in {unit.entry, unit.slot.part}:
                inside[slot] = inside.get(slot, 0) + after - before
            for linked in unit.linked_units:
                inside[linked.entry] = inside.get(linked.entry, 0) + linked.tokens
        return inside

    def choose(self, need: int) -> Choice:
        """Return the choice that saves at least ``need`` tokens, or all that can be saved."""
        choice = Choice()
        # If an earlier, longer request needed a cut, the cut stays.
        needed = need + self.earlier_excess
        if needed <= 0:
            return choice
        count = bisect_left(self.saved, min(needed, self.saved[-1]))
        for action in self.actions[:count]:
            choice.do(action)
        _put_back(choice, self.actions[:count], need)
        return choice


def _put_back(choice: Choice, actions: Sequence[Action], need: int) -> None:
    """Undo actions while ``need`` tokens stay saved, the last action first.

    It ends at the first conversation that stays cut in steps. The tokens left over stay free: a
    part that is put back there would come and go from one request to the next.
    """
    for action in reversed(actions):
        if isinstance(action, Cut):
            choice.cut_back(action.unit, need)
            if choice.cuts[action.unit] and action.unit.cuts.step:
                return
        elif action.unit.around in choice.dropped:
            continue  # it comes back only with the unit around it
        elif isinstance(action, Shrink):
            unit, number = action.unit, action.number
            if choice.shrunk.get(unit, 0) == number and unit not in choice.dropped:
                choice.shrink(unit, number - 1)
                if choice.saved < need:
                    choice.shrink(unit, number)
        else:
            choice.put_back(action)
            if choice.saved < need:
                choice.refused[action.unit] = choice.saved
                choice.do(action)


# Reports of a budget: the parts it dropped, and the parts that have to stay.

EMPTY = "nothing is left in it"
"""The reason of a container that is dropped because all of its parts are."""
INSIDE = 3
"""The most parts of a part that an error names."""
AUTHOR_WORDS = ("grounding", "ephemeral", "event")
"""The author's words for turns that are sent in the role of another turn."""
WRITTEN_ROLES = ("system", "developer", "user", "assistant", "tool")
"""The roles that are the author's words for a turn, too."""
SHOWN = 80
"""The most characters of a part's own text in its report."""


@attrs.frozen
class Dropped:
    """A part that a budget or a :class:`Limit` dropped, cut or replaced by a smaller alternative.

    A tool call or a result that ``tool_pairing`` removed is reported, too; ``text`` is then its
    complete text. ``what`` names the part, ``path`` is its address in the prompt. ``tokens`` is the
    number of its tokens that are left out; neighbours that merge share a frame, so the request may
    get shorter by a few tokens more or fewer. ``priority`` is the priority of the part, ``None``
    without one. ``why`` is the reason in words, ``source`` the author's file and line.
    :attr:`Rendered.dropped` lists them.

    >>> from promptdsl import Section, System, Timeline, User, render
    >>> note = Section("note", "A long note.", priority=1)
    >>> prompt = Timeline(System("Be kind.", note), User("Hi."))
    >>> for part in render(prompt, budget=40, counter=len).dropped:
    ...     print(part.path, part.tokens, part.why)
    note 14 there is no room for it, its priority is 1
    """

    what: str
    path: str
    tokens: int
    priority: float | None
    why: str
    source: Source | None
    text: str = ""
    gone: tuple[object, ...] = attrs.field(default=(), eq=False, repr=False, kw_only=True)
    """The nodes and recorded messages that are not sent, or not completely: for a record."""
    note: str = attrs.field(default="", eq=False, kw_only=True)
    """What the step of a cut costs this request; or that the part is probably the next to come
    back in a larger budget, with the tokens that it lacks."""
    said = OldAttribute("Dropped.said")

    def __str__(self) -> str:
        location = f"{self.source}: " if self.source else ""
        text = self.text if len(self.text) <= SHOWN else f"{self.text[: SHOWN - 3]}..."
        quoted = f": {text!r}" if text else ""
        quoted += f" ({self.note})" if self.note else ""
        return (
            f"{location}{named(self.what, self.path)}, {in_tokens(self.tokens)}: {self.why}{quoted}"
        )


NeededKind: TypeAlias = Literal["question", "turn", "history", "part"]
"""The last user turn, another turn (it could be in a history), a history, any other part."""


@attrs.frozen
class Needed:
    """A part that has to stay: its name, its tokens, and the author's file and line.

    ``parts`` are the largest parts in it: sections of a turn, messages of a history.
    """

    what: str
    tokens: int
    source: Source | None
    kind: NeededKind = "part"
    parts: "tuple[Needed, ...]" = ()


def rows_of(needed: Iterable[Needed], required: int) -> list[JsonDict]:
    """Return the parts that have to stay as JSON data.

    Those of depth 0 add up to ``required``: the last of them is the target's own form, which is
    below 0 where it saves tokens.
    """
    rows: list[JsonDict] = []
    own = required
    for part in needed:
        own -= part.tokens
        rows += [_row(part, 0), *(_row(inner, 1) for inner in part.parts)]
    return [*rows, {"depth": 0, "what": OWN, "tokens": own}] if own else rows


def lines_of(rows: Sequence[JsonDict], most: int) -> str:
    """Return rows of parts as lines with their tokens first; those with no indent add up.

    After ``most`` parts there is a line for all others, and one for the target's own form.
    """
    outer = [index for index, row in enumerate(rows) if not row["depth"] and row["what"] != OWN]
    shown = [*rows]
    if len(outer) > most + 1:
        tokens = sum(rows[index]["tokens"] for index in outer[most:])
        rest: JsonDict = {"depth": 0, "what": f"{len(outer) - most:,} more", "tokens": tokens}
        shown = [*rows[: outer[most]], rest, *(row for row in rows[-1:] if row["what"] == OWN)]
    width = max((len(f"{row['tokens']:,}") for row in shown), default=0)
    lines: list[str] = []
    for row in shown:
        line = f"  {row['tokens']:>{width},}  {'  ' * row['depth']}{row['what']}"
        lines.append(f"{line}: {row['source']}" if "source" in row else line)
    return "\n".join(lines)


def _row(part: Needed, depth: int) -> JsonDict:
    row: JsonDict = {"depth": depth, "what": part.what, "tokens": part.tokens}
    return {**row, "source": str(part.source)} if part.source else row


def in_tokens(count: int) -> str:
    """Return a number of tokens in words."""
    return counted(count, "token", "tokens")


def named(what: str, path: str) -> str:
    """Return the name of a part with its address: ``grounding account``, ``history[2]``."""
    if path in ("", what, what.removeprefix("section ")) or what.endswith(f"'{path}'"):
        return what
    if path.startswith(f"{what}["):
        return path
    return f"{what} {path}" if what in AUTHOR_WORDS else f"{what} ({path})"


def described(node: Node) -> str:
    """Return the name of a node in a word or two."""
    if isinstance(node, SectionNode):
        return f"section {node.options.id}"
    if isinstance(node, ToolNode):
        return f"tool {node.definition.name!r}"
    if isinstance(node, TurnNode):
        return f"{node._word} turn" if node._word in WRITTEN_ROLES else node._word
    return in_words(label(node))


class _Report(NamedTuple):
    """What a choice did to the node of a slot."""

    slot: Slot
    tokens: int
    priority: float | None
    why: str
    note: str = ""


def dropped_by(choice: Choice, entries: Sequence[Entry], free: int) -> tuple[Dropped, ...]:
    """Return the parts that a choice drops or makes smaller, in the order of the document.

    ``free`` is the number of tokens that stay free.
    """
    dropped = {unit.slot for lead in choice.dropped for unit in (lead, *lead.linked_units)}
    reports = [*_reports(choice, dropped, free)]
    reports.sort(key=lambda report: [above.index for above in report.slot.ancestry])
    addresses = _addresses(entries)
    parts: list[Dropped] = []
    for slot, tokens, priority, why, note in reports:
        node, ancestry = slot.node, slot.ancestry
        sends_nothing = not tokens and not node._mask & MEDIA << SHIFT
        if sends_nothing or not dropped.isdisjoint(ancestry[:-1]):
            continue
        path = "/".join(filter(None, (_address_of(above, addresses) for above in ancestry)))
        gone: tuple[object, ...] = (node,)
        if isinstance(node, FirstFitNode):
            gone = node.content[:1]  # without a budget, the first alternative would be sent
        what, at = described(node), node.source
        parts.append(Dropped(what, path, tokens, priority, why, at, gone=gone, note=note))
    return tuple(parts)


def _reports(choice: Choice, dropped: Container[Slot], free: int) -> Iterator[_Report]:
    """Yield what a choice did to each slot; ``dropped`` are the slots of dropped units."""
    next_unit, lacking = choice.next_back(free)
    notes = {next_unit: f"probably the next to come back, with about {in_tokens(lacking)} more"}
    for lead in choice.dropped:
        why = f"there is no room for it, its priority is {lead.priority}"
        yield _Report(lead.slot, lead.tokens, lead.priority, why, notes.get(lead, ""))
        why = "it goes with the calls or results it belongs to"
        for unit in lead.linked_units:
            yield _Report(unit.slot, unit.tokens, unit.priority, why)
    for first_fit, number in choice.shrunk.items():
        if number and first_fit.slot not in dropped:
            index, tokens = first_fit.sizes[number]
            why = f"alternative {index + 1} of {len(first_fit.node.content)} is sent"
            saved = first_fit.sizes[0][1] - tokens
            yield _Report(first_fit.slot, saved, first_fit.node.priority, why)
    for container, left in choice.live.items():
        # A container without parts is dropped with the text around its parts, if there is any.
        stays = left or container.fixed or not container.container_tokens
        if not stays and container not in dropped:
            yield _Report(container, container.container_tokens, None, EMPTY)
    for history, point in choice.cuts.items():
        if point:
            why, note = _lost_by_cut(history.cuts, point), _step_cost(history.cuts, point, free)
            yield _Report(history.slot, history.cuts.saved[point], history.priority, why, note)


def _address_of(slot: Slot, addresses: Mapping[Slot, str]) -> str:
    """Return the address of an entry, or the id of a section in it; empty for neither."""
    if slot in addresses:
        return addresses[slot]
    return str(slot.node.options.id) if isinstance(slot.node, SectionNode) else ""


def _step_cost(cuts: CutPoints, point: int, free: int) -> str:
    """Return in words what the step of a cut costs; empty if nothing more would fit without it."""
    if cuts.clearing or not cuts.step:
        return ""  # the step is that of clearing, too
    more = point - bisect_left(cuts.saved, cuts.saved[point] - free)
    if more <= 0:
        return ""
    kept = "round" if point - more >= cuts.first_round_point else "exchange"
    what = f"{more} {kept}{'' if more == 1 else 's'} more"
    return f"{in_tokens(free)} free: the cut moves in steps of {cuts.step:,}; step=0 keeps {what}"


def _lost_by_cut(cuts: CutPoints, point: int) -> str:
    """Return in words what a cut drops of a conversation, and which results are cleared."""
    cleared = ""
    if cuts.clearing and cuts.clears:
        clear_before = cuts.clearing.clear_points[min(point, cuts.clears)]
        cleared = cuts.clearing.summary(clear_before, cuts.ranges(point))
    if point <= cuts.clears:
        return cleared
    exchanges = min(point, cuts.first_round_point - 1) - cuts.clears
    parts: list[str] = []
    if exchanges:
        parts = [f"its oldest {exchanges} exchanges" if exchanges > 1 else "its oldest exchange"]
    if cuts.is_between_rounds(point):
        rounds = point - cuts.first_round_point + 1
        first = f"the first {rounds} rounds" if rounds > 1 else "the first round"
        parts.append(f"{first} of its last exchange")
    elif cuts.starts[point] == cuts.size:
        parts = ["it"]
    lost = f"there is no room for {' and '.join(parts)}"
    if any(start < cuts.starts[point] and stop > cuts.lead for start, stop in cuts.pinned):
        lost += ", but for what is pinned"
    return f"{lost}; {cleared}" if cleared else lost


def _addresses(entries: Sequence[Entry]) -> dict[Slot, str]:
    """Return the address of each entry: an id, or a role and a number; empty for neither."""
    counts: dict[str, int] = {}
    addresses: dict[Slot, str] = {}
    for entry in entries:
        names = ["history"] if isinstance(entry.slot.node, ConversationNode) else []
        for node in turns_in(entry.slot.node):
            if isinstance(node, SectionNode):
                names.append(str(node.options.id))
            elif isinstance(node, RecordedNode):
                names.append("history")
            else:
                role = node.role if isinstance(node, TurnNode) else ""
                head = "ephemeral" if isinstance(node, RequestOnlyNode) else role
                number = counts.get(head, 0)
                counts[head] = number + 1
                if head and head != "system":
                    names.append(node.options.address if node.options.id else f"{head}[{number}]")
        addresses[entry.slot] = next(filter(None, names), "")
    return addresses


def needed_by(
    entries: Sequence[Entry], saved: Mapping[Slot, int], measure: Measure
) -> list[Needed]:
    """Return the parts that have to stay; ``saved`` has by slot the tokens that may be dropped."""
    question = last_question(entries)
    inner: dict[Slot | None, dict[int, int]] = {}
    for slot, tokens in saved.items():
        inner.setdefault(slot.parent, {})[id(slot.node)] = tokens
    parts: list[Needed] = []
    for number, entry in enumerate(entries):
        node = entry.slot.node
        kind: NeededKind = "part"
        if isinstance(node, ConversationNode):
            kind = "history"
        elif isinstance(node, TurnNode) and node.role in ("user", "assistant", "tool"):
            kind = "question" if number == question else "turn"
        tokens = entry.tokens - saved.get(entry.slot, 0)
        if tokens > 0:
            inside = [*_inside(entry, inner.get(entry.slot, {}), measure)]
            inside.sort(key=attrgetter("tokens"), reverse=True)
            name = described(node)
            if node.options.id:
                name = named(name, node.options.address)
            parts.append(Needed(name, tokens, node.source, kind, tuple(inside[:INSIDE])))
    return parts


def _inside(entry: Entry, dropped: Mapping[int, int], measure: Measure) -> Iterator[Needed]:
    """Yield the parts of an entry that have to stay.

    ``dropped`` has by id of a node the tokens that may be dropped in it.
    """
    node = entry.slot.node
    if isinstance(entry.unit, ConversationUnit):
        cuts = entry.unit.cuts
        for run in cuts.kept(cuts.last).content:
            if isinstance(run, RecordedNode):
                counts = zip(run.items, measure.messages(run), strict=True)
                for index, (message, tokens) in enumerate(counts, run.start):
                    yield Needed(f"{message.role} message history[{index}]", tokens, None)
    elif isinstance(node, TurnNode):
        sections = [
            part
            for part in node.content
            if isinstance(part, SectionNode) and part.options.priority is None
        ]
        # Without this, all alternatives of a part would be measured.
        sent = {id(part): first_alternatives(part) for part in sections}
        turn = with_content(node, tuple([sent.get(id(part), part) for part in node.content]))
        sizes = measure.turn(turn, {id(part) for part in sent.values()})[1]
        for part in sections:
            tokens = sizes[id(sent[id(part)])] - dropped.get(id(part), 0)
            if tokens > 0:
                yield Needed(described(part), tokens, part.source)
