"""Regular expressions that are compiled when they are first used.

Classes of characters beyond ASCII take about half a millisecond each to compile, and most prompts
need none of them.
"""

import re
from typing import Any, cast


class _Late:
    """A regular expression that takes its methods from the compiled one when they are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        # Kept, so that the next call costs no more than that of a compiled one.
        method = self.__dict__[name] = getattr(re.compile(self._text), name)
        return method


def pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression, compiled with the first call of one of its methods.

    >>> pattern("[a-z]+").findall("one, two")
    ['one', 'two']
    """
    return cast("re.Pattern[str]", _Late(text))
