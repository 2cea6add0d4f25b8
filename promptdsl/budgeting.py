"""A prompt and its budget: what is tried, counted as it is sent, and tried again."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NoReturn, Protocol, TypeAlias, TypeVar, cast

import attrs

from promptdsl.errors import BudgetError, OptionError
from promptdsl.fitting.dropping import Dropped, in_tokens
from promptdsl.fitting.limits import limited, still_cut
from promptdsl.fitting.places import reserved, settled
from promptdsl.fitting.plan import Fitted, Plan
from promptdsl.measuring import Measuring
from promptdsl.nodes import Fragment, Lazy, Limit, Text
from promptdsl.rewriting import rewrite, with_content
from promptdsl.sources import Source, author
from promptdsl.tokens import TokenCounter
from promptdsl.tree import FRAGMENT, HOLLOW, SECTION, SYSTEM, TEXT, TURN, Node, bits, make, walk

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
                f"nothing is known of the window of {model or 'no model'}",
                fix="write a number of tokens: budget=100_000, or register_model(..., window=...)",
            )
        return window


def checked_budget(tokens: object, reserve: object, counter: Any) -> Budget:
    """Return what is asked of a budget; :class:`OptionError` for what is none."""
    if tokens is None and counter is None and type(reserve) is int and reserve >= 0:
        return _NONE if not reserve else Budget(None, reserve)
    number = type(tokens) is int and tokens >= 0
    if tokens is not None and tokens != "window" and not number:
        _refuse("budget", tokens, "write a number of tokens, or 'window'")
    if type(reserve) is not int or reserve < 0:
        _refuse("reserve", reserve, "write a number of tokens, from 0 on")
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
    plan = Plan(read, measure)
    need = plan.total + _around(read, measure) - limit
    while True:
        # What is around the messages is only known when they are sent: before giving up, try.
        fitted = plan.fit(min(max(need, 0), plan.spare), total // STEPS)
        left = still_cut(cut, fitted.tree)
        sent = send(fitted.tree, bool(left or fitted.saved))
        short = sent.tokens - limit
        if short <= 0:
            return partial(_all_dropped, left, fitted), sent
        if need >= plan.spare:
            raise _too_much(plan, limit, sent.tokens)
        need = fitted.saved + short


def _all_dropped(cut: tuple[Dropped, ...], fitted: Fitted) -> tuple[Dropped, ...]:
    return (*cut, *fitted.dropped())


def _around(tree: Node, measure: Measuring) -> int:
    """Return the tokens around all messages: the frame of the system text, and the reply's."""
    told = any(not isinstance(c, str) and c.mask & (SYSTEM | SECTION) for c in tree.content)
    return measure.reply + (measure.frame("system") if told else 0)


def _too_much(plan: Plan, limit: int, required: int) -> BudgetError:
    needed = plan.needed()
    turns = sum(one.tokens for one in needed if one.kind == "turn")
    if turns * 2 >= required:
        fix = "put the turns of the conversation in a History: it is cut at its oldest exchanges"
    elif needed and needed[0].kind == "question":
        fix = "cut the text of the last user turn: Limit(max_tokens, text)"
    else:
        fix = "give it a larger budget, or parts of it a priority: Section(..., priority=1)"
    shown = [f"\n  {one.what}, {in_tokens(one.tokens)}: {one.source}" for one in needed[:SHOWN]]
    what = f"the prompt needs {in_tokens(required)}, the budget has room for {limit:,}"
    said = what + "".join(shown)
    return BudgetError(said, fix=fix, limit=limit, required=required, largest=needed)


SHOWN = 5
"""How many of the largest parts an error names."""


# Lazies.


def room_for(tree: Node, budget: Budget, measure: Measuring, read: Callable[[Node], Node]) -> float:
    """Return how many tokens there are for a weight of one, before any lazy has run.

    ``tree`` is the tree with its lazies, ``read`` reads what is recorded in it.
    """
    total = budget.of(measure.facts.window, measure.facts.model) or 0
    lazies = [node for node, _ in walk(tree) if isinstance(node, Lazy)]
    among_turns = {id(node) for node in _among_turns(tree)}

    def without_lazy(node: Node) -> Node | None:
        if not isinstance(node, Lazy):
            return node
        # What is around it is there as soon as it writes anything.
        return None if id(node) in among_turns else _WRITTEN

    without, _ = limited(read(rewrite(tree, without_lazy, within=HOLLOW)), measure)
    plan = Plan(without, measure)
    required = plan.total - plan.spare + _around(without, measure)
    room = total - budget.reserve - reserved(without) - required
    weights = sum(lazy.weight for lazy in lazies)
    return max(room, 0) / (weights + (1 if plan.spare else 0))


_WRITTEN: Node = make(Text, (".",), mask=bits(TEXT))


def _among_turns(tree: Node) -> Iterator[Node]:
    """Yield what stands in a timeline, also in its fragments."""
    waiting = [*tree.content]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Fragment):
            waiting += node.content
        else:
            yield node


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
