"""Hostile texts in the data of a prompt: its tools, its output schema and its calls."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import attrs

from promptdsl import Origin, OutputSchema, Rendered, Span, ToolDefinition, ToolUseBlock
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.guards import paired_tags
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.testing.hostile import shortened
from promptdsl.testing.injection_location import (
    WORD,
    InjectionLocation,
    around_word,
    between,
    is_enclosed,
)
from promptdsl.testing.injection_problem import CALL, DEFINITION, InjectionProblem

INPUT = frozenset(("input", "args", "arguments"))
"""The names of providers for the input of a call; only there a key may be a value."""
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keys of a JSON schema whose own keys are names."""
VALUES = ("enum", "const", "default", "examples", "example")
"""Keys of a JSON schema with data, such as the values that an argument may have."""


class DataDifference(NamedTuple):
    """A value in data that differs from another prompt: its path, and the old and new value."""

    path: tuple[str | int, ...]
    before: object
    after: object

    def __str__(self) -> str:
        """Return the path and the new value."""
        path = ".".join(key for key in self.path if isinstance(key, str))
        return f"{path}: {shortened(str(self.after))}"

    @property
    def is_text(self) -> bool:
        """Whether it is a text in both, so that it may contain the argument."""
        return isinstance(self.before, str) and isinstance(self.after, str)

    @property
    def is_instruction(self) -> bool:
        """Whether it is a description or a comment, which a model reads as instructions."""
        keys = iter(self.path)
        for key in keys:
            if key in VALUES or key in INPUT:
                return False
            if key in NAMED:
                next(keys, None)
        return self.path[-1] in ("description", "title", "$comment")


def data_problem(
    calm: Rendered, spans: Sequence[Span], rendered: Rendered, hostile: str
) -> InjectionProblem | None:
    """Return the problem of a text in tools, in the output schema or in calls."""
    for change in differences(_data_of(calm), _data_of(rendered)):
        broken = _promise_broken_by(change, calm, hostile)
        if broken:
            definitions = _definitions_of(calm)
            contents = [message.content for message in calm.messages]
            calls = [
                span for span in spans if contents[span.message][span.block].type == "tool_use"
            ]
            tools = [Origin(definition.name, definition.source) for definition in definitions]
            number = int([*change.path, -1][0])
            kind = CALL if number >= len(definitions) else DEFINITION
            origin = [*tools, *calls, None][number]
            return InjectionProblem(broken, str(change), origin, location=kind)
    return None


def _promise_broken_by(change: DataDifference, calm: Rendered, hostile: str) -> str | None:
    """Return how a difference in data breaks a promise, or ``None``."""
    location = _location_in(str(change.before), calm)
    if change.is_text and WORD in location.text:
        piece = between(str(change.after), location.before, location.after)
        if piece is not None and not change.is_instruction:
            return None
        if piece is not None:
            return location.promise_broken_by(piece, hostile)
    return "changes more than its own text"


def _location_in(text: str, calm: Rendered) -> InjectionLocation:
    """Return the location of the argument in a text that is read as an instruction."""
    before, after = around_word(text)
    names = calm.config.tags | paired_tags(before + after)
    literals = frozenset(calm.config.literals)
    bare = not is_enclosed(before, after, literals)
    return InjectionLocation(text, before, after, before, after, names, literals, bare)


def _definitions_of(rendered: Rendered) -> list[ToolDefinition | OutputSchema]:
    return [*rendered.tools, *filter(None, [rendered.output])]


def _data_of(rendered: Rendered) -> list[object]:
    """Return the fields of tools and of the output schema, then the input of each call."""
    definitions = [
        attrs.asdict(definition, recurse=False) for definition in _definitions_of(rendered)
    ]
    blocks = (block for message in rendered.messages for block in message.content)
    calls = [
        {"input": _read(block.arguments)} for block in blocks if isinstance(block, ToolUseBlock)
    ]
    return [*({**fields, "at": None} for fields in definitions), *calls]


def differences(before: object, after: object, *path: str | int) -> Iterator[DataDifference]:
    """Yield each difference of two JSON values; values of different structure differ as a whole.

    The name of a speaker is not compared, since it is left out for a provider that refuses it.
    """
    if before == after:  # the usual case
        return
    if path[-1:] == ("arguments",) and isinstance(before, str) and isinstance(after, str):
        before, after = _read(before), _read(after)
    if is_mapping(before) and is_mapping(after):
        items, others = _compared(before), _compared(after)
        pairs = [*zip(items, others, strict=False)]
        may_be_value = not INPUT.isdisjoint(path)
        alike = [a == b or (may_be_value and WORD in a) for (a, _), (b, _) in pairs]
        if len(items) == len(others) and all(alike):
            for (key, value), (_, other) in pairs:
                yield from differences(value, other, *path, key)
            return
    elif is_list(before) and is_list(after) and len(before) == len(after):
        for index, (value, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(value, other, *path, index)
        return
    yield DataDifference(path, before, after)


def _compared(mapping: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return the items of a JSON object, without the name of a speaker."""
    return [
        (key, value) for key, value in mapping.items() if key != "name" or "role" not in mapping
    ]


def _read(text: str) -> object:
    """Return the input of a call, or its text if that is not JSON."""
    value = read_json(text)
    return text if value is ABSENT else value
