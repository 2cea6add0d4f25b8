"""The budget of a render: the token counts that it needs, and its checked arguments."""

from collections.abc import Callable, Collection, Mapping, Sequence
from sys import maxsize
from typing import Any, Literal, Protocol, TypeAlias

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import OptionError, is_one_of, shown
from promptdsl.foundation.source import Source, author
from promptdsl.tokens import TokenCounter
from promptdsl.tokens.count import Tokens
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RecordedNode

# The token counts that a budget needs, as a protocol.
#
# Its only implementation is ``Measuring`` in ``rendering/measure.py``, a layer above.


class Measure(Protocol):
    """The counter of the parts of a prompt, in the tokens of its target model."""

    @property
    def facts(self) -> ModelFacts:
        """The facts of the target model."""
        ...

    @property
    def tokens(self) -> Tokens:
        """The counter of texts."""
        ...

    @property
    def in_characters(self) -> "Measure":
        """A counter of the same parts that counts characters instead of tokens."""
        ...

    def turn(self, node: Node, ids: Collection[int] = (), /) -> tuple[int, Mapping[int, int]]:
        """Return the tokens of a child of a timeline, and those of the nodes inside with these ids.

        A turn is counted with the frame of its message. The second result has tokens by id.
        """
        ...

    def messages(self, run: RecordedNode) -> Sequence[int]:
        """Return the tokens of each message of a run, with its frame.

        A message that merges with the message before it has no frame.
        """
        ...


# The budget of a render: its checked arguments.

TokenLimit: TypeAlias = int | Literal["window"]


@attrs.frozen
class Budget:
    """The maximum of tokens of a request, ``None`` for no limit.

    ``reserve`` is the number of these tokens that stay free for the answer.
    """

    tokens: TokenLimit | None = None
    reserve: int = 0
    counter: TokenCounter | Callable[[str], int] | None = attrs.field(default=None, eq=False)
    at: Source | None = attrs.field(default=None, eq=False)
    """The author's line, noted early: an awaited prompt has no author on the call stack."""

    def of(self, window: int | None, model: str | None) -> int | None:
        """Return the number of tokens for a model with this context ``window``, in tokens.

        :class:`OptionError` if the budget is ``'window'`` and the window is unknown.
        """
        if self.tokens != "window":
            return self.tokens
        if window is None:
            raise OptionError(
                f"the context window of {model} is unknown"
                if model
                else "budget='window' needs a model with a known context window",
                fix="write a number of tokens: budget=100_000, or register_model(..., window=...)"
                if model
                else "pass model=..., or a number of tokens: budget=100_000",
            )
        return window


def checked_budget(
    tokens: object,
    reserve: object,
    counter: Any,  # Any: an author's argument, checked where tokens are counted
) -> Budget:
    """Return a budget; :class:`OptionError` for wrong arguments."""
    limit: TokenLimit | None
    if tokens is None or (type(tokens) is int and 0 <= tokens <= maxsize):
        limit = tokens
    elif is_one_of(tokens, ("window",)):
        limit = "window"
    else:
        raise _refusal("budget", tokens, "write a whole number of tokens, or 'window'")
    if type(reserve) is not int or not 0 <= reserve <= maxsize:
        raise _refusal("reserve", reserve, "write a whole number of tokens, 0 or more")
    if isinstance(limit, int) and reserve > limit:
        raise _refusal("reserve", reserve, f"write at most {limit}: it is a part of the budget")
    return Budget(limit, reserve, counter, author())


def _refusal(name: str, value: object, fix: str) -> OptionError:
    return OptionError(f"{name}={shown(value)}", fix=fix, at=(author(),))
