"""A prompt and its budget: the whole is tried and counted as it is sent, then less and less."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

from promptdsl.budget.budget import Budget
from promptdsl.budget.dropped import Dropped, Needed, in_tokens
from promptdsl.budget.limits import Cut, limited, still_cut
from promptdsl.budget.measure_protocol import Measure, tools_frame_of
from promptdsl.budget.places import first_forms, reserved
from promptdsl.budget.plan import Fitted, Plan
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import BudgetError, PromptError
from promptdsl.messages import conversation_cache
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import ReserveNode
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import remember
from promptdsl.tree.rewrite import hollow, is_settled
from promptdsl.tree.turn_nodes import RecordedNode, among_turns

STEPS = 8
"""Into how many steps a budget is divided, by which the cut of a conversation moves."""


S = TypeVar("S")


Told = Callable[[], tuple[Dropped, ...]]
"""A function that lists what had to be dropped, in the order it was written."""


def fit(
    tree: Node,
    budget: Budget,
    facts: ModelFacts,
    *,
    measuring: Callable[[], Measure],
    prepare: Callable[[Node, bool], S],
    tokens: Callable[[S], int],
) -> tuple[Told, S]:
    """Return a function that lists the parts that had to go, and the rest, ready to be sent.

    ``prepare`` makes a tree ready, and is told whether anything is missing in it; ``tokens`` counts
    what it returned. ``measuring`` returns the counter of parts, which is made only when there is a
    choice or a plan: most prompts fit whole.
    The whole is tried first; what may go is planned only when that is too long. Raises
    :class:`BudgetError` when what has to stay is too much.
    """
    has_choices = not is_settled(tree)
    cut_tree, cut = limited(tree, measuring()) if has_choices else (tree, ())
    whole = first_forms(cut_tree) if has_choices else cut_tree
    left = still_cut(cut, whole) if cut else ()
    total = budget.of(facts.window, facts.model)
    if total is None:
        return partial(tuple, left), prepare(whole, bool(left))
    limit = total - budget.reserve
    if has_choices:
        limit -= reserved(cut_tree)
    if limit < 0:
        raise _too_much_reserved(cut_tree, budget, total)

    def attempt(part: Node, missing: bool) -> tuple[S, int]:
        """Make a part ready; return it, and how many tokens it is over the limit."""
        ready = prepare(part, missing)
        return ready, tokens(ready) - limit

    plan, over = None, None
    if not has_far_too_many_characters(whole, limit):
        likely = True
    else:
        plan = Plan(cut_tree, measuring())
        # Turns that merge share one frame, which the plan counts for each.
        likely = plan.need(limit) <= _frames(cut_tree, plan.measure)
    if likely:
        try:
            ready, over = attempt(whole, bool(left))
        except PromptError:
            pass  # what is wrong may be in what has to go
        else:
            if over <= 0:
                return partial(tuple, left), ready
    plan = plan or Plan(cut_tree, measuring())
    return _dropping(plan, cut, attempt, over=over, step=total // STEPS, limit=limit)


def _frames(tree: Node, measure: Measure) -> int:
    """Return the tokens of the frames of all messages, were none of them merged."""
    turns = among_turns(tree)
    count = sum(len(one.items) if isinstance(one, RecordedNode) else 1 for one in turns)
    return count * measure.frame("user")


def _dropping(
    plan: Plan,
    cut: Cut,
    attempt: Callable[[Node, bool], tuple[S, int]],
    *,
    over: int | None,
    step: int,
    limit: int,
) -> tuple[Told, S]:
    """Drop more and more until the rest fits.

    The whole is ``over`` the limit by so many tokens, if it was tried. The cut of a conversation
    moves by ``step``.
    """
    need = plan.need(limit)
    if need <= step:
        need = 0  # turns that merge are less than each by itself: all of it may fit
    saved = 0
    while True:
        # What is around the messages is only known when they are ready: before giving up, try.
        if need or over is None:
            fitted = plan.fit(min(need, plan.spare), step)
            left, saved = still_cut(cut, fitted.tree), fitted.saved
            ready, over = attempt(fitted.tree, bool(left or saved))
            if over <= 0:
                return partial(_all_dropped, left, fitted), ready
        if need >= plan.spare:
            raise _too_much(plan, limit, limit + over)
        if not need and plan.measure.facts.binds_reasoning:
            over = 1  # as soon as anything goes, reasoning does
        need = _more(plan, need, over, saved=saved, step=step)


CHARACTERS = 6
"""How many characters a token has at most, on average: ordinary text has about four."""


def has_far_too_many_characters(tree: Node, limit: int) -> bool:
    """Return whether a tree is not worth trying whole before it is planned.

    It is a guess that saves time: what might fit by the plan is tried whole all the same.
    """
    room = limit * CHARACTERS
    waiting = [*tree.content]
    while waiting and room >= 0:
        part = waiting.pop()
        if isinstance(part, str):
            room -= len(part)
        elif isinstance(part, RecordedNode):
            long = len(part.items) >= conversation_cache.SHORTEST
            found = remember(part, _characters, _characters) if long else _characters(part.items)
            room -= found[1]
        else:
            waiting += part.content
    return room < 0


def _characters(
    messages: Sequence[Message], before: tuple[int, int] | None = None
) -> tuple[int, int]:
    """Return how many messages there are, and the characters of their texts."""
    count, total = before or (0, 0)
    if count == len(messages) and before is not None:
        return before
    if count > len(messages):
        count, total = 0, 0
    return len(messages), total + sum(len(said.plain or "") for said in messages[count:])


PATIENCE = 50
"""How many times the same tokens are added to a need that saves no more yet, before they double."""


def _more(plan: Plan, need: int, over: int, *, saved: int, step: int) -> int:
    """Return a need larger by ``over`` tokens, or by more until it saves more than ``saved``."""
    for tried in count():
        need += over << max(tried - PATIENCE, 0)
        if need >= plan.spare or plan.saves(need, step) != saved:
            break
    return need


def _all_dropped(cut: tuple[Dropped, ...], fitted: Fitted) -> tuple[Dropped, ...]:
    return (*cut, *fitted.dropped())


def _too_much_reserved(tree: Node, budget: Budget, total: int) -> BudgetError:
    asked = [node for node in hollow(tree) if isinstance(node, ReserveNode)]
    free = budget.reserve + sum(node.tokens for node in asked)
    return BudgetError(
        f"the reserves are {in_tokens(free)}, the budget is {total:,}",
        fix="give it a larger budget, or leave less free",
        at=[node.source for node in asked],
        limit=total - free,
    )


def _too_much(plan: Plan, limit: int, required: int) -> BudgetError:
    tools = tools_frame_of(plan.root, plan.measure)
    needed: list[Needed] = [*plan.needed()]
    if tools:
        needed.append(Needed("what the model is told of tools", tools, None))
    needed.sort(key=lambda one: -one.tokens)
    turns = sum(one.tokens for one in needed if one.kind == "turn")
    if turns * 2 >= required:
        fix = "put the turns of the conversation in a History: it is cut at its oldest exchanges"
    else:
        fix = _ADVICE[needed[0].kind] if needed else _ADVICE["part"]
    shown = [f"\n  {one.what}, {in_tokens(one.tokens)}{_at(one)}" for one in needed[:SHOWN]]
    what = f"the prompt needs {in_tokens(required)}, the budget has room for {limit:,}"
    said = what + "".join(shown)
    return BudgetError(said, fix=fix, limit=limit, required=required, largest=needed)


def _at(one: Needed) -> str:
    return f": {one.source}" if one.source else ""


_ADVICE = {
    "question": "cut the text of the last user turn: Limit(max_tokens, text)",
    "history": "keep fewer of its last exchanges, or record shorter results",
    **dict.fromkeys(
        ("part", "turn"),
        "give it a larger budget, or parts of it a priority: Section(..., priority=1)",
    ),
}
"""By kind of what is largest, what to do about it."""

SHOWN = 5
"""How many of the largest parts an error names."""
