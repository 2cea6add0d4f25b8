"""The coroutine of ``arender``, whose errors advise to await it."""

from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any

from promptdsl.foundation.errors import UnknownNameError
from promptdsl.foundation.source import author
from promptdsl.rendering.result import Rendered


class coroutine(Coroutine[Any, Any, Rendered]):  # noqa: N801 (errors name its type)
    """A coroutine for a result; reading an attribute of the result is an error with advice.

    It runs another coroutine, whose values for an event loop are of any type.
    """

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Coroutine[Any, Any, Rendered]) -> None:
        self._wrapped = wrapped

    def __await__(self) -> Generator[Any, None, Rendered]:
        return self._wrapped.__await__()

    def send(self, value: object, /) -> object:
        """Run the coroutine to its next pause."""
        return self._wrapped.send(value)

    def throw(self, *error: Any) -> object:  # Any: an exception, or its three parts
        """Raise an exception in the coroutine."""
        return self._wrapped.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._wrapped.close()

    if not TYPE_CHECKING:
        # For a type checker, a __getattr__ has every attribute.
        def __getattr__(self, name: str) -> object:
            """Return an attribute of the coroutine that asyncio reads; refuse all others."""
            if name.startswith(("cr_", "__name__", "__qualname__")):
                return getattr(self._wrapped, name)
            if name.startswith("_"):
                return object.__getattribute__(self, name)
            raise UnknownNameError(
                f"arender() returns a coroutine, which has no {name!r}",
                fix="await it: rendered = await arender(...)",
                at=(author(),),
            )
