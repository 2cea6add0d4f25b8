"""Strings that count as author text where a string would be a value: ``trusted(text)``."""

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.source import author, public_api


class Trusted(str):
    """A string that is author text where a string would be a value; see :func:`trusted`.

    Every string made from it, by an operation, a copy, JSON or pickle, is a plain string again.
    """

    __slots__ = ()

    def __copy__(self) -> str:
        return str.__str__(self)

    def __deepcopy__(self, memo: object) -> str:
        return str.__str__(self)

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return str, (str.__str__(self),)


@public_api
def trusted(text: str) -> Trusted:
    """Return author text for a location where a string would be a value.

    It is sent as written, but cannot end the line, the table cell or the tag that it is in. The
    result of a string operation on it is a plain string again, as is what JSON or pickle return.
    Raises :class:`ContentError` for anything but a string.

    >>> from promptdsl import Event, User, UserAction, render, trusted
    >>> prompt = Event(UserAction("typed", text="<b>", hint=trusted("<b>")))
    >>> print(render(prompt).messages[0].text)
    <event type="user_action">
    User typed
    text: &lt;b&gt;
    hint: <b>
    </event>
    """
    if not issubclass(type(text), str):  # pyright: ignore[reportUnnecessaryIsInstance]
        problem = f"trusted() takes a string, not {type(text).__name__}"
        raise ContentError(problem, fix="give it the text itself", at=(author(),))
    return Trusted(str.__str__(text))
