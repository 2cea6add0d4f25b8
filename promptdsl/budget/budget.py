"""The arguments of a budget, checked."""

from collections.abc import Callable
from typing import Any, Literal, NoReturn, TypeAlias, cast

import attrs

from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.source import Source, author
from promptdsl.tokens import TokenCounter

TokenLimit: TypeAlias = int | Literal["window"]


@attrs.frozen
class Budget:
    """How many tokens a request may have; ``reserve`` of them are left for the answer.

    ``tokens`` is ``None`` where nobody said.
    """

    tokens: TokenLimit | None = None
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
    """Return a budget; :class:`OptionError` for arguments that are wrong."""
    if tokens is None and counter is None and type(reserve) is int and reserve >= 0:
        return _NONE if not reserve else Budget(None, reserve)
    number = type(tokens) is int and tokens >= 0
    if tokens is not None and tokens != "window" and not number:
        _refuse("budget", tokens, "write a whole number of tokens, or 'window'")
    if type(reserve) is not int or reserve < 0:
        _refuse("reserve", reserve, "write a whole number of tokens, from 0 on")
    if number and reserve > cast("int", tokens):
        _refuse("reserve", reserve, f"the budget, of which it is a part, is {tokens}")
    # Looked up at once: when a prompt is awaited, nobody of its author's is on the stack.
    return Budget(cast("TokenLimit", tokens), reserve, counter, author())


def _refuse(name: str, given: object, fix: str) -> NoReturn:
    raise OptionError(f"{name}={given!r}", fix=fix, at=(author(),))


_NONE = Budget()
