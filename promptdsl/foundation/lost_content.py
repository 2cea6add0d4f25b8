"""The warning about content that is about to be sent incompletely, at the author's line."""

import sys
import warnings
from threading import RLock

from promptdsl.foundation.source import Source


class LostContentWarning(UserWarning):
    """A block, a tool or an output schema of a prompt that is not in the payload.

    ``payload()``, ``prefix()`` and the methods and functions ``to_...`` warn, each line once, like
    every warning of Python. The text is that of :class:`LossError`. ``rendered.losses`` has all
    losses, also those of recorded messages, about which nothing warns.

    >>> import warnings
    >>> from promptdsl import LostContentWarning, User, Video, render
    >>> rendered = render(User(Video.from_url("https://example.com/a.mp4")), model="gpt-5")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", LostContentWarning)
    ...     payload = rendered.payload()
    >>> print(caught[0].message)
    video block cannot be sent: the target takes no such block in a user message
    """


_LOCK = RLock()  # a warning may be shown by code that renders a prompt
_REGISTRIES: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}
"""By file what Python's warnings note about it: which were shown."""
_TEXTS: dict[tuple[Source, str], str] = {}
"""The text of the first warning about each kind of content of a line: it never changes."""


def warn_of_lost_content(source: Source, kind: str, text: str) -> None:
    """Warn at a line of an author, by the filters of Python's warnings.

    ``kind`` is the kind of content that is lost, such as ``video``: it holds no value.
    """
    with _LOCK:
        warnings.warn_explicit(
            _TEXTS.setdefault((source, kind), text),
            LostContentWarning,
            source.file,
            source.line,
            module=_module_name(source.file),
            registry=_REGISTRIES.setdefault(source.file, {}),
        )


def _module_name(file: str) -> str:
    """Return the name of the module of a file; of code without a module, such as a cell, its file.

    Python warns of nothing if the module is ``None``.
    """
    for name, module in list(sys.modules.items()):
        if getattr(module, "__dict__", {}).get("__file__") == file:
            return name
    return file.removesuffix(".py")
