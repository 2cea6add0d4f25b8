"""The warning about work that was prepared and then forgotten, at the author's line."""

import warnings

from promptdsl.foundation.source import Source


def warn_of_unfinished(what: str, fix: str, source: Source) -> None:
    """Warn that an object was discarded before it did its work.

    It is a ``RuntimeWarning``, like Python's for a coroutine that was never awaited: it is shown
    without any setting.
    """
    warnings.warn_explicit(f"{what}\n  {fix}", RuntimeWarning, source.file, source.line)
