"""The data of a prompt: its tools, the form of its answer, its calls, and what differs in data."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import attrs

from promptdsl import Origin, OutputSchema, Rendered, Span, ToolDefinition, ToolUseBlock
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.guards import paired_tags
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.testing.hostile import shortened
from promptdsl.testing.injection_place import (
    WORD,
    InjectionPlace,
    around_word,
    between,
    is_enclosed,
)
from promptdsl.testing.injection_problem import CALL, DEFINITION, InjectionProblem

INPUT = frozenset(("input", "args", "arguments"))
"""What providers call the input of a call: only there a key may be a value."""
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keys of a JSON schema whose own keys are names."""
VALUES = ("enum", "const", "default", "examples", "example")
"""Keys of a JSON schema with data, such as the values that an argument may have."""


class DataDifference(NamedTuple):
    """A place in data that differs from another prompt, and what was and is there."""

    path: tuple[str | int, ...]
    before: object
    after: object

    def __str__(self) -> str:
        """Return the place, and what is there now."""
        path = ".".join(it for it in self.path if isinstance(it, str))
        return f"{path}: {shortened(str(self.after))}"

    @property
    def is_text(self) -> bool:
        """Whether it is a text in both, which may be what became of the argument."""
        return isinstance(self.before, str) and isinstance(self.after, str)

    @property
    def is_instruction(self) -> bool:
        """Whether it is a description or a remark, which a model reads as instructions."""
        keys = iter(self.path)
        for key in keys:
            if key in VALUES or key in INPUT:
                return False
            if key in NAMED:
                next(keys, None)
        return self.path[-1] in ("description", "title", "$comment")


def data_problem(
    calm: Rendered, spans: Sequence[Span], rendered: Rendered, given: str
) -> InjectionProblem | None:
    """Return what a text does in tools, in the form of the answer or in calls."""
    for change in differences(_data_of(calm), _data_of(rendered)):
        place = _place_in(str(change.before), calm)
        is_place = change.is_text and WORD in place.text
        piece = between(str(change.after), place.before, place.after) if is_place else None
        broken: str | None = "changes more than its place"
        if piece is not None:
            broken = place.promise_broken_by(piece, given) if change.is_instruction else None
        if broken:
            definitions = _definitions_of(calm)
            contents = [message.content for message in calm.messages]
            calls = [it for it in spans if contents[it.message][it.block].type == "tool_use"]
            origins = [*(Origin(it.name, it.source) for it in definitions), *calls, None]
            number = int(change.path[0]) if change.path else -1
            kind = CALL if number >= len(definitions) else DEFINITION
            return InjectionProblem(broken, str(change), origins[number], place=kind)
    return None


def _place_in(text: str, calm: Rendered) -> InjectionPlace:
    """Return the place of the argument in a text, which is read as an instruction."""
    before, after = around_word(text)
    names = calm.config.tags | paired_tags(before + after)
    literals = frozenset(calm.config.literals)
    bare = not is_enclosed(before, after, literals)
    return InjectionPlace(text, before, after, before, after, names, literals, bare)


def _definitions_of(rendered: Rendered) -> list[ToolDefinition | OutputSchema]:
    return [*rendered.tools, *filter(None, [rendered.output])]


def _data_of(rendered: Rendered) -> list[object]:
    """Return the fields of tools and of the form, and then the input of each call."""
    definitions = [attrs.asdict(one, recurse=False) for one in _definitions_of(rendered)]
    blocks = (block for message in rendered.messages for block in message.content)
    calls = [{"input": _read(it.arguments)} for it in blocks if isinstance(it, ToolUseBlock)]
    return [*({**fields, "at": None} for fields in definitions), *calls]


def differences(before: object, after: object, *path: str | int) -> Iterator[DataDifference]:
    """Yield each place in which two JSON values differ; where their form does, the whole.

    The name of a speaker is no difference: it is left out where a provider refuses it.
    """
    if before == after:  # as most
        return
    if path[-1:] == ("arguments",) and isinstance(before, str) and isinstance(after, str):
        before, after = _read(before), _read(after)
    if is_mapping(before) and is_mapping(after):
        items, others = (
            [(key, value) for key, value in it.items() if key != "name" or "role" not in it]
            for it in (before, after)
        )
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


def _read(text: str) -> object:
    """Return the input of a call, or its text if that is no JSON."""
    value = read_json(text)
    return text if value is ABSENT else value
