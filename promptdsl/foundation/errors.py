"""The error family.

```
PromptError (ValueError)
├── OptionError (TypeError)  an unknown keyword, or a keyword with a value it cannot take
├── ContentError (TypeError) something that is not content: True, a list, a component in an f-string
├── PlacementError           a component where it may not stand
├── ScopeError               a block entered twice, left out of order, written to from another task
├── DataError                a block or message in dictionary form that cannot be read
├── ConfigError              an unknown key or value in a configuration
├── MediaError               an attachment that cannot be read, or is not what it says it is
├── TemplateError            a template that is missing, or asks for what it is not given
├── TokenizerError           an encoding that is not here to count with
├── PairingError             a tool call without its result, or a result without its call
│   └── PendingToolCalls     the last calls are not answered yet: the payload cannot be sent
├── BudgetError              what has to stay is more than the budget has room for
├── TargetError              a payload for another target than the one rendered for
└── LossError                ``strict=True`` and something the target cannot say
```

Every message says what is wrong, where the author wrote it (``file:line``), and what to do.
"""

from collections.abc import Iterable
from typing import Any, Self


class PromptError(ValueError):
    """The root of every error promptdsl raises on purpose.

    ``what`` is what is wrong, ``at`` the places it concerns (each printed as ``file:line``, the
    place to look at first), ``fix`` what to do about it.
    """

    what: str
    fix: str
    at: tuple[str, ...]

    def __init__(self, what: str, *, fix: str = "", at: Iterable[object] = ()) -> None:
        self.what = what
        self.fix = fix
        self.at = tuple(str(place) for place in at if place is not None)
        super().__init__(self._text())

    def _text(self) -> str:
        first = f"{self.at[0]}: {self.what}" if self.at else self.what
        also = [f"  see also {place}" for place in self.at[1:]]
        todo = [f"  {self.fix}"] if self.fix else []
        return "\n".join([first, *also, *todo])

    def located(self, place: object) -> Self:
        """Return this error with ``place`` as its line, where it did not know one yet."""
        if not self.at and place is not None:
            self.at = (str(place),)
            self.args = (self._text(),)
        return self


class OptionError(PromptError, TypeError):
    """An unknown keyword, or a keyword with a value it cannot take."""


class ContentError(PromptError, TypeError):
    """Something given as content that is not content."""


class PlacementError(PromptError):
    """A component stands where it may not stand."""


class ScopeError(PromptError):
    """A block was entered twice, changed after it closed, left out of order, or is not ours."""


class DataError(PromptError):
    """A block or message in dictionary form cannot be read."""


class ConfigError(PromptError):
    """A configuration holds an unknown key or value."""


class MediaError(PromptError):
    """An attachment cannot be read, or is not what it says it is."""


class TemplateError(PromptError):
    """A template is missing, or asks for a name it is not given."""


class TokenizerError(PromptError):
    """An encoding to count tokens with is unknown, or its file is not here."""


class PairingError(PromptError):
    """A tool call has no result, or a result has no call."""


class PendingToolCalls(PairingError):
    """The last tool calls are not answered yet, so the payload cannot be sent."""


class BudgetError(PromptError):
    """What has to stay in a prompt is more than its budget has room for.

    ``limit`` is what the budget leaves for the prompt and ``required`` what it needs at least, in
    tokens; ``largest`` is what has to stay, the largest first: what, tokens, and where it is.
    """

    limit: int
    required: int
    largest: tuple[Any, ...]

    def __init__(
        self,
        what: str,
        *,
        fix: str = "",
        at: Iterable[object] = (),
        limit: int = 0,
        required: int = 0,
        largest: Iterable[Any] = (),
    ) -> None:
        super().__init__(what, fix=fix, at=at)
        self.limit = limit
        self.required = required
        self.largest = tuple(largest)


class TargetError(PromptError):
    """The messages were rendered for another target than the payload asked for."""


class LossError(PromptError):
    """``strict=True``, and the target cannot say something the prompt says."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"did you mean 'x'?"`` for the nearest known name, else the list of known names."""
    from difflib import get_close_matches

    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names)}" if names else "it takes none"
