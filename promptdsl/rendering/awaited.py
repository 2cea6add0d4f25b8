"""The coroutine of ``arender``: one that tells to await it."""

from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any

from promptdsl.foundation.errors import UnknownNameError
from promptdsl.foundation.source import author
from promptdsl.rendering.result import Rendered


class coroutine(Coroutine[Any, Any, Rendered]):  # noqa: N801 (errors name its type)
    """A coroutine for a result; asking it for what the result has is an error with advice.

    It runs another one. What that one gives an event loop, and takes from it, is of any type.
    """

    __slots__ = ("_own",)

    def __init__(self, own: Coroutine[Any, Any, Rendered]) -> None:
        self._own = own

    def __await__(self) -> Generator[Any, None, Rendered]:
        return self._own.__await__()

    def send(self, value: object, /) -> object:
        """Run it to its next pause."""
        return self._own.send(value)

    def throw(self, *error: Any) -> object:  # Any: an exception, or its three parts
        """Raise an exception in it."""
        return self._own.throw(*error)

    def close(self) -> None:
        """End it."""
        self._own.close()

    if not TYPE_CHECKING:
        # For a type checker, a __getattr__ has every attribute.
        def __getattr__(self, name: str) -> object:
            """Return an attribute of the coroutine that asyncio reads; refuse all others."""
            if name.startswith(("cr_", "__name__", "__qualname__")):
                return getattr(self._own, name)
            if name.startswith("_"):
                return object.__getattribute__(self, name)
            raise UnknownNameError(
                f"arender() returns a coroutine, which has no {name!r}",
                fix="await it: rendered = await arender(...)",
                at=(author(),),
            )
