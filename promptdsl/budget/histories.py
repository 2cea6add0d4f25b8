"""The points where a recorded conversation may be cut: between exchanges, then between rounds.

A cut drops whole steps of tokens, counted from the beginning of the conversation. So the cut is the
same for many turns. The next requests then begin alike, and a provider's cache serves them.

Positions are indices of messages; a turn that is written in a history counts as one message. Read
``Exchanges`` first, then ``cut_points``, which makes ``CutPoints``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import attrs

from promptdsl.budget.budget import Measure
from promptdsl.budget.edited_history import members_of, united
from promptdsl.messages import ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import LEADING
from promptdsl.messages.message import Message, answers_in
from promptdsl.messages.pairing import asks, calls_in
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import answers_of, calls_of, cut, remember
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import ConversationNode, RecordedNode, TurnNode

if TYPE_CHECKING:
    from promptdsl.budget.tool_results import Clearing

State: TypeAlias = tuple[int, bool, int]
"""The first message after a cut, whether a question before it stays, and ``clear_before``."""
REUSED_SHARE = 0.8
"""The part of a request that a cache should serve with the default step."""


@attrs.frozen
class Exchanges:
    """The exchanges and rounds of the first ``count`` messages of a conversation.

    An exchange is a user turn, the events directly before it, and all messages up to the next
    exchange. A round is an assistant message with the results of its calls.
    """

    count: int = 0
    exchanges: tuple[int, ...] = ()
    """The index of the first message of each exchange."""
    rounds: tuple[int, ...] = ()
    """The index of the first message of each round."""
    open_calls: frozenset[str] = frozenset()
    """The ids of the calls without a result."""
    role: str = ""
    """The role of the last message of a user, an assistant or a tool."""
    system: int = 0
    """The count of messages at the beginning that belong to the system text."""
    questions: tuple[int, ...] = ()
    """The index of each user message without the result of a call."""
    leading: int = 0
    """The count of messages at the beginning that a budget never drops: system text, a summary."""

    @property
    def last_question(self) -> int:
        """The index of the last of the questions, -1 for none."""
        return self.questions[-1] if self.questions else -1

    def until(self, stop: int) -> "Exchanges":
        """Return the exchanges and rounds of the messages before the index ``stop``."""
        all_indices = self.exchanges, self.rounds, self.questions
        exchanges, rounds, questions = (
            indices[: bisect_left(indices, stop)] for indices in all_indices
        )
        return attrs.evolve(
            self,
            count=stop,
            exchanges=exchanges,
            rounds=rounds,
            system=min(self.system, stop),
            questions=questions,
            leading=min(self.leading, stop),
        )


def exchanges_of(messages: Sequence[Message], before: Exchanges | None = None) -> Exchanges:
    """Return the exchanges and rounds of messages.

    ``before`` has those of the first messages, if they are already known.

    An exchange starts at a user message without a result, if no call is open and the message does
    not follow another user message. The events directly before the message belong to the exchange.
    """
    if before is None or before.count > len(messages):
        before = Exchanges()
    exchanges: list[int] = []
    rounds: list[int] = []
    open_calls: frozenset[str] | set[str] = before.open_calls
    questions: list[int] = []
    last, system, leading = before.role, before.system, before.leading
    for index in range(before.count, len(messages)):
        message = messages[index]
        role = message.role
        if message.kind == "summary" and leading == index:
            leading += 1
            continue
        if role == "user":
            is_question = asks(message)
            if is_question:
                questions.append(index)
            if is_question and not open_calls and last != "user":
                start = index
                while start and messages[start - 1].role == "event":
                    start -= 1
                exchanges.append(start)
        elif role == "assistant":
            # Calls that are still open will not get a result.
            rounds.append(index)
            open_calls = frozenset()
        elif role != "tool":
            leads = leading == index and role == "system" and message.kind in LEADING
            leading += leads
            system += leads and system == index
            continue
        last = role
        if message._plain is None:
            open_calls = {*open_calls, *calls_in(message)}.difference(answers_in(message))
    return Exchanges(
        len(messages),
        (*before.exchanges, *exchanges),
        (*before.rounds, *rounds),
        frozenset(open_calls),
        last,
        system,
        (*before.questions, *questions),
        leading,
    )


def measure_history(node: ConversationNode, measure: Measure) -> tuple[Sequence[int], Exchanges]:
    """Return the tokens of each message of a history, and its exchanges."""
    members = node.content
    if len(members) == 1 and isinstance(members[0], RecordedNode):
        run = members[0]
        structure = remember(run, exchanges_of, exchanges_of)
        return measure.messages(run), structure
    tokens: list[int] = []
    messages: list[Message] = []
    for member in members:
        if isinstance(member, RecordedNode):
            tokens += measure.messages(member)
            messages += member.items
        else:
            tokens.append(measure.turn(member)[0])
            role = member.role if isinstance(member, TurnNode) else "ephemeral"
            calls = (ToolUseBlock(id, "tool", "{}") for id in calls_of(member))
            results = (ToolResultBlock(id, ()) for id in answers_of(member))
            messages.append(Message(role, (*calls, *results)))
    return tokens, exchanges_of(messages)


def default_step(
    tokens_before: Sequence[int], rounds: Sequence[int], budget: int, free_tokens: int
) -> int:
    """Return the step of a history whose author wrote none: an eighth or a fourth of the budget.

    The step is an eighth if a cache is then expected to serve ``REUSED_SHARE`` of a request. The
    mean size of the first rounds is the basis of this estimate. These are the rounds within half of
    the budget and within ``free_tokens``, which the limit leaves for the history. So the step does
    not change after something is cut. Rounds count with the size that they had before clearing,
    because results are cleared in the same steps.

    ``tokens_before`` has by message the tokens of the messages before it.
    """
    eighth = max(budget // 8, 1)
    typical = min(budget // 2, max(free_tokens, eighth) // eighth * eighth)
    first_rounds = rounds[: bisect_right(rounds, typical, key=tokens_before.__getitem__)]
    if len(first_rounds) > 1:
        typical = (tokens_before[first_rounds[-1]] - tokens_before[first_rounds[0]]) // (
            len(first_rounds) - 1
        )
    return budget // 8 if typical * 9 <= budget * (1 - REUSED_SHARE) else budget // 4


def part_of(history: ConversationNode, first: int, stop: int) -> Iterator[Node]:
    """Yield the parts of a history with the messages from ``first`` to ``stop``."""
    for begin, end, member in members_of(history):
        start, last = max(first, begin), min(stop, end)
        if start < last and isinstance(member, RecordedNode) and last - start < end - begin:
            yield cut(member, start - begin, last - begin)
        elif start < last:
            yield member


@attrs.define(eq=False)
class CutPoints:
    """The points where a conversation may be cut. Point 0 keeps everything."""

    node: ConversationNode
    starts: list[int]
    """By point, the index of the first message that is kept after the cut."""
    tokens_before: list[int]
    """By point, the tokens before it, counted from the first message that may be cut."""
    savings: list[int]
    """By point, the tokens that a cut there saves."""
    lead: int = 0
    """The count of messages at the beginning that always stay."""
    size: int = 0
    """The count of all messages."""
    first_round_point: int = 0
    """The first of the points between rounds of the last exchange."""
    question: tuple[int, int] = (0, 0)
    """The start of the last exchange, and of its first round. The question between them stays."""
    step: int = 0
    """A cut moves to the first point at or after a multiple of this number of tokens.

    With 0, it moves only as far as it must."""
    pinned: Sequence[tuple[int, int]] = ()
    """The messages that no cut drops, as the start and the end of each range."""
    clearing: "Clearing | None" = None
    """How results are cleared before the first cut, ``None`` if they are not cleared."""
    clears: int = 0
    """The last point that only clears results. Each cut after it clears the same results."""
    cut_line: RecordedNode | None = None
    """The message that is sent in place of what is cut, ``None`` for no message."""

    @property
    def last(self) -> int:
        """The last point, which saves the most."""
        return len(self.savings) - 1

    def point(self, need: int) -> int:
        """Return the point where a cut saves ``need`` tokens.

        The point is never before the cut of an earlier request. An earlier request may have been
        longer, because fewer results were cleared then.
        """
        point = bisect_left(self.savings, need, hi=self.last)
        if self.clearing and self.clearing.longer:
            point = max(point, self._earlier_cut(need, self.clearing))
        if point > self.clears and self.step:
            # If the point before is in the same step, cut at the first point of the next step.
            reached = self.step * (self.tokens_before[point - 1] // self.step + 1)
            point = min(bisect_left(self.tokens_before, reached), self.last)
        return point

    def _earlier_cut(self, need: int, clearing: "Clearing") -> int:
        """Return the last point at which an earlier request was cut, 0 if none was cut."""
        point = self.clears
        cleared = clearing.clear_before(self.size)
        for request in clearing.longer:
            while point < self.last:
                # These results are cleared now. In that request they were dropped completely.
                start = max(self.lead, request.clear_before)
                end = max(start, min(self.starts[point], cleared))
                savings = self.savings[point] + clearing.savings[end] - clearing.savings[start]
                if savings >= need + request.extra_tokens:
                    break
                is_behind = self.starts[point + 1] >= request.stop
                if is_behind and point + 1 >= self.first_round_point:
                    break  # the newest round of that request stayed
                point += 1
                if is_behind:
                    break  # that request was cut between rounds of an exchange that is now dropped
        return point if point > self.clears else 0

    def state(self, point: int) -> State:
        """Return the state at a point.

        Two requests with the same state send their common messages in the same way.
        """
        clearing, clear_before = self.clearing, 0
        if clearing:
            clear_before = clearing.clear_points[min(point, self.clears)]
            if clearing.options.at_least is not None:
                clear_before = clearing.clear_before(self.size)
        return self.starts[point], self.is_between_rounds(point), clear_before

    def is_between_rounds(self, point: int) -> bool:
        """Return whether a cut at a point keeps a question and the last rounds after it."""
        return point >= self.first_round_point and self.starts[point] < self.size

    def ranges(self, point: int) -> list[tuple[int, int]]:
        """Return the messages that a cut keeps, as the start and the end of each range."""
        ranges = [(0, self.lead), (self.starts[point], self.size)]
        if self.is_between_rounds(point):
            ranges.insert(1, self.question)
        return united([*ranges, *self.pinned]) if self.pinned else ranges

    def pieces(self, point: int) -> Iterator[tuple[int, int] | None]:
        """Yield the messages that a cut keeps, as ranges in order; ``None`` for the cut line.

        A range may be empty, and then its end may be before its start.
        """
        ranges = self.ranges(point)
        if self.cut_line is None or point <= self.clears:
            yield from ranges
            return
        first, stop = self.question
        gap = stop if first < stop and self.is_between_rounds(point) else self.starts[point]
        yield from [(begin, min(end, gap)) for begin, end in ranges]
        yield None
        yield from [(max(begin, gap), end) for begin, end in ranges]

    def history_cut_at(self, point: int) -> ConversationNode:
        """Return the conversation cut at a point."""
        members: list[Node] = []
        node = self.node
        if self.clearing and self.clears:
            node = self.clearing.applied(self.clearing.clear_points[min(point, self.clears)])
        for piece in self.pieces(point):
            if piece:
                members += part_of(node, *piece)
            elif self.cut_line:
                members.append(self.cut_line)
        return with_content(self.node, tuple(members))


def cut_points(
    size: int,
    required: bool,
    *,
    node: ConversationNode,
    tokens: Sequence[int],
    structure: Exchanges,
    answers: bool,
    step: int,
    clearing: "Clearing | None" = None,
    pinned: Sequence[tuple[int, int]] = (),
    cut_line: tuple[RecordedNode, int] | None = None,
) -> CutPoints:
    """Return the points where the first ``size`` messages of a conversation may be cut.

    - ``required``: whether the last exchange has to stay. The last ``node.keep`` exchanges always
      stay.
    - ``tokens``: the tokens of each message.
    - ``answers``: whether the conversation begins with results of earlier calls; they stay with
      their calls.
    - ``clearing``: how results are cleared. With it, the first points only clear results.
    - ``pinned``: the messages that stay.
    - ``cut_line``: the message that is sent in place of what a cut drops, and its tokens.
    """
    if size < len(tokens):
        tokens, structure = tokens[:size], structure.until(size)
        pinned = [(min(start, size), min(stop, size)) for start, stop in pinned]
    points = _points_between(size, required, node=node, structure=structure, answers=answers)
    points.step = step
    tokens_before: Sequence[int] = ()
    if clearing:
        clearing = clearing.until(size)
        cleared = clearing.clear_points[-1]
        # Each later request will have these results cleared, so the steps count them as cleared.
        tokens_before = [0, *accumulate(clearing.cleared_sizes)]
        tokens = [*clearing.cleared_sizes[:cleared], *tokens[cleared:]]
    sent_before = [0, *accumulate(tokens)]
    tokens_before = tokens_before or sent_before
    lead, question = points.lead, points.question
    points.tokens_before = [tokens_before[start] - tokens_before[lead] for start in points.starts]
    points.savings = [sent_before[start] - sent_before[lead] for start in points.starts]
    for point in filter(points.is_between_rounds, range(len(points.starts))):
        points.savings[point] -= sent_before[question[1]] - sent_before[question[0]]
    if pinned:
        _keep_pinned(points, pinned, sent_before)
    if clearing:
        _clear_first(points, clearing)
    if cut_line:
        _add_cut_line(points, *cut_line)
    return points


def _points_between(
    size: int, required: bool, *, node: ConversationNode, structure: Exchanges, answers: bool
) -> CutPoints:
    """Return the points between exchanges and rounds, without the tokens that they save.

    ``cut_points`` explains the arguments.
    """
    exchanges, rounds, lead = structure.exchanges, structure.rounds, structure.leading
    # Messages before the first exchange are dropped with it, except results of earlier calls.
    if answers:
        lead = max(min((*exchanges[:1], *rounds[:1], size)), lead)
    kept_exchanges = max(node.keep, int(required))
    droppable = max(len(exchanges) - max(kept_exchanges, 1), 0)
    starts = [lead, *exchanges[1 : droppable + 1]]
    points = CutPoints(node, starts, [], [], lead, size, first_round_point=len(starts))
    # If all exchanges but the last may be dropped, so may the rounds of the last. The newest stays.
    last = size  # no round begins after it
    if droppable == len(exchanges) - 1:
        last = exchanges[-1]
    elif required and not exchanges:
        last = lead
    rounds = rounds[bisect_left(rounds, last) :]
    if len(rounds) > 1:
        points.question = last, rounds[0]
        # A user may have asked again before all calls were answered.
        question = structure.last_question
        stop = question if question > rounds[0] else rounds[-1]
        starts += rounds[1 : bisect_right(rounds, stop)]
    # If no exchange has to stay, the complete conversation may be dropped.
    if not kept_exchanges and size > lead:
        starts.append(size)
    return points


def _keep_pinned(
    points: CutPoints, pinned: Sequence[tuple[int, int]], tokens_before: Sequence[int]
) -> None:
    """Keep the pinned messages at each point; ``tokens_before`` has the tokens before a message."""
    points.pinned = pinned
    tokens = [0] * (points.size + 1)
    for start, stop in pinned:
        for index in range(max(start, points.lead), stop):
            tokens[index + 1] = tokens_before[index + 1] - tokens_before[index]
    pinned_before = [*accumulate(tokens)]
    question_tokens = pinned_before[points.question[1]] - pinned_before[points.question[0]]
    for point, start in enumerate(points.starts):
        tokens_kept = question_tokens if points.is_between_rounds(point) else 0
        points.savings[point] -= pinned_before[start] - tokens_kept


def _clear_first(points: CutPoints, clearing: "Clearing") -> None:
    """Put points that only clear results before the cuts, which clear the same results."""
    savings = [clearing.savings[clear_before] for clear_before in clearing.clear_points]
    points.clearing, points.clears = clearing, len(savings) - 1
    points.starts = [points.lead] * points.clears + points.starts
    points.tokens_before = [0] * points.clears + points.tokens_before
    points.savings = savings[:-1] + [savings[-1] + cut_savings for cut_savings in points.savings]
    points.first_round_point += points.clears


def _add_cut_line(points: CutPoints, line: RecordedNode, tokens: int) -> None:
    """Send a cut line in place of what each cut drops; a cut then saves ``tokens`` tokens fewer."""
    points.cut_line, savings = line, points.savings
    for point in range(points.clears + 1, len(savings)):
        savings[point] = max(savings[point] - tokens, savings[point - 1])
