"""A prompt and its budget: what is tried, counted as it is sent, and tried again."""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Literal, NoReturn, Protocol, TypeAlias, TypeVar, cast

import attrs

from promptdsl.errors import BudgetError, OptionError
from promptdsl.fitting.dropping import Dropped, Needed, in_tokens
from promptdsl.fitting.limits import limited, still_cut
from promptdsl.fitting.places import hollow, reserved, settled
from promptdsl.fitting.plan import Fitted, Plan
from promptdsl.measuring import Measuring
from promptdsl.nodes import Lazy, Limit, Reserve, Text, Tool, among_turns
from promptdsl.rewriting import rewrite, with_content
from promptdsl.sources import Source, author
from promptdsl.tokens import TokenCounter
from promptdsl.tokens.tools import tools_frame
from promptdsl.tree import FRAGMENT, HOLLOW, SECTION, SYSTEM, TEXT, TURN, Node, bits, make

Tokens: TypeAlias = int | Literal["window"]

STEPS = 8
"""Into how many steps a budget is divided, by which the cut of a conversation moves."""
SHARES = 64
"""Into how many parts a budget is divided, of which lazies get whole ones."""


@attrs.frozen
class Budget:
    """How many tokens a request may have; ``reserve`` of them are left for the answer.

    ``tokens`` is ``None`` where nobody said.
    """

    tokens: Tokens | None = None
    reserve: int = 0
    counter: TokenCounter | Callable[[str], int] | None = attrs.field(default=None, eq=False)
    at: Source | None = attrs.field(default=None, eq=False)
    """Where it was asked for: nobody of the author's is on the stack when a prompt is awaited."""

    def of(self, window: int | None, model: str | None) -> int | None:
        """Return the tokens there are; :class:`OptionError` where the model's are not known."""
        if self.tokens != "window":
            return self.tokens
        if window is None:
            raise OptionError(
                f"nothing is known of the window of {model}" if model else "no model, so no window",
                fix="write a number of tokens: budget=100_000, or register_model(..., window=...)",
            )
        return window


def checked_budget(tokens: object, reserve: object, counter: Any) -> Budget:
    """Return what is asked of a budget; :class:`OptionError` for what is none."""
    if tokens is None and counter is None and type(reserve) is int and reserve >= 0:
        return _NONE if not reserve else Budget(None, reserve)
    number = type(tokens) is int and tokens >= 0
    if tokens is not None and tokens != "window" and not number:
        _refuse("budget", tokens, "write a whole number of tokens, or 'window'")
    if type(reserve) is not int or reserve < 0:
        _refuse("reserve", reserve, "write a whole number of tokens, from 0 on")
    if number and reserve > cast("int", tokens):
        _refuse("reserve", reserve, f"the budget, of which it is a part, is {tokens}")
    return Budget(cast("Tokens", tokens), reserve, counter, author())


def _refuse(name: str, given: object, fix: str) -> NoReturn:
    raise OptionError(f"{name}={given!r}", fix=fix, at=(author(),))


_NONE = Budget()


class Sent(Protocol):
    """What a tree came to."""

    @property
    def tokens(self) -> int:
        """How many tokens it is, as it is sent."""
        ...


S = TypeVar("S", bound=Sent)


def fit(
    tree: Node, budget: Budget, measure: Measuring, send: Callable[[Node, bool], S]
) -> tuple[Callable[[], tuple[Dropped, ...]], S]:
    """Return what tells what had to be dropped for a tree to fit, and what the rest came to.

    ``send`` runs a tree through the passes and its adapter; it is told whether anything is missing.
    Raises :class:`BudgetError` when what has to stay is too much.
    """
    read, cut = limited(tree, measure)
    total = budget.of(measure.facts.window, measure.facts.model)
    if total is None:
        whole = settled(read)
        left = still_cut(cut, whole)
        return (lambda: left), send(whole, bool(left))
    limit = total - budget.reserve - reserved(read)
    _check_reserves(read, budget, total)
    plan = Plan(read, measure)
    need = plan.total + _around(read, measure) - limit
    if need <= total // STEPS:
        need = 0  # turns that merge are less than each by itself: all of it may fit
    while True:
        # What is around the messages is only known when they are sent: before giving up, try.
        fitted = plan.fit(min(need, plan.spare), total // STEPS)
        left = still_cut(cut, fitted.tree)
        sent = send(fitted.tree, bool(left or fitted.saved))
        short = sent.tokens - limit
        if short <= 0:
            return partial(_all_dropped, left, fitted), sent
        if need >= plan.spare:
            raise _too_much(plan, limit, sent.tokens, _tools_frame(read, measure))
        if not need and measure.facts.binds_reasoning:
            short = 1  # as soon as anything goes, reasoning does
        need = _more(plan, need, short, (fitted.saved, total // STEPS))


PATIENCE = 50
"""How often as much is tried again, when nothing else goes for it, before it becomes more."""


def _more(plan: Plan, need: int, short: int, before: tuple[int, int]) -> int:
    """Return ``short`` tokens more than were needed, as often as it takes to save something else.

    ``before`` is what was saved, and the tokens by which a cut moves.
    """
    saved, step = before
    for tried in count():
        need += short << max(tried - PATIENCE, 0)
        if need >= plan.spare or plan.saves(need, step) != saved:
            break
    return need


def _all_dropped(cut: tuple[Dropped, ...], fitted: Fitted) -> tuple[Dropped, ...]:
    return (*cut, *fitted.dropped())


def _check_reserves(tree: Node, budget: Budget, total: int) -> None:
    """Raise :class:`BudgetError` when what is left free is more than there is."""
    asked = [node for node in hollow(tree) if isinstance(node, Reserve)]
    free = budget.reserve + sum(node.tokens for node in asked)
    if free > total:
        raise BudgetError(
            f"the reserves are {in_tokens(free)}, the budget is {total:,}",
            fix="give it a larger budget, or leave less free",
            at=[node.source for node in asked],
            limit=total - free,
        )


def _around(tree: Node, measure: Measuring) -> int:
    """Return the tokens around all messages: frames of the system text, the tools, the reply."""
    told = any(not isinstance(c, str) and c.mask & (SYSTEM | SECTION) for c in tree.content)
    return measure.reply + (measure.frame("system") if told else 0) + _tools_frame(tree, measure)


def _tools_frame(tree: Node, measure: Measuring) -> int:
    """Return the tokens a target has for having tools, beside these."""
    equipped = any(isinstance(node, Tool) for node in among_turns(tree))
    return tools_frame(measure.facts) if equipped else 0


def _too_much(plan: Plan, limit: int, required: int, tools: int) -> BudgetError:
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


# Lazies.


def room_for(tree: Node, budget: Budget, measure: Measuring, read: Callable[[Node], Node]) -> float:
    """Return how many tokens there are for a weight of one, before any lazy has run.

    ``tree`` is the tree with its lazies, ``read`` reads what is recorded in it.
    """
    total = budget.of(measure.facts.window, measure.facts.model) or 0
    lazies = [node for node in hollow(tree) if isinstance(node, Lazy)]
    loose = {id(node) for node in among_turns(tree)}

    def without_lazy(node: Node) -> Node | None:
        if not isinstance(node, Lazy):
            return node
        # What is around it is there as soon as it writes anything.
        return None if id(node) in loose else _WRITTEN

    without, _ = limited(read(rewrite(tree, without_lazy, within=HOLLOW)), measure)
    plan = Plan(without, measure)
    required = plan.total - plan.spare + _around(without, measure)
    room = total - budget.reserve - reserved(without) - required
    weights = sum(lazy.weight for lazy in lazies)
    return max(room, 0) / (weights + (1 if plan.spare else 0))


_WRITTEN: Node = make(Text, (".",), mask=bits(TEXT))


def held(said: Node, tokens: int | None, lazy: Lazy) -> Node:
    """Return what a lazy wrote, cut to the tokens it has; turns are left as they are."""
    if tokens is None or said.mask & TURN:
        return said
    empty = make(Limit, mask=bits(FRAGMENT), at=lazy.at, max_tokens=tokens, keep="head")
    return with_content(empty, (said,))


def share(room: float, weight: float, total: int) -> int:
    """Return the tokens of a lazy of a weight, rounded down to a whole part of the budget."""
    part = max(total // SHARES, 1)
    return int(room * weight) // part * part
