"""The budget of a render: its checked arguments."""

from collections.abc import Callable
from sys import maxsize
from typing import Any, Literal, TypeAlias

import attrs

from promptdsl.foundation.errors import OptionError, is_one_of, shown
from promptdsl.foundation.source import Source, author
from promptdsl.tokens import TokenCounter

TokenLimit: TypeAlias = int | Literal["window"]


@attrs.frozen
class Budget:
    """The most tokens of a request, ``None`` for no limit.

    ``reserve`` is how many of them are kept free for the answer.
    """

    tokens: TokenLimit | None = None
    reserve: int = 0
    counter: TokenCounter | Callable[[str], int] | None = attrs.field(default=None, eq=False)
    at: Source | None = attrs.field(default=None, eq=False)
    """The author's line. It is noted early: an awaited prompt has no author on the call stack."""

    def of(self, window: int | None, model: str | None) -> int | None:
        """Return the number of tokens, for a model with a context ``window`` of so many tokens.

        :class:`OptionError` if the budget is ``'window'`` and the window is unknown.
        """
        if self.tokens != "window":
            return self.tokens
        if window is None:
            raise OptionError(
                f"the window of {model} is not known"
                if model
                else "budget='window' needs a model that has a window",
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
