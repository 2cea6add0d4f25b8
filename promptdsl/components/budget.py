"""What a budget may do with parts, and where a part ends that a provider's cache may keep."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Never

from promptdsl.components.arguments import TEXT_BITS, Content, adopt, inline, joined, retract
from promptdsl.components.block import TEXT_FORBIDS, Block, Written, advice_for, begin
from promptdsl.components.options import check_count, check_priority, refuse_options
from promptdsl.components.scope import misplaced, place
from promptdsl.foundation.errors import OptionError, PromptError, nearest
from promptdsl.foundation.unicode import exact
from promptdsl.tree.group_nodes import FirstFitNode, GroupNode, LimitNode, NoteNode, ReserveNode
from promptdsl.tree.masks import BARE, BUSY, CACHE, HOLLOW, NAMED, SECTION, TEXT
from promptdsl.tree.node import DEFAULTS, Child, Node, found_in, label, make, named_label
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.turn_nodes import CacheBreakpointNode

TTLS = ("5m", "1h")
ENDS = ("head", "tail", "ends")

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Group(Block, GroupNode):
    """Parts that belong together: a budget keeps or drops them whole.

    The lowest ``priority`` goes first; without one it is the lowest of what stands inside.
    Otherwise a group is as a :class:`Fragment`.

    Raises :class:`OptionError` for a priority that is no finite number.
    """

    __slots__ = ()
    _own = HOLLOW

    if TYPE_CHECKING:

        def __init__(self, *content: Content, priority: float | None = None) -> None: ...

    else:

        def __init__(self, *content, priority=None, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            self.priority = None if priority is None else _priority(self, priority, content)
            begin(self, content, options)

    def _keywords(self) -> frozenset[str]:
        return _PRIORITY


class FirstFit(Block, FirstFitNode):
    """Forms of one part, the best first: the first one is sent that a budget has room for.

    Every argument, and everything written in its block, is a form; one of several parts is a
    :class:`Fragment`. Forms may share ids. With a ``priority`` a budget may leave out the last one
    as well. Without a budget the first is sent.

    Raises :class:`OptionError` for a priority that is no finite number.
    """

    __slots__ = ()
    _own = HOLLOW

    if TYPE_CHECKING:

        def __init__(self, *alternatives: Content, priority: float | None = None) -> None: ...

    else:

        def __init__(self, *alternatives, priority=None, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            self.priority = None if priority is None else _priority(self, priority, alternatives)
            begin(self, alternatives, options)

    @staticmethod
    def _gather(component: Any, args: tuple[Any, ...]) -> list[Any]:
        forms: list[Any] = []
        for arg in args:
            if isinstance(arg, Node):
                forms.append(arg)
            elif arg is not None and arg is not False:
                forms.append(_text(component, joined(inline(arg, component))))
        adopt(component, [form for form in forms if form.mask & (BUSY | BARE)])
        return forms

    def _keywords(self) -> frozenset[str]:
        return _PRIORITY


_PRIORITY = frozenset({"priority"})


def _priority(component: Any, given: object, content: tuple[Any, ...]) -> Any:
    return _checked(lambda: check_priority(component, given), content, given)


def _checked(check: Callable[[], Any], content: tuple[Any, ...], *given: object) -> Any:
    """Return what a check returns; where it raises, no block keeps what was given."""
    try:
        return check()
    except PromptError:
        retract((*content, *found_in(*given)))
        raise


def _text(component: Any, parts: tuple[Child, ...]) -> TextNode:
    mask = TEXT_BITS if any(parts) else TEXT_BITS | HOLLOW
    return make(TextNode, parts, mask=mask, at=component.at)


class Limit(Block, LimitNode):
    """Text that is cut where it is longer than ``max_tokens``, with a budget or without one.

    ``keep`` says what of it stays: its ``"head"``, its ``"tail"``, or both ``"ends"``. It is cut
    behind a paragraph, otherwise a sentence or a word, and the cut is marked.

    Raises :class:`OptionError` for another ``keep``, and a ``max_tokens`` below 1.
    """

    __slots__ = ()
    _own = HOLLOW | TEXT
    _forbids = TEXT_FORBIDS
    _inspects = NAMED | HOLLOW

    if TYPE_CHECKING:

        def __init__(
            self,
            max_tokens: int,
            /,
            *content: Content,
            keep: Literal["head", "tail", "ends"] = "head",
        ) -> None: ...

    else:

        def __init__(self, max_tokens, /, *content, keep="head", **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            said = _checked(lambda: _limits(self, max_tokens, keep), content, max_tokens, keep)
            self.max_tokens, self.keep = said
            begin(self, content, options)

    def _keywords(self) -> frozenset[str]:
        return frozenset({"keep"})

    def _advice(self, node: Node) -> str:
        if isinstance(node, CacheBreakpointNode):
            return "what is cut has no place for it: write the breakpoint behind the Limit"
        if node.mask & SECTION:
            return "write the Limit in the Section, around its text"
        if isinstance(node, _UNCUT):
            return f"a Limit holds text only: write the {label(node)} around it, or beside it"
        return advice_for(node, f"a Limit holds text only: write the {label(node)} beside it")

    def _inspect(self, content: tuple[Any, ...], mask: int) -> None:
        whole = uncut(content)
        if whole is not None:
            raise misplaced(whole, self)


_UNCUT = (GroupNode, FirstFitNode, ReserveNode, NoteNode)


def uncut(content: tuple[Any, ...]) -> Node | None:
    """Return what cannot be cut: what stays whole, leaves room, or is read by people only."""
    waiting = list(reversed(content))
    while waiting:
        child = waiting.pop()
        if isinstance(child, _UNCUT):
            return child
        # What stands in a limit in this one was looked at there.
        if not isinstance(child, str | LimitNode) and child.mask & HOLLOW:
            waiting += reversed(child.content)
    return None


def _limits(limit: Limit, max_tokens: object, keep: object) -> tuple[int, Any]:
    if isinstance(max_tokens, str | Node):
        raise OptionError(
            f"how many tokens a Limit keeps comes first, not {named_label(max_tokens)}"
            if isinstance(max_tokens, Node)
            else "how many tokens a Limit keeps comes first, not its text",
            fix="Limit(500, ...)",
            at=(limit.source,),
        )
    tokens = check_count(limit, "max_tokens", max_tokens, 1)
    if isinstance(keep, str) and keep in ENDS:
        return tokens, exact(keep)
    known = nearest(keep if isinstance(keep, str) else "", ENDS)
    raise OptionError(f"Limit(keep={keep!r})", fix=known, at=(limit.source,))


class Reserve(Written, ReserveNode):
    """Room in a budget that is left free, such as that for the answer: so many ``tokens``.

    Nothing is sent for it, and without a budget it does nothing.

    Raises :class:`OptionError` for what is no whole number of 0 or more.
    """

    __slots__ = ()

    def __init__(self, tokens: int, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.mask = HOLLOW
        self.options = DEFAULTS
        try:
            refuse_options(self, options, ("tokens",))
            self.tokens = check_count(self, "tokens", tokens, 0)
        except PromptError:
            retract(found_in(tokens))
            raise
        place(self)


class CacheBreakpoint(Written, CacheBreakpointNode):
    """The end of a part that a provider's prompt cache may keep: what is written before it.

    ``ttl`` is how long it is kept, ``"5m"`` or ``"1h"``; without it the provider says. A request
    carries four marks at most.

    Raises :class:`OptionError` for any other ``ttl``.
    """

    __slots__ = ()

    def __init__(self, ttl: Literal["5m", "1h"] | None = None, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.mask = CACHE
        self.options = DEFAULTS
        try:
            refuse_options(self, options, ("ttl",))
            self.ttl = _time(self, ttl)
        except PromptError:
            retract(found_in(ttl))
            raise
        place(self)


def _time(component: CacheBreakpoint, ttl: Any) -> Any:
    if ttl is None or (isinstance(ttl, str) and ttl in TTLS):
        return ttl if ttl is None else str.__str__(ttl)
    raise OptionError(
        f"CacheBreakpoint(ttl={ttl!r})",
        fix=nearest(str(ttl), TTLS) if isinstance(ttl, str) else "write '5m', '1h' or leave it out",
        at=(component.source,),
    )
