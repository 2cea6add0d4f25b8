"""Fitting: the whole prompt is sent if it is within its budget, otherwise parts are dropped."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import TypeAlias, TypeVar

from promptdsl.budget.budget import Budget
from promptdsl.budget.choose import Choice
from promptdsl.budget.dropped import Dropped, Needed, dropped_by, in_tokens
from promptdsl.budget.limits import LimitCuts, limited, still_cut
from promptdsl.budget.line import Line
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.plan import Plan
from promptdsl.budget.slots import first_alternatives, reserved
from promptdsl.budget.units import Entry
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import BudgetError, OptionError, PromptError
from promptdsl.messages import conversation_cache
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import ClearResults, ConversationNode, ReserveNode
from promptdsl.tree.node import Child, Node
from promptdsl.tree.recorded import remember
from promptdsl.tree.rewrite import hollow, is_settled
from promptdsl.tree.turn_nodes import RecordedNode, RootNode

NEAR = 8
"""If the plan is over by less than this share of the budget, the whole is tried: an eighth."""
CHARACTERS = 6
"""The most characters of a token, on average: ordinary text has about four."""
SURE = 3
"""A history with bound reasoning may be cut although the whole fits, from two thirds of the budget.

So much is left free for what stands behind the history at most: half a step.
"""
PATIENCE = 50
"""After so many additions of the same tokens that change nothing, the addition doubles."""
SLACK = 12
"""A rest that fits, with at most so many tokens less than planned, is sent as it is."""
SHOWN = 5
"""The count of the largest parts that an error names."""

ANY_TOKENS = 2**60
"""The budget of a prompt without one that is planned all the same."""

S = TypeVar("S")

ListDropped: TypeAlias = Callable[[], tuple[Dropped, ...]]
"""A function that lists the dropped parts, in the order of the document."""


def fit(
    tree: RootNode,
    budget: Budget,
    facts: ModelFacts,
    *,
    measuring: Callable[[], Measure],
    prepare: Callable[[RootNode, bool | Message], S],
    tokens: Callable[[S], int],
) -> tuple[ListDropped, S]:
    """Return a function that lists the dropped parts, and the rest of the tree, ready to be sent.

    ``prepare`` makes a tree ready, given whether a part is missing in it, or the first message that
    was written since the last part went; ``tokens`` counts its result. ``measuring`` returns the
    counter of parts, made only for choices or a plan: most prompts fit whole. The whole is tried
    first, and a plan is made only when that is too long.
    """
    has_choices = not is_settled(hollow(tree))
    measure = measuring() if has_choices else None
    cut_tree, cuts = limited(tree, measure) if measure else (tree, ())
    whole = first_alternatives(cut_tree) if has_choices else cut_tree
    cut_parts = still_cut(cuts, whole) if cuts else ()
    total = budget.of(facts.window, facts.model)
    clearings = [*_clearings(cut_tree)] if has_choices else []
    is_cleared = any(words.at_least for _, words in clearings)
    binds = facts.binds_reasoning and _has_reasoning(cut_tree, facts.provider)
    if total is None:
        _check_clearing(clearings)
        if not (binds and is_cleared):
            return partial(tuple, cut_parts), prepare(whole, bool(cut_parts))
        total = ANY_TOKENS
    free = budget.reserve + (reserved(cut_tree) if has_choices else 0)
    limit = total - free
    if limit < 0:
        refused = Plan(cut_tree, measuring(), total, limit)
        least = tokens(prepare(refused.tree_of(refused.choose(refused.spare)), True))
        raise _no_room(refused, cut_tree, free, least)

    def attempt(part: RootNode, missing: bool | Message) -> tuple[S, int]:
        """Make a part ready; return it, and how many tokens it is over the limit."""
        ready = prepare(part, missing)
        return ready, tokens(ready) - limit

    # Try the whole, unless it is certain to be too long.
    plan, over, fits = None, None, None
    if is_cleared or has_far_too_many_characters(whole, limit):
        plan = Plan(cut_tree, measuring(), total, limit)
    if plan is None or plan.need(limit) + plan.slack <= (0 if plan.slack else total // NEAR):
        try:
            ready, over = attempt(whole, bool(cut_parts))
        except PromptError:
            pass  # the error may be in a part that is dropped
        else:
            if over <= 0:
                fits = partial(tuple, cut_parts), ready
                if not binds or (over <= -total // SURE and not is_cleared):
                    return fits
    plan = plan or Plan(cut_tree, measuring(), total, limit)
    bound = _fit_bound(plan, cuts, attempt) if binds else None
    return bound or fits or _drop_to_fit(plan, cuts, attempt, over=over, limit=limit)


def _has_reasoning(tree: RootNode, provider: str | None) -> bool:
    from promptdsl.budget.fresh import reasoning_run

    return any(reasoning_run(node, provider) for node in hollow(tree))


def _fit_bound(
    plan: Plan, cuts: LimitCuts, attempt: Callable[[RootNode, bool | Message], tuple[S, int]]
) -> tuple[ListDropped, S] | None:
    """Return the rest of a tree with the reasoning that is bound to what is sent before it.

    ``None`` if that cannot be known, or if the rest is too long.
    """
    from promptdsl.budget.fresh import bound_choice

    found = bound_choice(plan)
    if found is None:
        return None
    choice, since = found
    tree = plan.tree_of(choice)
    limits = still_cut([cut for cut in cuts if cut[0] is not None], tree)
    try:
        ready, over = attempt(tree, bool(limits) or since)
    except PromptError:
        return None  # the error may be in a part that is dropped
    parts = still_cut(cuts, tree)
    dropped = partial(_all_dropped, parts, choice, plan.line, plan.entries)
    return (dropped, ready) if over <= 0 else None


def _clearings(tree: RootNode) -> Iterator[tuple[Node, ClearResults]]:
    """Yield the histories whose results are cleared, and how."""
    for node in hollow(tree):
        words = node.clear_results if isinstance(node, ConversationNode) else None
        if words is not None:
            yield node, words


def _check_clearing(clearings: Iterable[tuple[Node, ClearResults]]) -> None:
    """Raise :class:`OptionError` for a history that is cleared by a budget, as there is none."""
    for node, words in clearings:
        if words.at_least is None:
            problem = "clear_results without a budget"
            fix = "render with budget=..., or write ClearResults(..., at_least=4_000)"
            raise OptionError(problem, fix=fix, at=(node.source,))


def has_far_too_many_characters(tree: RootNode, limit: int) -> bool:
    """Return whether a tree is so long that it is planned before the whole is tried.

    A guess that saves time: the whole is still tried if it may fit by the plan.
    """
    room = limit * CHARACTERS
    waiting: list[Child] = [*tree.content]
    while waiting and room >= 0:
        part = waiting.pop()
        if isinstance(part, str):
            room -= len(part)
        elif isinstance(part, RecordedNode):
            is_long = len(part.items) >= conversation_cache.SHORTEST
            known = remember(part, _characters, _characters) if is_long else _characters(part.items)
            room -= known[1]
        else:
            waiting += part.content
    return room < 0


def _characters(
    messages: Sequence[Message], before: tuple[int, int] | None = None
) -> tuple[int, int]:
    """Return the count of messages and of the characters of their texts, continued from before."""
    count, total = before or (0, 0)
    if count == len(messages) and before is not None:
        return before
    if count > len(messages):
        count, total = 0, 0
    added = sum(len(message._plain or "") for message in messages[count:])
    return len(messages), total + added


def _drop_to_fit(
    plan: Plan,
    cuts: LimitCuts,
    attempt: Callable[[RootNode, bool | Message], tuple[S, int]],
    *,
    over: int | None,
    limit: int,
) -> tuple[ListDropped, S]:
    """Drop more and more until the rest fits; put parts back if it has fewer tokens than planned.

    ``over`` is how many tokens the whole is over the limit, ``None`` if it was not tried.
    """
    planned = need = plan.need(limit)
    least = 0  # if fewer tokens are saved, the rest is known to be too long
    if over is not None:
        need = min(max(need, 1), over)  # with the first dropped part, reasoning may be left out
        least = 1
    best: tuple[ListDropped, S] | None = None
    best_saved = 0
    while True:
        choice = plan.choose(need)
        tree, saved = plan.tree_of(choice), choice.saved
        if best is not None and saved >= best_saved:
            return best
        cut_parts = still_cut(cuts, tree)
        try:
            ready, over = attempt(tree, bool(cut_parts or saved))
        except PromptError:
            if best is None:
                raise
            return best  # the error is in a part that was put back
        if over <= 0:
            best_saved = saved
            best = partial(_all_dropped, cut_parts, choice, plan.line, plan.entries), ready
            surplus = planned - saved - over
            if surplus <= SLACK:
                return best
            need = max(need - surplus, least)
            continue
        if need >= plan.spare:
            raise _too_long(plan, limit, limit + over)
        least = saved + 1
        # Its texts need more tokens together than one by one: need more, until the plan saves more.
        for tries in count():
            need += over << max(tries - PATIENCE, 0)
            if need >= plan.spare or plan.choose(need).saved != saved:
                break


def _all_dropped(
    cut_parts: tuple[Dropped, ...], choice: Choice, line: Line, entries: Sequence[Entry]
) -> tuple[Dropped, ...]:
    return (*cut_parts, *dropped_by(choice, line, entries))


def _no_room(plan: Plan, tree: RootNode, free: int, least: int) -> BudgetError:
    return BudgetError(
        f"the reserves are {in_tokens(free)}, the budget is {plan.budget:,}\n"
        f"the prompt needs {in_tokens(least)} beside them\n{_shown(plan.needed())}",
        fix="give it a larger budget, or leave less free",
        at=[node.source for node in hollow(tree) if isinstance(node, ReserveNode)],
        required=least,
        largest=plan.needed(),
    )


def _too_long(plan: Plan, limit: int, required: int) -> BudgetError:
    needed = plan.needed()
    kind = needed[0].kind if needed else "part"
    turns = sum(part.tokens for part in needed if part.kind == "turn")
    if turns * 2 >= required:
        fix = "put the turns of the conversation in a History: it is cut at its oldest exchanges"
    elif kind == "question":
        fix = "cut the text of the last user turn: Limit(max_tokens, text)"
    elif kind == "history":
        nodes = (it.slot.node for it in plan.entries if it.slot.node.source == needed[0].source)
        is_capped = any(getattr(node, "max_result_tokens", None) for node in nodes)
        cap = (
            "lower its max_result_tokens"
            if is_capped
            else "cap its results: max_result_tokens=2_000"
        )
        fix = f"keep or pin fewer of its exchanges, or {cap}"
    else:
        name = "Grounding" if needed and needed[0].what == "grounding" else "Section"
        fix = f"set a larger budget, or let parts be dropped: {name}(..., priority=1)"
    what = f"the prompt needs {in_tokens(required)}, the budget has room for {limit:,}"
    shown = _shown(needed)
    return BudgetError(
        f"{what}\n{shown}" if shown else what,
        fix=fix,
        limit=limit,
        required=required,
        largest=needed,
    )


def _shown(needed: Sequence[Needed]) -> str:
    """Return the largest parts that have to stay as lines, with those in them."""
    return "\n".join(line for part in needed[:SHOWN] for line in part.lines())
