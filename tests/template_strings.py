"""The stand-in for t-strings: what ``t"..."`` is in Python 3.14, by its attributes.

``tests/python314`` holds that the package sees no difference between the two.
"""

from typing import Any


class Interpolation:
    """The shape of ``string.templatelib.Interpolation``."""

    def __init__(
        self,
        value: Any,
        expression: str = "x",
        conversion: str | None = None,
        format_spec: str = "",
    ) -> None:
        self.value = value
        self.expression = expression
        self.conversion = conversion
        self.format_spec = format_spec


class Template:
    """The shape of ``string.templatelib.Template``."""

    def __init__(self, strings: tuple[str, ...], interpolations: tuple[Interpolation, ...]) -> None:
        self.strings = strings
        self.interpolations = interpolations


def template(*parts: Any) -> Any:
    """Return the template whose strings and interpolations take turns; a string stands first."""
    return Template(parts[::2], parts[1::2])


def tstring(value: object) -> Any:
    """Return what ``t"From {x} on."`` is for this ``x``."""
    return template("From ", Interpolation(value), " on.")
