"""What a budget drops, and the reports about it.

Read ``units.py`` first. The first half of this file is the choice: which units are dropped, cut or
replaced, and which come back. The second half has the reports: the parts that were dropped, and the
parts that have to stay.
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
    Shrink,
    Slot,
    TimelineChild,
    Unit,
    first_alternatives,
    last_question,
    turns_in,
)
from promptdsl.foundation.errors import counted
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.old_names import OldAttribute
from promptdsl.foundation.source import Source
from promptdsl.tokens.payloads import TARGET_FORMAT
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
# The order: of neighbouring units, the unit with the lowest priority is dropped first. Of equal
# priorities, the units without a cache mark of the author after them go first, because a cache may
# still serve the other units. Of these, the first in the document goes first. The units inside a
# unit are dropped directly before it.
#
# An example of three units: a hint (priority 1) of 50 tokens, a conversation (2) of 300 that is cut
# in steps, a log (3) of 500. The actions in their order are: drop the hint, cut the conversation,
# drop the log. The first saves 50 tokens, the first two save 350, all three save 850. A bisection
# of these sums finds how many actions are needed.
#
# - 40 tokens too many: the hint is dropped. 10 tokens are free, and nothing fits into them.
# - 150 too many: the hint is dropped, and the conversation is cut at the end of a step. The free
#   tokens stay free. Without steps, the cut saves only the missing tokens. The hint then comes
#   back if there is room for it.
# - 400 too many: all three actions are done, and 450 tokens are free. Then actions are undone
#   if there is room, the last action first: the log (500) does not fit; the conversation and the
#   hint come back. So a prompt that drops a large part keeps the small ones.
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
                yield Cut(unit, unit.cuts.savings[-1])
        else:
            if isinstance(unit, Alternatives):
                for index in range(1, len(unit.sizes)):
                    larger, smaller = unit.sizes[index - 1][1], unit.sizes[index][1]
                    yield Shrink(unit, index, larger - smaller)
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

    saved_tokens: int = 0
    """The tokens of the parts that are not sent; each message counts with its own frame."""
    dropped: set[Unit] = attrs.field(factory=set[Unit])
    """The units that are dropped together with the units linked to them."""
    shrunk: dict[Alternatives, int] = attrs.field(factory=dict[Alternatives, int])
    """By unit, the index of the alternative among its sizes."""
    cuts: dict[ConversationUnit, int] = attrs.field(factory=dict[ConversationUnit, int])
    """By unit, the point of the cut."""
    parts_left: dict[Slot, int] = attrs.field(factory=dict[Slot, int])
    """By container that lost a part, the count of the parts that are left in it."""
    refused: dict[Unit, int] = attrs.field(factory=dict[Unit, int])
    """By unit that did not fit: the tokens that would still be saved if it came back."""

    def do(self, action: Action) -> None:
        """Do an action."""
        if isinstance(action, Cut):
            self.cut(action.unit, action.unit.cuts.last)
        elif isinstance(action, Shrink):
            self.shrink(action.unit, action.index)
        else:
            self.dropped.add(action.unit)
            self._move(action, 1)

    def put_back(self, action: Drop) -> None:
        """Undo a drop."""
        self.dropped.discard(action.unit)
        self._move(action, -1)

    def _move(self, action: Drop, direction: int) -> None:
        """Remove a unit and its linked units (``direction`` is 1), or put them back (-1).

        A container is removed with the last of its parts, and comes back with the first of them.
        """
        self.saved_tokens += direction * action.saves
        for unit in (action.unit, *action.unit.linked_units):
            # A slot that is not fixed was removed before, with the last of its parts.
            if not unit.slot.fixed:
                continue
            for container in unit.slot.containers:
                before = self.parts_left.get(container, container.droppable_parts)
                self.parts_left[container] = after = before - direction
                if min(before, after) or container.fixed:
                    break
                self.saved_tokens += direction * container.container_tokens

    def shrink(self, unit: Alternatives, index: int) -> None:
        """Send the alternative with this ``index`` in ``unit.sizes``."""
        self.saved_tokens += unit.sizes[self.shrunk.get(unit, 0)][1] - unit.sizes[index][1]
        self.shrunk[unit] = index

    def cut(self, unit: ConversationUnit, point: int) -> None:
        """Cut a conversation at a point."""
        cuts = unit.cuts
        self.saved_tokens += cuts.savings[point] - cuts.savings[self.cuts.get(unit, 0)]
        self.cuts[unit] = point

    def cut_back(self, unit: ConversationUnit, need: int) -> None:
        """Cut a conversation only so far that all actions together save ``need`` tokens."""
        saved_by_others = self.saved_tokens - unit.cuts.savings[self.cuts.get(unit, 0)]
        self.cut(unit, unit.cuts.point(need - saved_by_others))

    def next_back(self, free: int) -> tuple[Unit | None, int]:
        """Return the unit that comes back first in a larger budget, and its missing tokens.

        ``free`` is the number of tokens that the request leaves free. The unit may take the place
        of parts that came back after it was refused. The result is a guess, because neighbours that
        merge have fewer tokens than the sum of their parts. ``None`` if a history is cut: its cut
        changes in steps.
        """
        if not self.refused or any(self.cuts.values()):
            return None, 0
        unit = max(self.refused, key=self.refused.__getitem__)
        return unit, max(self.saved_tokens - free - self.refused[unit], 1)


class Order:
    """The actions that make room, in order, and the sums of the tokens they save."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self.actions: Sequence[Action] = [*actions_of(units)]
        self.total_savings = [0]
        """The tokens saved by the first 0, 1, 2... actions."""
        self.earlier_excess = 0
        """How many tokens longer than this one an earlier request of a cleared history was."""
        trial = Choice()
        saved_inside: dict[Unit, int] = {}  # by unit, the tokens saved by the actions inside it
        for action in self.actions:
            unit, container = action.unit, action.unit.dropped_with
            if isinstance(action, Drop) and unit.slot.fixed:
                action.saves = unit.tokens - saved_inside.get(unit, 0)
                for linked in unit.linked_units:
                    action.saves += linked.tokens
            saved_before = trial.saved_tokens
            if isinstance(action, Cut) and action.unit.cuts.clearing:
                longer = [request.extra_tokens for request in action.unit.cuts.clearing.longer]
                self.earlier_excess = max(self.earlier_excess, *longer, 0)
            trial.do(action)
            savings = trial.saved_tokens - saved_before
            self.total_savings.append(trial.saved_tokens)
            # A unit is dropped after everything inside it, so the sum of its parts is complete.
            if isinstance(unit, Alternatives):
                saved_inside[unit] = saved_inside.get(unit, 0) + savings
            else:
                savings += saved_inside.get(unit, 0)
            if container is not None:
                saved_inside[container] = saved_inside.get(container, 0) + savings

    def droppable_in(self) -> dict[Slot, int]:
        """Return the tokens that may be dropped, by slot in the timeline or directly in a turn."""
        droppable: dict[Slot, int] = {}
        for action, (before, after) in zip(self.actions, pairwise(self.total_savings), strict=True):
            unit = action.unit
            for slot in {unit.timeline_slot, unit.slot.turn_child}:
                droppable[slot] = droppable.get(slot, 0) + after - before
            for linked in unit.linked_units:
                droppable[linked.timeline_slot] = (
                    droppable.get(linked.timeline_slot, 0) + linked.tokens
                )
        return droppable

    def choose(self, need: int) -> Choice:
        """Return the choice that saves at least ``need`` tokens, or all that can be saved."""
        choice = Choice()
        # If an earlier, longer request needed a cut, the cut stays.
        needed = need + self.earlier_excess
        if needed <= 0:
            return choice
        count = bisect_left(self.total_savings, min(needed, self.total_savings[-1]))
        for action in self.actions[:count]:
            choice.do(action)
        _put_back(choice, self.actions[:count], need)
        return choice


def _put_back(choice: Choice, actions: Sequence[Action], need: int) -> None:
    """Undo actions while ``need`` tokens stay saved, the last action first.

    It ends at the first conversation that stays cut in steps. The free tokens stay free, because
    a part that came back there would be in one request and not in the next.
    """
    for action in reversed(actions):
        if isinstance(action, Cut):
            choice.cut_back(action.unit, need)
            if choice.cuts[action.unit] and action.unit.cuts.step:
                return
        elif action.unit.dropped_with in choice.dropped:
            continue  # it comes back only with that unit
        elif isinstance(action, Shrink):
            unit, index = action.unit, action.index
            if choice.shrunk.get(unit, 0) == index and unit not in choice.dropped:
                choice.shrink(unit, index - 1)
                if choice.saved_tokens < need:
                    choice.shrink(unit, index)
        else:
            choice.put_back(action)
            if choice.saved_tokens < need:
                choice.refused[action.unit] = choice.saved_tokens
                choice.do(action)


# Reports of a budget: the parts it dropped, and the parts that have to stay.

EMPTY_REASON = "nothing is left in it"
"""The reason in the report of a container that is dropped because all its parts are."""
SHOWN_INNER_PARTS = 3
"""The maximum number of inner parts that an error names for each part."""
AUTHOR_WORDS = ("grounding", "ephemeral", "event")
"""The author's words for turns that are sent with the role of another turn."""
WRITTEN_ROLES = ("system", "developer", "user", "assistant", "tool")
"""The roles that are also the author's words for their turns."""
LONGEST_TEXT = 80
"""The maximum number of characters of a part's text in its report."""


@attrs.frozen
class Dropped:
    """A part that a budget or a :class:`Limit` dropped, cut or replaced by a smaller alternative.

    It also reports a tool call or a result that ``tool_pairing`` removed; ``text`` is then its
    complete text. :attr:`Rendered.dropped` lists these reports.

    - ``what`` names the part, and ``path`` is its address in the prompt.
    - ``tokens`` is the number of its tokens that are not sent. The request may become shorter by a
      few tokens more or fewer, because neighbours that merge share a frame.
    - ``priority`` is the priority of the part, ``None`` without one.
    - ``why`` is the reason in words, ``source`` the author's file and line.

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
    """For a cut, what its step costs this request.

    For the part that probably comes back first in a larger budget, how many tokens it lacks."""
    said = OldAttribute("Dropped.said")

    def __str__(self) -> str:
        location = f"{self.source}: " if self.source else ""
        is_short = len(self.text) <= LONGEST_TEXT
        text = self.text if is_short else f"{self.text[: LONGEST_TEXT - 3]}..."
        quoted = f": {text!r}" if text else ""
        quoted += f" ({self.note})" if self.note else ""
        return (
            f"{location}{named(self.what, self.path)}, {in_tokens(self.tokens)}: {self.why}{quoted}"
        )


NeededKind: TypeAlias = Literal["question", "turn", "history", "part"]
"""The last user turn; another turn, which could be in a history; a history; any other part."""


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

    The rows of depth 0 add up to ``required``. The last of them is the target's format, which is
    negative if it saves tokens.
    """
    rows: list[JsonDict] = []
    remaining = required
    for part in needed:
        remaining -= part.tokens
        rows += [_row(part, 0), *(_row(inner, 1) for inner in part.parts)]
    return [*rows, {"depth": 0, "what": TARGET_FORMAT, "tokens": remaining}] if remaining else rows


def lines_of(rows: Sequence[JsonDict], maximum: int) -> str:
    """Return rows of parts as lines, each with its tokens first.

    The lines without an indent add up. After ``maximum`` parts there is one line for all others,
    and one for the target's format.
    """
    outer = [
        index for index, row in enumerate(rows) if not row["depth"] and row["what"] != TARGET_FORMAT
    ]
    shown_rows = [*rows]
    if len(outer) > maximum + 1:
        tokens = sum(rows[index]["tokens"] for index in outer[maximum:])
        rest: JsonDict = {"depth": 0, "what": f"{len(outer) - maximum:,} more", "tokens": tokens}
        shown_rows = [
            *rows[: outer[maximum]],
            rest,
            *(row for row in rows[-1:] if row["what"] == TARGET_FORMAT),
        ]
    width = max((len(f"{row['tokens']:,}") for row in shown_rows), default=0)
    lines: list[str] = []
    for row in shown_rows:
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


def dropped_by(choice: Choice, children: Sequence[TimelineChild], free: int) -> tuple[Dropped, ...]:
    """Return the parts that a choice drops or makes smaller, in the order of the document.

    ``free`` is the number of tokens that stay free.
    """
    dropped_slots = {unit.slot for lead in choice.dropped for unit in (lead, *lead.linked_units)}
    reports = [*_reports(choice, dropped_slots, free)]
    reports.sort(key=lambda report: [slot.index for slot in report.slot.ancestry])
    addresses = _addresses(children)
    dropped_parts: list[Dropped] = []
    for slot, tokens, priority, why, note in reports:
        node, ancestry = slot.node, slot.ancestry
        sends_nothing = not tokens and not node._mask & MEDIA << SHIFT
        if sends_nothing or not dropped_slots.isdisjoint(ancestry[:-1]):
            continue
        path = "/".join(filter(None, (_address_of(above, addresses) for above in ancestry)))
        unsent: tuple[object, ...] = (node,)
        if isinstance(node, FirstFitNode):
            unsent = node.content[:1]  # without a budget, the first alternative would be sent
        what, at = described(node), node.source
        dropped_parts.append(Dropped(what, path, tokens, priority, why, at, gone=unsent, note=note))
    return tuple(dropped_parts)


def _reports(choice: Choice, dropped_slots: Container[Slot], free: int) -> Iterator[_Report]:
    """Yield what a choice did to each slot; ``dropped_slots`` are the slots of dropped units."""
    next_unit, lacking = choice.next_back(free)
    notes = {next_unit: f"probably the next to come back, with about {in_tokens(lacking)} more"}
    for lead in choice.dropped:
        why = f"there is no room for it, its priority is {lead.priority}"
        yield _Report(lead.slot, lead.tokens, lead.priority, why, notes.get(lead, ""))
        why = "it goes with the calls or results it belongs to"
        for unit in lead.linked_units:
            yield _Report(unit.slot, unit.tokens, unit.priority, why)
    for first_fit, size_index in choice.shrunk.items():
        if size_index and first_fit.slot not in dropped_slots:
            alternative, tokens = first_fit.sizes[size_index]
            why = f"alternative {alternative + 1} of {len(first_fit.node.content)} is sent"
            savings = first_fit.sizes[0][1] - tokens
            yield _Report(first_fit.slot, savings, first_fit.node.priority, why)
    for container, parts_left in choice.parts_left.items():
        # An empty container is dropped with the text around its parts, if there is any text.
        stays = parts_left or container.fixed or not container.container_tokens
        if not stays and container not in dropped_slots:
            yield _Report(container, container.container_tokens, None, EMPTY_REASON)
    for history, point in choice.cuts.items():
        if point:
            why, note = _lost_by_cut(history.cuts, point), _step_cost(history.cuts, point, free)
            yield _Report(history.slot, history.cuts.savings[point], history.priority, why, note)


def _address_of(slot: Slot, addresses: Mapping[Slot, str]) -> str:
    """Return the address of a child of the timeline, or the id of a section in it, else ``""``."""
    if slot in addresses:
        return addresses[slot]
    return str(slot.node.options.id) if isinstance(slot.node, SectionNode) else ""


def _step_cost(cuts: CutPoints, point: int, free: int) -> str:
    """Return in words what the step of a cut costs; empty if nothing more fits without the step."""
    if cuts.clearing or not cuts.step:
        return ""  # with clearing, results are cleared in the same steps
    kept_without_step = point - bisect_left(cuts.savings, cuts.savings[point] - free)
    if kept_without_step <= 0:
        return ""
    kind = "round" if point - kept_without_step >= cuts.first_round_point else "exchange"
    what = f"{kept_without_step} more {kind}{'' if kept_without_step == 1 else 's'}"
    step = in_tokens(cuts.step)
    return f"{in_tokens(free)} free: the history is cut in steps of {step}; step=0 keeps {what}"


def _lost_by_cut(cuts: CutPoints, point: int) -> str:
    """Return in words what a cut drops of a conversation, and which results are cleared."""
    cleared = ""
    if cuts.clearing and cuts.clears:
        clear_before = cuts.clearing.clear_points[min(point, cuts.clears)]
        cleared = cuts.clearing.summary(clear_before, cuts.ranges(point))
    if point <= cuts.clears:
        return cleared
    exchanges = min(point, cuts.first_round_point - 1) - cuts.clears
    lost_parts: list[str] = []
    if exchanges:
        lost_parts = [
            f"its oldest {exchanges} exchanges" if exchanges > 1 else "its oldest exchange"
        ]
    if cuts.is_between_rounds(point):
        rounds = point - cuts.first_round_point + 1
        first = f"the first {rounds} rounds" if rounds > 1 else "the first round"
        lost_parts.append(f"{first} of its last exchange")
    elif cuts.starts[point] == cuts.size:
        lost_parts = ["it"]
    text = f"there is no room for {' and '.join(lost_parts)}"
    if any(start < cuts.starts[point] and stop > cuts.lead for start, stop in cuts.pinned):
        text += "; the pinned messages stay"
    return f"{text}; {cleared}" if cleared else text


def _addresses(children: Sequence[TimelineChild]) -> dict[Slot, str]:
    """Return the address of each child: an id, or a role and an index, else ``""``."""
    counts: dict[str, int] = {}
    addresses: dict[Slot, str] = {}
    for child in children:
        names = ["history"] if isinstance(child.slot.node, ConversationNode) else []
        for node in turns_in(child.slot.node):
            if isinstance(node, SectionNode):
                names.append(str(node.options.id))
            elif isinstance(node, RecordedNode):
                names.append("history")
            else:
                role = node.role if isinstance(node, TurnNode) else ""
                head = "ephemeral" if isinstance(node, RequestOnlyNode) else role
                index = counts.get(head, 0)
                counts[head] = index + 1
                if head and head != "system":
                    names.append(node.options.address if node.options.id else f"{head}[{index}]")
        addresses[child.slot] = next(filter(None, names), "")
    return addresses


def needed_by(
    children: Sequence[TimelineChild], droppable: Mapping[Slot, int], measure: Measure
) -> list[Needed]:
    """Return the parts that have to stay; ``droppable`` has the tokens that may go, by slot."""
    question_index = last_question(children)
    droppable_below: dict[Slot | None, dict[int, int]] = {}
    for slot, tokens in droppable.items():
        droppable_below.setdefault(slot.parent, {})[id(slot.node)] = tokens
    needed: list[Needed] = []
    for index, child in enumerate(children):
        node = child.slot.node
        kind: NeededKind = "part"
        if isinstance(node, ConversationNode):
            kind = "history"
        elif isinstance(node, TurnNode) and node.role in ("user", "assistant", "tool"):
            kind = "question" if index == question_index else "turn"
        tokens = child.tokens - droppable.get(child.slot, 0)
        if tokens > 0:
            inner_parts = [*_parts_in(child, droppable_below.get(child.slot, {}), measure)]
            inner_parts.sort(key=attrgetter("tokens"), reverse=True)
            name = described(node)
            if node.options.id:
                name = named(name, node.options.address)
            shown_parts = tuple(inner_parts[:SHOWN_INNER_PARTS])
            needed.append(Needed(name, tokens, node.source, kind, shown_parts))
    return needed


def _parts_in(
    child: TimelineChild, droppable: Mapping[int, int], measure: Measure
) -> Iterator[Needed]:
    """Yield the parts of a child of the timeline that have to stay.

    ``droppable`` has the tokens that may be dropped in a node, by the id of the node.
    """
    node = child.slot.node
    if isinstance(child.unit, ConversationUnit):
        cuts = child.unit.cuts
        for run in cuts.history_cut_at(cuts.last).content:
            if isinstance(run, RecordedNode):
                counts = zip(run.items, measure.messages(run), strict=True)
                for index, (message, tokens) in enumerate(counts, run.start):
                    yield Needed(f"{message.role} message history[{index}]", tokens, None)
    elif isinstance(node, TurnNode):
        sections = [
            section
            for section in node.content
            if isinstance(section, SectionNode) and section.options.priority is None
        ]
        # Without this, all alternatives of a part would be measured.
        first_of = {id(section): first_alternatives(section) for section in sections}
        turn = with_content(
            node, tuple([first_of.get(id(section), section) for section in node.content])
        )
        sizes = measure.turn(turn, {id(section) for section in first_of.values()})[1]
        for section in sections:
            tokens = sizes[id(first_of[id(section)])] - droppable.get(id(section), 0)
            if tokens > 0:
                yield Needed(described(section), tokens, section.source)
