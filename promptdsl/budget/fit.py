"""Fitting: the complete prompt is sent if it is within its budget, else parts are dropped.

``fit`` is the main function. Before it stands the bound reasoning that is sent although a budget
clears or cuts; after it, the share of a budget that each lazy part may fill.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import accumulate, starmap
from typing import TypeAlias, TypeVar

import attrs

from promptdsl.budget.budget import Budget, Measure
from promptdsl.budget.dropped import (
    Choice,
    Dropped,
    Needed,
    dropped_by,
    in_tokens,
    lines_of,
    rows_of,
)
from promptdsl.budget.edited_history import Trimmed
from promptdsl.budget.histories import State, exchanges_of
from promptdsl.budget.plan import Plan
from promptdsl.budget.recorded import LimitCuts, limited, still_cut
from promptdsl.budget.units import ConversationUnit, Entry, first_alternatives, reserved
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import BudgetError, OptionError, PromptError
from promptdsl.messages.message import Message
from promptdsl.messages.pairing import asks
from promptdsl.tokens.payloads import TOOLS_TEXT
from promptdsl.tree.masks import CALL, OPAQUE, REQUEST, SECTION, SHIFT, SYSTEM, TEXT, TURN, bits
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.recorded import remember
from promptdsl.tree.rewrite import clears_early, leaves_no_choice, opaque, rewrite
from promptdsl.tree.turn_nodes import (
    ConversationNode,
    LazyNode,
    RecordedNode,
    ReserveNode,
    RootNode,
    among_turns,
)

# Bound reasoning that is sent although a budget clears or cuts: what was written since then.
#
# Some models bind reasoning to the messages before it: they take it only while these messages are
# the same as when it was written. So up to each turn of the model, what is sent of a history must
# depend on the history alone.
#
# What follows the history, such as a question that is recorded later, is different in each request.
# Its size is rounded up to halves of a step, so the cut leaves room for it.

MARGIN = 64
"""The share of a budget by which the sum of the parts may differ from the tokens of the prompt."""


def reasoning_run(node: Node, provider: str | None) -> RecordedNode | None:
    """Return the run of a history, if the history has reasoning that a provider takes.

    ``None`` for another node, or for a history that is not one run.
    """
    if not isinstance(node, ConversationNode) or len(node.content) != 1:
        return None
    run = node.content[0]
    if not isinstance(run, RecordedNode) or not run._mask & CALL << SHIFT:
        return None
    origins = wire_of(provider).origins
    for message in run.items:
        if message._plain is None and any(
            block.type == "reasoning" and block.origin in origins for block in message.content
        ):
            return run
    return None


@attrs.define(eq=False)
class _Requests:
    """The requests of one history: the current one, and one before each turn of the model."""

    items: Sequence[Message]
    unit: ConversationUnit
    before: Sequence[int]
    """By message, the tokens of those before it."""
    rest: int
    """The tokens that have to be saved because of all that is before the history."""
    budget: int

    def before_question(self, stop: int) -> int:
        """Return the end of the messages before ``stop``, without the questions at their end."""
        while stop and _asks_or_instructs(self.items[stop - 1]):
            stop -= 1
        return stop

    def need(self, stop: int, end: int, behind: int) -> int:
        """Return the tokens that a request with the messages before ``stop`` has to save.

        The question from ``end`` to ``stop`` was in the history or after it: it counts as
        ``behind``, the tokens after the history.
        """
        half = max(min(self.unit.cuts.step // 2, self.budget // 4), 1)
        behind += self.before[stop] - self.before[end] + self.budget // MARGIN
        return self.rest + self.before[end] + -(-behind // half) * half

    def had_state(self, state: State, start: int, fleeting: int) -> bool:
        """Return whether the request before the turn at ``start`` certainly had a state.

        ``fleeting`` are the tokens of groundings, which are in one request only.
        """
        # The last user turns before it may have been after the history.
        end = self.before_question(start)
        need = self.need(start, end, fleeting)
        cuts = self.unit.cuts
        if state == (cuts.lead, False, 0) and need + cuts.step <= 0:
            return True
        ends = range(end, max(start, end + 1))
        possible = starmap(self.unit.cuts_at, ((start, True), *((stop, False) for stop in ends)))
        return all(cuts.state(cuts.point(need)) == state for cuts in possible)


def bound_choice(plan: Plan) -> tuple[Choice, Trimmed | None] | None:
    """Return the choice for a prompt with bound reasoning, and what it does to the reasoning.

    The second value is ``None`` if all reasoning is sent. The result is ``None`` if the first
    action is not on the only history: it is unknown when that was done.
    """
    behind = fleeting = 0
    units: list[ConversationUnit] = []
    for entry in plan.entries:
        mask = entry.slot.node._mask
        if isinstance(entry.unit, ConversationUnit):
            units.append(entry.unit)
        elif mask & REQUEST:
            fleeting += entry.tokens
        elif units and mask & TURN and not mask & (SYSTEM | SECTION):
            behind += entry.tokens
    run = reasoning_run(units[0].node, plan.measure.facts.provider) if len(units) == 1 else None
    if run is None or any(action.unit is not units[0] for action in plan.order.actions[:1]):
        return None
    unit = units[0]
    before = [0, *accumulate(plan.measure.messages(run))]
    rest = plan.need(plan.limit) - before[-1] - behind - fleeting
    requests = _Requests(run.items, unit, before, rest, plan.budget)
    size = len(run.items)
    need = requests.need(size, requests.before_question(size), behind + fleeting)
    point = unit.cuts.point(need)
    choice = Choice()
    if point:
        choice.cut(unit, point)
    state, fresh = unit.cuts.state(point), None
    rounds = remember(run, exchanges_of, exchanges_of).rounds
    for start in reversed(rounds):
        if start < state[0] or not requests.had_state(state, start, fleeting):
            break
        fresh = start
    if fresh is None:
        return choice, Trimmed() if rounds else None
    if not point and fresh == rounds[0] and not state[2]:
        return choice, None
    return choice, Trimmed(run.items[fresh])


def _asks_or_instructs(message: Message) -> bool:
    return asks(message) or message.role not in ("user", "assistant", "tool")


# Fitting: the complete prompt is sent if it is within its budget, else parts are dropped.
#
# A plan only chooses what is tried next. A prompt is returned after it was made ready to be sent
# and counted, so it is never over its budget, whatever the plan expected. Read ``fit`` first, then
# ``_drop_to_fit``.

NEAR = 8
"""The complete prompt is tried if its plan is over by at most an eighth of the budget."""
CHARACTERS = 6
"""The most characters of a token, on average. Ordinary text has about four."""
SHOWN = 5
"""The number of parts that an error names, the largest first."""

ANY_TOKENS = 2**60
"""The budget that plans a prompt without a budget of its own."""

S = TypeVar("S")

ListDropped: TypeAlias = Callable[[], tuple[Dropped, ...]]
"""A function that lists the dropped parts, in the order of the document."""


def fit(
    tree: RootNode,
    budget: Budget,
    facts: ModelFacts,
    *,
    measuring: Callable[[], Measure],
    prepare: Callable[[RootNode, Trimmed | None], S],
    tokens: Callable[[S], int],
) -> tuple[ListDropped, S]:
    """Return a function that lists the dropped parts, and the rest of the tree, ready to be sent.

    The complete tree is tried first. A plan is made only when that is too long, or certain to be.

    - ``prepare`` makes a tree ready to be sent. Its second argument is what the budget did to
      histories, ``None`` if the tree has all parts.
    - ``tokens`` counts the tokens of such a result.
    - ``measuring`` returns the counter of parts. It is called only for limits, edited results and a
      plan, because most prompts fit completely.

    :class:`BudgetError` if the parts that have to stay are too long.
    """
    measuring = cache(measuring)
    complete, free = tree, budget.reserve
    cuts: LimitCuts = ()
    cut_parts: tuple[Dropped, ...] = ()
    cleared: list[ConversationNode] = []
    if not leaves_no_choice(opaque(tree)):
        tree, cuts = limited(tree, measuring)
        complete = first_alternatives(tree)
        cut_parts = still_cut(cuts, complete)
        free += reserved(tree)
        cleared += _cleared_histories(tree)
    as_cut = Trimmed() if cut_parts else None
    total = budget.of(facts.window, facts.model)
    is_cleared = any(map(clears_early, cleared))
    binds = facts.binds_reasoning and _has_reasoning(tree, facts.provider)
    if total is None:
        _check_clearing(cleared)
        if not (binds and is_cleared):
            return partial(tuple, cut_parts), prepare(complete, as_cut)
        total = ANY_TOKENS
    limit = total - free

    @cache
    def plan() -> Plan:
        return Plan(tree, measuring(), total, limit)

    def attempt(rest: RootNode, missing: Trimmed | None) -> tuple[S, int]:
        """Return a tree ready to be sent, and by how many tokens it exceeds the limit."""
        ready = prepare(rest, missing)
        return ready, tokens(ready) - limit

    if limit < 0:
        smallest = plan().tree_of(plan().choose(plan().droppable))
        least = attempt(smallest, Trimmed())[1] + limit
        raise _no_room(plan(), tree, free, least)
    # Try the complete prompt, unless it is certain to be too long.
    over, fits = None, None
    is_long = is_cleared or has_far_too_many_characters(complete, limit)
    if not is_long or _may_fit(plan(), limit):
        try:
            ready, over = attempt(complete, as_cut)
        except PromptError:
            pass  # the error may be in a part that is dropped
        else:
            if over <= 0:
                fits = partial(tuple, cut_parts), ready
                if not binds:
                    return fits
    # With bound reasoning, a prompt that fits keeps the cut of its earlier requests.
    bound = _fit_bound(plan(), cuts, attempt) if binds else None
    return bound or fits or _drop_to_fit(plan(), cuts, attempt, over=over, limit=limit)


def _may_fit(plan: Plan, limit: int) -> bool:
    """Return whether a complete prompt may be within its limit, as far as its plan knows."""
    if plan.earlier_excess:
        return plan.need(limit) + plan.earlier_excess <= 0
    return plan.need(limit) <= plan.budget // NEAR + plan.frames


def _has_reasoning(tree: RootNode, provider: str | None) -> bool:

    return any(reasoning_run(node, provider) for node in opaque(tree))


def _fit_bound(
    plan: Plan, cuts: LimitCuts, attempt: Callable[[RootNode, Trimmed | None], tuple[S, int]]
) -> tuple[ListDropped, S] | None:
    """Return the rest of a tree with the reasoning that is bound to the messages before it.

    ``None`` if it is not certain which reasoning the model takes, or if the rest is too long.
    """
    bound = bound_choice(plan)
    if bound is None:
        return None
    choice, trimmed = bound
    tree = plan.tree_of(choice)
    limits = still_cut([cut for cut in cuts if cut[0] is not None], tree)
    try:
        ready, over = attempt(tree, Trimmed() if limits else trimmed)
    except PromptError:
        return None  # the error may be in a part that is dropped
    parts = still_cut(cuts, tree)
    dropped = partial(_all_dropped, parts, choice, plan.entries, -over)
    return (dropped, ready) if over <= 0 else None


def _cleared_histories(tree: RootNode) -> Iterator[ConversationNode]:
    """Yield each history whose results are cleared."""
    for node in opaque(tree):
        if isinstance(node, ConversationNode) and node.clear_results:
            yield node


def _check_clearing(histories: Iterable[ConversationNode]) -> None:
    """Raise :class:`OptionError` for a history that only a budget clears: there is no budget."""
    for history in histories:
        if not clears_early(history):
            problem = "clear_results without a budget"
            fix = "render with budget=..., or write ClearResults(..., at_least=4_000)"
            raise OptionError(problem, fix=fix, at=(history.source,))


def has_far_too_many_characters(tree: RootNode, limit: int) -> bool:
    """Return whether a tree is so long that it is planned before it is tried.

    This guess only saves time: the complete tree is still tried if it may fit by the plan.
    """
    room = limit * CHARACTERS
    waiting: list[Child] = [*tree.content]
    while waiting and room >= 0:
        part = waiting.pop()
        if isinstance(part, str):
            room -= len(part)
        elif isinstance(part, RecordedNode):
            room -= sum(len(message._plain or "") for message in part.items)
        else:
            waiting += part.content
    return room < 0


def _drop_to_fit(
    plan: Plan,
    cuts: LimitCuts,
    attempt: Callable[[RootNode, Trimmed | None], tuple[S, int]],
    *,
    over: int | None,
    limit: int,
) -> tuple[ListDropped, S]:
    """Drop more and more until the rest fits; put parts back if it has fewer tokens than planned.

    ``over`` is by how many tokens the complete prompt exceeds the limit, ``None`` if it was not
    tried. :class:`BudgetError` if all that may be dropped is not enough.
    """
    need = plan.need(limit)
    least = 0  # if fewer tokens are saved, the rest is too long
    rate = 1.0  # how many tokens a request loses for each token that is saved of its parts
    before: tuple[int, int] | None = None
    if over is not None:
        need = min(max(need, 1), over)  # the drop of any part may leave out reasoning, too
        least, before = 1, (0, over)
    best: tuple[ListDropped, S] | None = None
    best_saved = most = plan.droppable + 1  # whoever asks for ``most`` gets ``best``
    while best is None or least < most:
        choice = plan.choose(need)
        saved = choice.saved
        if best is not None and saved >= best_saved:
            if plan.earlier_excess:
                break  # with less to save, the cut would be before that of an earlier request
            most = need
            need = (least + most) // 2
            continue
        tree = plan.tree_of(choice)
        cut_parts = still_cut(cuts, tree)
        is_complete = not saved and not cut_parts
        try:
            ready, over = attempt(tree, None if is_complete else Trimmed())
        except PromptError:
            if best is None:
                raise
            break  # the error is in a part that was put back
        if over <= 0:
            best_saved, most = saved, need
            best = partial(_all_dropped, cut_parts, choice, plan.entries, -over), ready
        elif saved >= plan.droppable:
            raise _too_long(plan, limit, limit + over)
        else:
            least = saved + 1
        # Neighbours that merge have one frame, so a request has fewer tokens than its parts.
        if before is not None and before[0] != saved and not plan.earlier_excess:
            rate = min(max((before[1] - over) / (saved - before[0]), 0), 1)
        before = saved, over
        need = saved + int(over / rate) if rate else plan.droppable
        need = max(min(need, most - 1), least)
    return best


def _all_dropped(
    cut_parts: tuple[Dropped, ...], choice: Choice, entries: Sequence[Entry], free: int
) -> tuple[Dropped, ...]:
    return (*cut_parts, *dropped_by(choice, entries, free))


def _no_room(plan: Plan, tree: RootNode, free: int, least: int) -> BudgetError:
    needed = plan.needed()
    rows = rows_of(needed, least)
    return BudgetError(
        f"the reserves are {in_tokens(free)}, the budget is {plan.budget:,}\n"
        f"the rest of the prompt needs {in_tokens(least)}\n{lines_of(rows, SHOWN)}",
        fix=f"write smaller reserves, or a budget of {least + free:,}",
        at=[node.source for node in opaque(tree) if isinstance(node, ReserveNode)],
        required=least,
        largest=needed,
        budget={"limit": plan.budget, "reserve": free, "room": 0},
        rows=rows,
    )


def _too_long(plan: Plan, limit: int, required: int) -> BudgetError:
    needed = plan.needed()
    rows, reserve = rows_of(needed, required), plan.budget - limit
    what = f"{in_tokens(required)} needed, {limit:,} there"
    if reserve:
        what += f" ({plan.budget:,} - {reserve:,} for the answer)"
    return BudgetError(
        f"{what}\n{lines_of(rows, SHOWN)}",
        fix=f"it needs a budget of {required + reserve:,}{_advice(plan, needed, limit, required)}",
        limit=limit,
        required=required,
        largest=needed,
        budget={"limit": plan.budget, "reserve": reserve, "room": limit},
        rows=rows,
    )


def _advice(plan: Plan, needed: Sequence[Needed], limit: int, required: int) -> str:
    """Return what else an author may do about the parts that have to stay."""
    if not needed:
        return ""
    largest = needed[0]
    turns = sum(part.tokens for part in needed if part.kind == "turn")
    if turns * 2 >= required:
        return ", or put the turns into a History: a budget drops its oldest exchanges"
    question = sum(part.tokens for part in needed if part.kind == "question")
    if largest.kind == "question" or question > limit:
        return ", or cut the text of the last user turn: Limit(max_tokens, text)"
    if largest.kind == "history":
        nodes = [entry.slot.node for entry in plan.entries]
        runs = [node for node in nodes if node.source == largest.source]
        is_capped = any(getattr(node, "max_result_tokens", None) for node in runs)
        cap = "cap its results: max_result_tokens=2_000"
        if is_capped:
            cap = "lower its max_result_tokens"
        return f", or keep or pin fewer of its exchanges, or {cap}"
    if largest.what == TOOLS_TEXT:
        return ""
    if largest.what.startswith("tool "):
        return ", or fewer tools"
    name = "Grounding" if largest.what.startswith("grounding") else "Section"
    return f", or let parts be dropped: {name}(..., priority=1)"


# The share of a budget that each lazy part may fill.

SHARES = 64
"""The number of equal shares of a budget. A lazy gets a whole number of them."""


def room_for(tree: RootNode, budget: Budget, measure: Measure) -> float:
    """Return the tokens for a lazy with a weight of one, before any of them has run."""
    total = budget.of(measure.facts.window, measure.facts.model) or 0
    in_timeline = {id(node) for node in among_turns(tree)}

    def without_lazy(node: Node) -> Node | None:
        if not isinstance(node, LazyNode):
            return node
        # A node around the lazy is sent as soon as the lazy writes anything: a text replaces it.
        return None if id(node) in in_timeline else _TEXT

    without, _ = limited(rewrite(tree, without_lazy, within=OPAQUE), lambda: measure)
    plan = Plan(without, measure, total, total)
    required = plan.need(0) - plan.droppable
    room = total - budget.reserve - reserved(without) - required
    weights = sum(node.weight for node in opaque(tree) if isinstance(node, LazyNode))
    return max(room, 0) / (weights + (1 if plan.droppable else 0))


_TEXT = make(TextNode, (".",), mask=bits(TEXT))
"""The text in place of a lazy inside a turn."""


def share(tokens_per_weight: float, weight: float, total: int) -> int:
    """Return the tokens of a lazy, rounded down to whole shares of a budget of ``total`` tokens."""
    size = max(total // SHARES, 1)
    return int(tokens_per_weight * weight) // size * size
