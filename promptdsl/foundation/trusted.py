"""The mark of a string that an author vouches for, where a value is expected."""

from typing import Any

from promptdsl.foundation.errors import ContentError


class Trusted(str):
    """A string that is author text where a string would be a value; see :func:`trusted`.

    Whatever is made of it is a plain string again: by an operation, a copy, JSON or pickle.
    """

    __slots__ = ()

    def __copy__(self) -> str:
        return str.__str__(self)

    def __deepcopy__(self, memo: object) -> str:
        return str.__str__(self)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return str, (str.__str__(self),)


def trusted(text: str) -> Trusted:
    """Return author text for a place where a string would be a value.

    It is sent as written, but cannot leave its place: its line, its cell, its fence. The mark
    never survives a string operation, JSON or disk. Raises :class:`ContentError` for anything but a
    string.
    """
    if not issubclass(type(text), str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ContentError(
            f"trusted() takes a string, not {type(text).__name__}", fix="give it the text itself"
        )
    return Trusted(str.__str__(text))
