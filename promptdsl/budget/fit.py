"""Fitting: the complete prompt is sent if it is within its budget, else parts are dropped.

Read ``fit`` first, in the middle of the file. Above it is the code for models that bind their
reasoning to the messages before it. At the end is the share of a budget that each lazy part may
fill.
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
from promptdsl.budget.units import ConversationUnit, TimelineChild, first_alternatives, reserved
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
from promptdsl.tree.rewrite import clears_early, leaves_no_choice, opaque_nodes, rewrite
from promptdsl.tree.turn_nodes import (
    ConversationNode,
    LazyNode,
    RecordedNode,
    ReserveNode,
    RootNode,
    among_turns,
)

# Bound reasoning: the reasoning that is sent although a budget clears or cuts the history.
#
# Some models bind reasoning to the messages before it: they accept it only if these messages are
# the same as when it was written. A budget that clears or cuts changes these messages. So only the
# reasoning that was written after the last change is sent.
#
# To know when that was, the cut of each earlier request must be known. So a cut depends on the
# history alone. What follows the history, such as a question that is recorded later, differs in
# each request: its size is rounded up to halves of a step, so that the cut leaves room for it.

MARGIN_DIVISOR = 64
"""The sum of the parts may differ from the tokens of the prompt by a 64th of the budget."""


def reasoning_run(node: Node, provider: str | None) -> RecordedNode | None:
    """Return the run of a history, if the history has reasoning that a provider accepts.

    ``None`` for another node, or for a history that is not a single run.
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

    messages: Sequence[Message]
    unit: ConversationUnit
    tokens_before: Sequence[int]
    """By message, the tokens of the messages before it."""
    excess_before: int
    """The tokens before the history, minus the limit."""
    budget: int

    def before_question(self, stop: int) -> int:
        """Return the end of the messages before ``stop``, without the questions at their end."""
        while stop and _asks_or_instructs(self.messages[stop - 1]):
            stop -= 1
        return stop

    def need(self, stop: int, end: int, tokens_after: int) -> int:
        """Return how many tokens a request with the messages before ``stop`` has to save.

        ``tokens_after`` are the tokens after the history. The question from ``end`` to ``stop``
        counts as part of them, because it may have been after the history.
        """
        half_step = max(min(self.unit.cuts.step // 2, self.budget // 4), 1)
        question_tokens = self.tokens_before[stop] - self.tokens_before[end]
        tokens_after += question_tokens + self.budget // MARGIN_DIVISOR
        rounded_up = -(-tokens_after // half_step) * half_step
        return self.excess_before + self.tokens_before[end] + rounded_up

    def had_state(self, state: State, start: int, grounding_tokens: int) -> bool:
        """Return whether the request that the turn at ``start`` answers certainly had a state.

        ``grounding_tokens`` are the tokens of groundings, which are only in the current request.
        """
        # The last user turns before the answer may have been after the history.
        end = self.before_question(start)
        need = self.need(start, end, grounding_tokens)
        cuts = self.unit.cuts
        if state == (cuts.lead, False, 0) and need + cuts.step <= 0:
            return True
        ends = range(end, max(start, end + 1))
        possible = starmap(self.unit.cuts_at, ((start, True), *((stop, False) for stop in ends)))
        return all(cuts.state(cuts.point(need)) == state for cuts in possible)


def bound_choice(plan: Plan) -> tuple[Choice, Trimmed | None] | None:
    """Return the choice for a prompt with bound reasoning, and what it does to the reasoning.

    The second value is ``None`` if all reasoning is sent. The result is ``None`` if the prompt has
    not exactly one history with reasoning, or if the first action is on another part: it is unknown
    which requests had that part.
    """
    tokens_after = grounding_tokens = 0
    units: list[ConversationUnit] = []
    for child in plan.children:
        mask = child.slot.node._mask
        if isinstance(child.unit, ConversationUnit):
            units.append(child.unit)
        elif mask & REQUEST:
            grounding_tokens += child.tokens
        elif units and mask & TURN and not mask & (SYSTEM | SECTION):
            tokens_after += child.tokens
    run = reasoning_run(units[0].node, plan.measure.facts.provider) if len(units) == 1 else None
    if run is None or any(action.unit is not units[0] for action in plan.order.actions[:1]):
        return None
    unit = units[0]
    tokens_before = [0, *accumulate(plan.measure.messages(run))]
    excess_before = plan.need(plan.limit) - tokens_before[-1] - tokens_after - grounding_tokens
    requests = _Requests(run.items, unit, tokens_before, excess_before, plan.budget)
    size = len(run.items)
    need = requests.need(size, requests.before_question(size), tokens_after + grounding_tokens)
    point = unit.cuts.point(need)
    choice = Choice()
    if point:
        choice.cut(unit, point)
    state, first_bound = unit.cuts.state(point), None
    rounds = remember(run, exchanges_of, exchanges_of).rounds
    for start in reversed(rounds):
        if start < state[0] or not requests.had_state(state, start, grounding_tokens):
            break
        first_bound = start
    if first_bound is None:
        return choice, Trimmed() if rounds else None
    if not point and first_bound == rounds[0] and not state[2]:
        return choice, None
    return choice, Trimmed(run.items[first_bound])


def _asks_or_instructs(message: Message) -> bool:
    return asks(message) or message.role not in ("user", "assistant", "tool")


# Fitting: the complete prompt is sent if it is within its budget, else parts are dropped.
#
# A plan only chooses what is tried next. The prompt that is returned was made ready to be sent and
# counted. So it is never over its budget, even if the plan was wrong. Read ``fit`` first, then
# ``_drop_to_fit``.

NEAR_DIVISOR = 8
"""The complete prompt is tried if its plan exceeds the limit by at most an eighth of the budget."""
MAXIMUM_TOKEN_LENGTH = 6
"""The maximum of characters per token, on average. Ordinary text has about four."""
SHOWN_PARTS = 5
"""The number of parts that an error names, the largest first."""

ANY_TOKENS = 2**60
"""The budget in the plan of a prompt without a budget."""

S = TypeVar("S")

ListDropped: TypeAlias = Callable[[], tuple[Dropped, ...]]
"""A function that lists the dropped parts, in the order of the document."""


@attrs.frozen
class _Limited:
    """A tree whose limits are applied, before a budget drops anything."""

    tree: RootNode
    complete: RootNode
    """The tree with only the first of alternatives, and without reserves."""
    cuts: LimitCuts = ()
    cut_parts: tuple[Dropped, ...] = ()
    """The reports of the cuts in the complete tree."""
    cleared: tuple[ConversationNode, ...] = ()
    """The histories whose results are cleared."""
    reserved: int = 0
    """The tokens of all reserves in the tree."""

    @classmethod
    def of(cls, tree: RootNode, measuring: Callable[[], Measure]) -> "_Limited":
        """Return a tree with its limits applied."""
        if leaves_no_choice(opaque_nodes(tree)):
            return cls(tree, tree)
        tree, cuts = limited(tree, measuring)
        complete = first_alternatives(tree)
        cleared = tuple(_cleared_histories(tree))
        return cls(tree, complete, cuts, still_cut(cuts, complete), cleared, reserved(tree))


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

    The complete tree is tried first. A plan is made only if that is too long, or certain to be.

    - ``prepare`` makes a tree ready to be sent. Its second argument is what the budget did to
      histories, ``None`` if the tree has all parts.
    - ``tokens`` counts the tokens of such a result.
    - ``measuring`` returns the counter of parts. It is called only for limits, edited results and a
      plan, because most prompts fit completely.

    :class:`BudgetError` if the parts that have to stay are too long.
    """
    measuring = cache(measuring)
    prompt = _Limited.of(tree, measuring)
    tree, cut_parts = prompt.tree, prompt.cut_parts
    trimmed = Trimmed() if cut_parts else None
    total = budget.of(facts.window, facts.model)
    is_cleared = any(map(clears_early, prompt.cleared))
    binds = facts.binds_reasoning and _has_reasoning(tree, facts.provider)
    if total is None:
        _check_clearing(prompt.cleared)
        if not (binds and is_cleared):
            return partial(tuple, cut_parts), prepare(prompt.complete, trimmed)
        total = ANY_TOKENS
    limit = total - budget.reserve - prompt.reserved

    @cache
    def plan() -> Plan:
        return Plan(tree, measuring(), total, limit)

    def attempt(rest: RootNode, edited: Trimmed | None) -> tuple[S, int]:
        """Return a tree ready to be sent, and by how many tokens it exceeds the limit."""
        ready = prepare(rest, edited)
        return ready, tokens(ready) - limit

    if limit < 0:
        raise _no_room(plan(), tree, attempt)
    # Try the complete prompt, unless it is certain to be too long.
    excess, fits = None, None
    is_long = is_cleared or has_far_too_many_characters(prompt.complete, limit)
    if not is_long or _may_fit(plan(), limit):
        try:
            ready, excess = attempt(prompt.complete, trimmed)
        except PromptError:
            pass  # the error may be in a part that is dropped
        else:
            if excess <= 0:
                fits = partial(tuple, cut_parts), ready
                if not binds:
                    return fits
    # With bound reasoning, a prompt that fits keeps the cut of its earlier requests.
    bound = _fit_bound(plan(), prompt.cuts, attempt) if binds else None
    return bound or fits or _drop_to_fit(plan(), prompt.cuts, attempt, excess=excess, limit=limit)


def _may_fit(plan: Plan, limit: int) -> bool:
    """Return whether a complete prompt may be within its limit, judged by its plan."""
    if plan.earlier_excess:
        return plan.need(limit) + plan.earlier_excess <= 0
    return plan.need(limit) <= plan.budget // NEAR_DIVISOR + plan.frames


def _has_reasoning(tree: RootNode, provider: str | None) -> bool:
    return any(reasoning_run(node, provider) for node in opaque_nodes(tree))


def _fit_bound(
    plan: Plan, cuts: LimitCuts, attempt: Callable[[RootNode, Trimmed | None], tuple[S, int]]
) -> tuple[ListDropped, S] | None:
    """Return the rest of a tree with the bound reasoning that the model still accepts.

    ``None`` if it is not certain which reasoning that is, or if the rest is too long.
    """
    bound = bound_choice(plan)
    if bound is None:
        return None
    choice, trimmed = bound
    tree = plan.tree_of(choice)
    limits = still_cut([cut for cut in cuts if cut[0] is not None], tree)
    try:
        ready, excess = attempt(tree, Trimmed() if limits else trimmed)
    except PromptError:
        return None  # the error may be in a part that is dropped
    cut_parts = still_cut(cuts, tree)
    dropped = partial(_all_dropped, cut_parts, choice, plan.children, -excess)
    return (dropped, ready) if excess <= 0 else None


def _cleared_histories(tree: RootNode) -> Iterator[ConversationNode]:
    """Yield each history whose results are cleared."""
    for node in opaque_nodes(tree):
        if isinstance(node, ConversationNode) and node.clear_results:
            yield node


def _check_clearing(histories: Iterable[ConversationNode]) -> None:
    """Raise :class:`OptionError` for a history that is cleared only with a budget."""
    for history in histories:
        if not clears_early(history):
            problem = "clear_results without a budget"
            fix = "render with budget=..., or write ClearResults(..., at_least=4_000)"
            raise OptionError(problem, fix=fix, at=(history.source,))


def has_far_too_many_characters(tree: RootNode, limit: int) -> bool:
    """Return whether a tree is so long that a plan is made before the tree is tried.

    The guess only saves time: the complete tree is tried nevertheless if it may fit by the plan.
    """
    free_characters = limit * MAXIMUM_TOKEN_LENGTH
    node_stack: list[Child] = [*tree.content]
    while node_stack and free_characters >= 0:
        node = node_stack.pop()
        if isinstance(node, str):
            free_characters -= len(node)
        elif isinstance(node, RecordedNode):
            free_characters -= sum(len(message._plain or "") for message in node.items)
        else:
            node_stack += node.content
    return free_characters < 0


def _drop_to_fit(
    plan: Plan,
    cuts: LimitCuts,
    attempt: Callable[[RootNode, Trimmed | None], tuple[S, int]],
    *,
    excess: int | None,
    limit: int,
) -> tuple[ListDropped, S]:
    """Drop more and more until the rest fits; put parts back if it has fewer tokens than planned.

    ``excess`` is by how many tokens the complete prompt exceeds the limit, ``None`` if it was not
    tried. :class:`BudgetError` if the rest is too long without all droppable parts.

    The number of tokens to save is found between two bounds. With fewer than ``lower`` the rest is
    too long; with ``upper`` the plan chooses ``best``, which fits.
    """
    need = plan.need(limit)
    lower = 0
    rate = 1.0  # by how many tokens a request becomes shorter for each token saved of its parts
    last_attempt: tuple[int, int] | None = None
    if excess is not None:
        need = min(max(need, 1), excess)  # the drop of any part may leave out reasoning, too
        lower, last_attempt = 1, (0, excess)
    best: tuple[ListDropped, S] | None = None
    best_savings = upper = plan.droppable + 1
    while best is None or lower < upper:
        choice = plan.choose(need)
        savings = choice.saved_tokens
        if best is not None and savings >= best_savings:
            if plan.earlier_excess:
                break  # a smaller need would cut before the cut of an earlier request
            upper = need
            need = (lower + upper) // 2
            continue
        tree = plan.tree_of(choice)
        cut_parts = still_cut(cuts, tree)
        is_complete = not savings and not cut_parts
        try:
            ready, excess = attempt(tree, None if is_complete else Trimmed())
        except PromptError:
            if best is None:
                raise
            break  # the error is in a part that was put back
        if excess <= 0:
            best_savings, upper = savings, need
            best = partial(_all_dropped, cut_parts, choice, plan.children, -excess), ready
        elif savings >= plan.droppable:
            raise _too_long(plan, limit, limit + excess)
        else:
            lower = savings + 1
        # A request has fewer tokens than its parts, because neighbours that merge share a frame.
        if last_attempt is not None and last_attempt[0] != savings and not plan.earlier_excess:
            rate = min(max((last_attempt[1] - excess) / (savings - last_attempt[0]), 0), 1)
        last_attempt = savings, excess
        need = savings + int(excess / rate) if rate else plan.droppable
        need = max(min(need, upper - 1), lower)
    return best


def _all_dropped(
    cut_parts: tuple[Dropped, ...], choice: Choice, children: Sequence[TimelineChild], free: int
) -> tuple[Dropped, ...]:
    return (*cut_parts, *dropped_by(choice, children, free))


def _no_room(
    plan: Plan, tree: RootNode, attempt: Callable[[RootNode, Trimmed | None], tuple[S, int]]
) -> BudgetError:
    """Return the error for reserves that are larger than the budget."""
    smallest = plan.tree_of(plan.choose(plan.droppable))
    required = attempt(smallest, Trimmed())[1] + plan.limit
    free, needed = plan.budget - plan.limit, plan.needed()
    rows = rows_of(needed, required)
    return BudgetError(
        f"the reserves are {in_tokens(free)}, the budget is {plan.budget:,}\n"
        f"the rest of the prompt needs {in_tokens(required)}\n{lines_of(rows, SHOWN_PARTS)}",
        fix=f"write smaller reserves, or a budget of {required + free:,}",
        at=[node.source for node in opaque_nodes(tree) if isinstance(node, ReserveNode)],
        required=required,
        largest=needed,
        budget={"limit": plan.budget, "reserve": free, "room": 0},
        rows=rows,
    )


def _too_long(plan: Plan, limit: int, required: int) -> BudgetError:
    needed = plan.needed()
    rows, reserve = rows_of(needed, required), plan.budget - limit
    what = f"the prompt needs {in_tokens(required)}; {limit:,} are available"
    if reserve:
        what += f" ({plan.budget:,} - {reserve:,} reserved)"
    return BudgetError(
        f"{what}\n{lines_of(rows, SHOWN_PARTS)}",
        fix=f"write a budget of {required + reserve:,}{_advice(plan, needed, limit, required)}",
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
        nodes = [child.slot.node for child in plan.children]
        runs = [node for node in nodes if node.source == largest.source]
        is_capped = any(getattr(node, "max_result_tokens", None) for node in runs)
        cap = "cap its results: max_result_tokens=2_000"
        if is_capped:
            cap = "lower its max_result_tokens"
        return f", or keep or pin fewer exchanges of the history, or {cap}"
    if largest.what == TOOLS_TEXT:
        return ""
    if largest.what.startswith("tool "):
        return ", or send fewer tools"
    name = "Grounding" if largest.what.startswith("grounding") else "Section"
    return f", or let it drop parts: {name}(..., priority=1)"


# The share of a budget that each lazy part may fill.

SHARES = 64
"""The number of equal shares of a budget. A lazy part gets one or more complete shares, or none."""


def room_for(tree: RootNode, budget: Budget, measure: Measure) -> float:
    """Return the tokens for a lazy part with a weight of one, before any lazy part has run."""
    total = budget.of(measure.facts.window, measure.facts.model) or 0
    in_timeline = {id(node) for node in among_turns(tree)}

    def without_lazy(node: Node) -> Node | None:
        if not isinstance(node, LazyNode):
            return node
        # A container is sent only if the lazy part in it writes something: so a text replaces it.
        return None if id(node) in in_timeline else _TEXT

    without, _ = limited(rewrite(tree, without_lazy, within=OPAQUE), lambda: measure)
    plan = Plan(without, measure, total, total)
    required = plan.need(0) - plan.droppable
    free_tokens = total - budget.reserve - reserved(without) - required
    weights = sum(node.weight for node in opaque_nodes(tree) if isinstance(node, LazyNode))
    return max(free_tokens, 0) / (weights + (1 if plan.droppable else 0))


_TEXT = make(TextNode, (".",), mask=bits(TEXT))
"""The text in place of a lazy part inside a turn."""


def share(tokens_per_weight: float, weight: float, total: int) -> int:
    """Return the tokens of a lazy part, rounded down to shares of a budget of ``total`` tokens."""
    size = max(total // SHARES, 1)
    return int(tokens_per_weight * weight) // size * size
