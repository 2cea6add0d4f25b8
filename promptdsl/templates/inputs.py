"""The inputs of a template: their types, defaults and docs, as its front matter declares them."""

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen
class Input:
    """An input of a section of a library.

    ``type`` is its type as it is written: in front matter ``str``, ``int``, ``float``, ``bool``,
    ``date``, ``list[...]`` of these, or ``one of EU, US``. Without a default the input is required.
    """

    name: str
    type: str
    doc: str = ""
    required: bool = True
    default: object = None

    @property
    def annotation(self) -> str:
        """The type as Python code: ``Literal['EU', 'US']``, ``list[str]``, ``date``."""
        raise NotImplementedError

    @property
    def schema(self) -> Mapping[str, Any]:  # Any: JSON
        """The JSON schema of the type, with its doc and its default."""
        raise NotImplementedError

    def checked(self, value: object) -> object:
        """Return a value that fits the type; raises :class:`TemplateError` for another one."""
        raise NotImplementedError

    def parsed(self, text: str) -> object:
        """Return the value that a text means, as a command line gives it."""
        raise NotImplementedError
