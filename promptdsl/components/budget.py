"""Components for a budget: what it drops, chooses or shortens, and tokens that it leaves free.

:class:`CacheBreakpoint`, the last one, is for the prompt cache of a provider.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Never, Self

from promptdsl.components.arguments import (
    adopt,
    inline,
    is_data,
    joined_text,
    node_of_block,
    volatile_in,
)
from promptdsl.components.block import TEXT_FORBIDS, Container, begin, begin_leaf, turn_advice
from promptdsl.components.options import check_choice, check_count, check_priority, too_many
from promptdsl.components.scope import Component, misplaced
from promptdsl.foundation.errors import OptionError
from promptdsl.tree.masks import (
    CACHE,
    NAMED,
    OPAQUE,
    SECTION,
    TEXT,
    TURN,
)
from promptdsl.tree.node import Child, Node, label, make, named_label
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    FirstFitNode,
    GroupNode,
    LimitNode,
    NoteNode,
    ReserveNode,
)

if TYPE_CHECKING:
    from promptdsl.components.block import Content, TextContent

TTLS = ("5m", "1h")
"""The lifetimes of a cache mark."""
ENDS = ("head", "tail", "ends")
"""The parts of a text that a limit can keep."""


class Group(Container, GroupNode):
    """Parts that belong together: a budget keeps all of them, or drops all of them.

    ``priority`` is a number: the group with the lowest priority is dropped first. By default it is
    the lowest priority of its parts. Without a budget a group is the same as a :class:`Fragment`.

    Raises :class:`OptionError` for a priority that is not a finite number.

    >>> from promptdsl import Group, Timeline, User, render
    >>> old = Group(User("I live in Paris. " * 50), priority=1)
    >>> prompt = Timeline(old, User("Hi.", priority=2))
    >>> [message.text for message in render(prompt, model="gpt-5", budget=50).messages]
    ['Hi.']
    """

    __slots__ = ()
    _initial_mask = OPAQUE

    def __init__(
        self, *content: "Content", priority: float | None = None, **unknown: Never
    ) -> None:
        self.priority = priority
        begin(self, content, unknown)

    def _check_fields(self) -> None:
        self.priority = check_priority(self, self.priority)


class FirstFit(Container, FirstFitNode):
    """Alternatives, the best first: the first alternative that fits the budget is sent.

    Each argument, and each part written in its block, is an alternative. Write a :class:`Fragment`
    for an alternative of several parts. Alternatives may have the same ids. Without a budget the
    first alternative is sent.

    By default an alternative is always sent. With a ``priority``, a number, a budget may drop the
    last alternative, too.

    Raises :class:`OptionError` for a priority that is not a finite number.

    >>> from promptdsl import FirstFit, User, render
    >>> user = User(FirstFit("A long story. " * 100, "A story."))
    >>> render(user, model="gpt-5", budget=50).messages[0].text
    'A story.'
    """

    __slots__ = ()
    _initial_mask = OPAQUE

    def __init__(
        self, *alternatives: "Content", priority: float | None = None, **unknown: Never
    ) -> None:
        self.priority = priority
        begin(self, alternatives, unknown)

    def _check_fields(self) -> None:
        self.priority = check_priority(self, self.priority)

    @staticmethod
    def _gather(component: Node, args: tuple[object, ...]) -> Sequence[Child]:
        alternatives: list[Node] = []
        for arg in args:
            if isinstance(arg, Node):
                alternatives.append(arg)
            elif is_data(arg):
                alternatives.append(node_of_block(arg, component))
            elif arg is not None and arg is not False:
                pieces, mask = joined_text(inline(arg, component), has_several_args=False)
                alternatives.append(make(TextNode, pieces, mask=mask, at=component._at))
        adopt(component, (*alternatives, *volatile_in(args)))
        return alternatives


class Limit(Container, LimitNode):
    """Text of at most ``max_tokens`` tokens, with a budget or without a budget.

    Longer text is cut after a paragraph if possible, else after a sentence or a word, and ``[...]``
    is written there. ``keep`` is the part of the text that stays: ``"head"`` (default), ``"tail"``,
    or both ``"ends"``. The delimiters of an event or a grounding around it do not count.
    :meth:`characters` counts characters instead of tokens.

    Raises :class:`OptionError` for another ``keep`` or a ``max_tokens`` below 1,
    :class:`PlacementError` for a part that is not text.

    >>> from promptdsl import Limit, User, render
    >>> user = User(Limit(8, "One two three. " * 20))
    >>> len(render(user, model="gpt-5").messages[0].text) < 100
    True
    """

    __slots__ = ()
    _initial_mask = OPAQUE | TEXT
    _forbids = TEXT_FORBIDS
    _inspected_bits = NAMED | OPAQUE

    def __init__(
        self,
        max_tokens: int,
        /,
        *content: "TextContent",
        keep: Literal["head", "tail", "ends"] = "head",
        **unknown: Never,
    ) -> None:
        self.most, self.keep, self.unit = max_tokens, keep, "tokens"
        begin(self, content, unknown)

    @classmethod
    def characters(
        cls,
        max_characters: int,
        /,
        *content: "TextContent",
        keep: Literal["head", "tail", "ends"] = "head",
        **unknown: Never,
    ) -> Self:
        """Return text of at most ``max_characters`` characters.

        The text is the same for all models and token counters. It is cut like a limit in tokens,
        and the errors are the same. ``[...]`` has 5 characters: with a smaller limit, nothing of a
        longer text is sent.
        """
        limit = object.__new__(cls)
        limit.most, limit.keep, limit.unit = max_characters, keep, "characters"
        begin(limit, content, unknown)
        return limit

    def _check_fields(self) -> None:
        first: object = self.most
        if isinstance(first, str | Node):  # the author left the number out
            name = named_label(first) if isinstance(first, Node) else "its text"
            problem = f"a Limit takes its number of {self.unit} first, not {name}"
            fix = "Limit(500, ...)" if self.unit == "tokens" else "Limit.characters(1_000, ...)"
            raise OptionError(problem, fix=fix, at=(self.source,))
        self.most = check_count(self, f"max_{self.unit}", first, 1)
        self.keep = check_choice(self, "keep", self.keep, ENDS)

    @classmethod
    def _advice(cls, node: Node) -> str:
        if isinstance(node, CacheBreakpointNode):
            return "the Limit may cut the text there: write the breakpoint after the Limit"
        if node._mask & (SECTION | TURN):
            return f"write the Limit in the {label(node)}, around its text"
        if isinstance(node, _NOT_CUTTABLE):
            return f"a Limit holds text only: write the {label(node)} around it, or next to it"
        return turn_advice(node, f"a Limit holds text only: write the {label(node)} next to it")

    def _finished_content(self, content: tuple[Child, ...], mask: int) -> tuple[Child, ...]:
        node = first_not_cuttable(content)
        if node is not None:
            raise misplaced(node, self)
        return content


_NOT_CUTTABLE = (GroupNode, FirstFitNode, ReserveNode, NoteNode)
"""The nodes that a limit may not contain."""


def first_not_cuttable(content: tuple[Child, ...]) -> Node | None:
    """Return the first node in the content that a limit cannot cut, or ``None``.

    A limit cannot cut groups, alternatives, reserves, and notes, which only people read.
    """
    child_stack = [*reversed(content)]
    while child_stack:
        child = child_stack.pop()
        if isinstance(child, _NOT_CUTTABLE):
            return child
        # The content of an inner limit was checked with that limit.
        if not isinstance(child, str | LimitNode) and child._mask & OPAQUE:
            child_stack += reversed(child.content)
    return None


class Reserve(Component, ReserveNode):
    """Tokens of a budget that stay free, for example for the answer.

    Nothing is sent for it, and without a budget it has no effect.

    Raises :class:`OptionError` if ``tokens`` is not a whole number, 0 or more.

    >>> from promptdsl import Reserve, Timeline, User
    >>> prompt = Timeline(Reserve(1_000), User("Tell me a story."))
    """

    __slots__ = ()
    _initial_mask = OPAQUE

    def __init__(self, tokens: int, *extra: Never, **unknown: Never) -> None:
        if extra:
            raise too_many(self, tokens, *extra)
        self.tokens = tokens
        begin_leaf(self, unknown)

    def _check_fields(self) -> None:
        self.tokens = check_count(self, "tokens", self.tokens, 0)


class CacheBreakpoint(Component, CacheBreakpointNode):
    """A cache mark: a provider's prompt cache may keep everything that is written before it.

    ``ttl`` is the lifetime, ``"5m"`` or ``"1h"``; by default the provider decides. A request
    carries at most four cache marks.

    Raises :class:`OptionError` for any other ``ttl``.

    >>> from promptdsl import CacheBreakpoint, Timeline, System, User, render
    >>> prompt = Timeline(System("A long manual."), CacheBreakpoint("1h"), User("Hi."))
    >>> render(prompt, model="claude-opus-4-5").to_anthropic()["system"][0]["cache_control"]
    {'type': 'ephemeral', 'ttl': '1h'}
    """

    __slots__ = ()
    _initial_mask = CACHE

    def __init__(
        self, ttl: Literal["5m", "1h"] | None = None, *extra: Never, **unknown: Never
    ) -> None:
        if extra:
            raise too_many(self, ttl, *extra)
        self.ttl = ttl
        begin_leaf(self, unknown)

    def _check_fields(self) -> None:
        if self.ttl is not None:
            self.ttl = check_choice(self, "ttl", self.ttl, TTLS)
