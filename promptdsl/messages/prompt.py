"""A whole prompt as values, which an adapter writes and reads back."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from promptdsl.foundation.frozen import EMPTY, frozen
from promptdsl.foundation.source import Position, Source, source_of
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message


@attrs.frozen
class ToolDefinition:
    """A tool a model may call: its name, its description, and the schema of its input.

    ``input_schema`` is a JSON schema of type ``object``. ``cache`` is a mark after it. ``extra``
    are keys of ``origin``, the provider it was read from, as they came. ``raw`` is a tool that only
    ``origin`` has, such as a search of its own: it is sent there as it came, and nowhere else.
    """

    name: str
    description: str | None = None
    input_schema: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)
    cache: Cache | None = None
    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen, hash=False)
    raw: Mapping[str, Any] | None = attrs.field(default=None, converter=frozen, hash=False)
    origin: str | None = None
    at: Position | Source | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def source(self) -> Source | None:
        """The author's file and line, ``None`` for a tool that was read."""
        return source_of(self.at) if isinstance(self.at, tuple) else self.at


@attrs.frozen
class OutputSchema:
    """The schema an answer has to fit, and its name.

    With ``strict`` the provider is asked to hold the model to it to the letter.
    """

    schema: Mapping[str, Any] = attrs.field(converter=frozen, hash=False)
    name: str = "output"
    description: str | None = None
    strict: bool = True
    at: Position | Source | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def source(self) -> Source | None:
        """The author's file and line, ``None`` for a schema that was read."""
        return source_of(self.at) if isinstance(self.at, tuple) else self.at


ToolChoice: TypeAlias = str
"""``auto``, ``none``, ``required``, or the name of the tool that has to be called."""

CHOICES = ("auto", "none", "required")
"""The choices that name no tool."""


@attrs.frozen
class Prompt:
    """The content of a request: messages, the tools a model may call, the schema of its answer."""

    messages: tuple[Message, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: ToolChoice | None = None
    output: OutputSchema | None = None
    trimmed: bool = False
    """Whether a budget took something out, so that the bytes before the rest have changed."""
