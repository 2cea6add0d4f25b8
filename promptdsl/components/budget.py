"""Where a part ends that stays the same from one request to the next."""

import sys
from typing import Any, Literal, Never

from promptdsl import nodes
from promptdsl.components.arguments import retract
from promptdsl.components.options import refuse_options
from promptdsl.components.writing import Written
from promptdsl.errors import OptionError, PromptError, nearest
from promptdsl.nodes import found_in
from promptdsl.scope import place
from promptdsl.tree import CACHE, DEFAULTS

TTLS = ("5m", "1h")

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class CacheBreakpoint(Written, nodes.CacheBreakpoint):
    """The end of a part that a provider's prompt cache may keep: what is written before it.

    ``ttl`` is how long it is kept, ``"5m"`` or ``"1h"``; without it the provider says. A request
    carries four marks at most.

    Raises :class:`OptionError` for any other ``ttl``.
    """

    __slots__ = ()
    _node = nodes.CacheBreakpoint

    def __init__(self, ttl: Literal["5m", "1h"] | None = None, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.mask = CACHE
        self.options = DEFAULTS
        try:
            refuse_options(self, options, ("ttl",))
            self.ttl = _checked(self, ttl)
        except PromptError:
            retract(found_in(ttl))
            raise
        place(self)


def _checked(component: CacheBreakpoint, ttl: Any) -> Any:
    if ttl is None or (isinstance(ttl, str) and ttl in TTLS):
        return ttl if ttl is None else str.__str__(ttl)
    raise OptionError(
        f"CacheBreakpoint(ttl={ttl!r})",
        fix=nearest(str(ttl), TTLS) if isinstance(ttl, str) else "write '5m', '1h' or leave it out",
        at=(component.source,),
    )
