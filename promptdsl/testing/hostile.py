"""Hostile texts, their locations in a prompt, what must stay true there, and what they broke.

In this order: the corpus, the problem that a text causes, its location in a text, and the data of a
prompt. Read ``InjectionLocation`` first.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import attrs

from promptdsl import Origin, OutputSchema, Rendered, Span, ToolDefinition, ToolUseBlock, decode
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.guards import guard, holds, paired_tags, written_tags
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.foundation.unicode import valid_unicode

# The corpus of hostile texts: strings that try to break out of the text around them.

DATA = Path(__file__).with_name("hostile.json")
"""The file with the texts of the corpus, by their kinds."""


class HostileText(NamedTuple):
    r"""A string that tries to break out, and its kind, such as ``tag`` or ``line end``.

    ``str(...)`` returns both on one line, for the id of a test.

    >>> from promptdsl.testing import HOSTILE
    >>> print(HOSTILE[0])
    tag '</context>'
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {shortened(self.text)}"


def shortened(text: str) -> str:
    """Return a text as a Python literal in ASCII, shortened to 60 characters."""
    literal = ascii(text)
    return literal if len(literal) <= 60 else f"{literal[:60]}..."


def _corpus() -> Iterator[HostileText]:
    """Yield the texts of the data file.

    A text in the file may be a list of pieces, each with its number of repetitions. Long texts are
    written so, and two adjacent surrogates, which JSON would read as one character.
    """
    corpus: dict[str, list[Any]] = json.loads(DATA.read_text("utf-8"))  # Any: a text, or pieces
    for kind, texts in corpus.items():
        for text in texts:
            pieces: list[Any] = [text, 1] if isinstance(text, str) else text  # Any: with counts
            repeated = (
                piece * times for piece, times in zip(pieces[::2], pieces[1::2], strict=True)
            )
            yield HostileText(kind, "".join(repeated))


HOSTILE: tuple[HostileText, ...] = tuple(_corpus())
"""The corpus of promptdsl's own tests, in a stable order; no text is empty or repeated.

The kinds: tags, also in disguise, references, delimiters, chat markers, Markdown, HTML, JSON, CSV,
tables, lists, quotations, code, template syntax, line ends, control and invisible characters,
look-alikes, marks of snapshots, long texts, and harmless texts for contrast.
"""


# The problem that a hostile text causes, and the text of the failed assertion.


@attrs.frozen
class InjectionProblem:
    """What a hostile text does.

    ``wire_text`` is the text that is sent. ``span`` is what contains the hostile text, if that is
    known. ``provider`` is the provider of the payload that changed.
    """

    what: str
    wire_text: str
    span: Span | Origin | None = None
    provider: str | None = None
    location: tuple[str, str] | None = None
    """The name of the location, and the advice, if they do not follow from the kind of the span."""

    def failure(self, argument: str, hostile: HostileText) -> str:
        """Return the text of the failure."""
        lines = [f"the argument {argument!r} is not safe: a {hostile} {self.what}"]
        if self.provider:
            lines.append(f"  for: {self.provider}")
        lines.append(f"  sent: {self.wire_text}")
        if self.span is not None:
            kind = self.span.kind if isinstance(self.span, Span) else ""
            name, advice = self.location or KINDS[kind]
            lines.append(f"  {self.span.source}: wrote it, in {self.span.address}, as {name}")
            lines.append(f"  {advice}")
        return "\n".join(lines)


_AUTHOR = (
    "author text: an f-string, format(), trusted() or format_block",
    "write Value(...), Untrusted(...) or a t-string: these are encoded",
)
_VALUE = ("a value", "values are encoded; perhaps the prompt function changes the text after that")
KINDS = {
    "author": _AUTHOR,
    "section": _AUTHOR,
    "value": _VALUE,
    "volatile": _VALUE,
    "conversation": (
        "text of the conversation",
        "it is sent unchanged; with guard_conversation it cannot forge a tag",
    ),
}
"""The name and the advice for each kind of span."""

IN_CODE = "write Code(Value(...)): its code fence is longer than any fence in the value"
OUTSIDE = ("another part", "perhaps the prompt function writes other parts for this text")
TEMPLATE = (
    "the text of a template",
    "pass it as a variable: Template.from_string('Plan: {{ plan }}', plan=plan)",
)
DEFINITION = (
    "text of a tool or of the output schema",
    "it is not encoded: keep it constant, and put what differs into a message",
)
CALL = (
    "the input of a call",
    "pass a mapping, not JSON text with the argument in it: ToolUse('find', {'q': q}, id)",
)
"""``OUTSIDE``, ``TEMPLATE``, ``DEFINITION`` and ``CALL`` are the name and the advice for locations
of other kinds. ``IN_CODE`` is only the advice for a value in a code fence of the author."""


# The location of an argument in a prompt: what must stay true there, and which text breaks it.

WORD = "40716253"
"""A harmless text that no prompt contains. ``upper()`` and ``quote()`` do not change it."""
TAG = re.compile(r"<(/?)([A-Za-z_][\w.\-]*)")
"""The slash of a closing tag, and the name of a tag."""
ENDS_CODE = "ends its code fence"
"""The problem of a text in the author's code."""


@attrs.frozen
class InjectionLocation:
    """A text with the argument in it.

    ``before`` and ``after`` are the rest of the text, ``start`` and ``end`` the rest of its block.
    ``names`` and ``literals`` are the tags and delimiters that the argument must not forge.
    ``is_markdown``: the argument is read as Markdown. ``code`` is the text from the author's code
    fence up to the argument, if the argument is in code. ``prefix`` begins each line of the
    argument after the first. ``has_no_brackets``: angle brackets are encoded there.
    ``is_verbatim``: the argument is sent unencoded. ``keeps_argument``: the prompt function does
    not change the argument.
    """

    text: str
    before: str
    after: str
    start: str
    end: str
    names: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    is_markdown: bool = False
    code: str = ""
    prefix: str = ""
    has_no_brackets: bool = False
    is_verbatim: bool = False
    keeps_argument: bool = False

    @cached_property
    def adjacent_lines(self) -> tuple[str, str]:
        """The two lines before the argument, and the two lines after it."""
        return "".join(self.start.splitlines(True)[-2:]), "".join(self.end.splitlines(True)[:2])

    @cached_property
    def open_tag(self) -> str:
        """The end of the text before the argument, from a ``<`` that is not closed; else ``""``."""
        bracket = self.start.rfind("<")
        return self.start[bracket:] if bracket > self.start.rfind(">") else ""

    @property
    def harmless_piece(self) -> str:
        """The text that the harmless word became; it has the word twice if the author wrote so."""
        return self.text[len(self.before) : len(self.text) - len(self.after)]

    def promise_broken_by(self, piece: str, hostile: str) -> str | None:
        """Return what is no longer true with a text in this location; ``None`` if all is well.

        ``piece`` is what was sent for the ``hostile`` text.
        """
        lines, harmless = self.unindented(piece), self.harmless_piece
        guarded = guard(piece + self.after, self.names, self.literals) if self.names else piece
        if not (self.has_no_brackets or guarded.startswith(piece)):
            return "forges a tag or delimiter of the prompt"
        if not self.has_no_brackets and self._completes(piece) > self._completes(harmless):
            return "completes a tag of the prompt"
        if self.is_verbatim:
            expected = valid_unicode(harmless.replace(WORD, hostile))[0]
            is_changed = self.keeps_argument and piece != expected
            return "is not sent unchanged" if is_changed and not self.names else None
        if self.has_no_brackets and ("<" in lines or ">" in lines):
            return "writes a tag"
        before, after = self.adjacent_lines
        structure = skeleton(before + harmless + after)
        if self.is_markdown and skeleton(before + piece + after) != structure:
            return "begins a heading, a rule or a code fence"
        if self.code and self._fences(piece + after) != self._fences(harmless + after):
            return ENDS_CODE
        # In JSON, two adjacent surrogates are one character.
        paired = hostile.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        expected_readings = {harmless.replace(WORD, text) for text in (hostile, paired)}
        if self.keeps_argument and expected_readings.isdisjoint(readings(lines)):
            return "does not come back from decode()"
        return None

    def _fences(self, text: str) -> list[str]:
        """Return the code fences in the author's code and in the text that follows it."""
        return [fence for fence, _ in code_fences(self.code + text)]

    def _completes(self, piece: str) -> bool:
        """Return whether a text completes an open ``<`` of the author to a tag."""
        if not self.open_tag:
            return False
        authored = written_tags(f"{self.open_tag}>")  # the author may write a tag
        names = self.names.difference(*authored)
        return not guard(self.open_tag + piece, names, self.literals).startswith(self.open_tag)

    def unindented(self, piece: str) -> str:
        """Return a text without ``prefix`` in all lines but the first; empty lines may lack it."""
        indent = self.prefix.rstrip()
        rest = re.escape(self.prefix[len(indent) :])
        return re.sub(f"\n{re.escape(indent)}(?:{rest})?", "\n", piece) if self.prefix else piece


def around_word(text: str) -> tuple[str, str]:
    """Return the text before the first harmless word, and the text after the last one."""
    before, _, rest = text.partition(WORD)
    return before, rest.rpartition(WORD)[2]


def between(text: str, before: str, after: str) -> str | None:
    """Return a text without its beginning and its end; ``None`` if it has other ones."""
    fits = len(text) >= len(before) + len(after)
    if not (fits and text.startswith(before) and text.endswith(after)):
        return None
    return text[len(before) : len(text) - len(after)]


def readings(text: str) -> Iterator[str]:
    """Yield the texts that a reader of plain text, CSV or JSON gets from a text."""
    yield decode(text)
    if text.startswith('"'):
        with suppress(csv.Error):  # a line end after a quoted cell
            yield from (decode("".join(cell)) for cell in csv.reader([text]))
    with suppress(ValueError):
        yield str(json.loads(f'"{decode(text)}"', strict=False))


def is_enclosed(before: str, after: str, literals: Collection[str]) -> bool:
    """Return whether a tag or a delimiter is open between two texts, and closed after it."""
    tags = Counter(TAG.findall(before))
    closed = {name for slash, name in TAG.findall(after) if slash}
    is_in_tag = any(tags["", name] > tags["/", name] for name in closed)
    return is_in_tag or holds(after, literals)


# Markdown, as a tolerant reader understands it.

CONTAINERS = re.compile(r"\s*(?:(?:[-+*>]|\d+[.)])\s+)*")
"""The signs of lists and quotations at the beginning of a line."""
LINES = {
    "rule": re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*"),
    "fence": re.compile(r"(?:```|~~~).*", re.DOTALL),
    "heading": re.compile(r"#{1,6}(?:\s.*)?", re.DOTALL),
}
"""The shape of each kind of line, after the signs in ``CONTAINERS``."""
UNDERLINE = re.compile(r"\s*(?:=+|-+)\s*")
"""A line that makes the line above it a heading."""


def skeleton(text: str) -> list[str]:
    """Return the kinds of the headings, rules and code fences of a text, in the text's order."""
    structure: list[str] = []
    above = ""
    for line in text.splitlines():
        readings_of_line = (line, CONTAINERS.sub("", line, count=1))
        kinds = [
            kind for kind, shape in LINES.items() if any(map(shape.fullmatch, readings_of_line))
        ]
        if above.strip() and any(map(UNDERLINE.fullmatch, readings_of_line)):
            kinds = ["underline"]
        structure += kinds[:1]
        above = line
    return structure


FENCE = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
"""A line that opens a code fence, or closes one if nothing follows it. Inline code does neither."""


def code_fences(text: str) -> list[tuple[str, int]]:
    """Return each code fence that a text opens, with its offset; ``""`` closes the fence before."""
    fences: list[tuple[str, int]] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        rest = CONTAINERS.sub("", line, count=1)
        offset += len(line)
        match = FENCE.match(rest)
        fence = fences[-1][0] if fences else ""
        if match and not fence:
            fences.append((match[1], offset - len(rest)))
        elif match and match[1].startswith(fence) and not match[2].strip():
            fences.append(("", offset))
    return fences


# Hostile texts in the data of a prompt: its tools, its output schema and its calls.

INPUT_KEYS = frozenset(("input", "args", "arguments"))
"""The keys of providers for the input of a call. Only in an input, the argument may be a key."""
KEYS_OF_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""The keys of a JSON schema whose values have names as keys."""
KEYS_OF_DATA = ("enum", "const", "default", "examples", "example")
"""The keys of a JSON schema with data, such as the values that an argument may have."""


class DataDifference(NamedTuple):
    """A difference in the data of two prompts: its path, the old value and the new value."""

    path: tuple[str | int, ...]
    before: object
    after: object

    def __str__(self) -> str:
        """Return the path and the new value."""
        path = ".".join(key for key in self.path if isinstance(key, str))
        return f"{path}: {shortened(str(self.after))}"

    @property
    def is_text(self) -> bool:
        """Whether both values are texts, so that they may contain the argument."""
        return isinstance(self.before, str) and isinstance(self.after, str)

    @property
    def is_instruction(self) -> bool:
        """Whether the value is a description or a comment: a model reads it as an instruction."""
        keys = iter(self.path)
        for key in keys:
            if key in KEYS_OF_DATA or key in INPUT_KEYS:
                return False
            if key in KEYS_OF_NAMES:
                next(keys, None)
        return self.path[-1] in ("description", "title", "$comment")


def data_problem(
    harmless: Rendered, spans: Sequence[Span], rendered: Rendered, hostile: str
) -> InjectionProblem | None:
    """Return the problem of a hostile text in tools, in the output schema or in calls.

    ``harmless`` is the prompt with the harmless word, ``spans`` are its spans, and ``rendered`` is
    the prompt with the hostile text.
    """
    for change in differences(_data_of(harmless), _data_of(rendered)):
        broken = _promise_broken_by(change, harmless, hostile)
        if broken:
            definitions = _definitions_of(harmless)
            contents = [message.content for message in harmless.messages]
            calls = [
                span for span in spans if contents[span.message][span.block].type == "tool_use"
            ]
            tools = [Origin(definition.name, definition.source) for definition in definitions]
            # The path begins with an index in ``_data_of``: first the definitions, then the calls.
            # An empty path means that their number differs, so no origin is known.
            index = int([*change.path, -1][0])
            kind = CALL if index >= len(definitions) else DEFINITION
            origin = [*tools, *calls, None][index]
            return InjectionProblem(broken, str(change), origin, location=kind)
    return None


def _promise_broken_by(change: DataDifference, harmless: Rendered, hostile: str) -> str | None:
    """Return what is no longer true with a difference in data; ``None`` if all is well."""
    location = _location_in(str(change.before), harmless)
    if change.is_text and WORD in location.text:
        piece = between(str(change.after), location.before, location.after)
        if piece is not None and not change.is_instruction:
            return None
        if piece is not None:
            return location.promise_broken_by(piece, hostile)
    return "changes more than its own text"


def _location_in(text: str, harmless: Rendered) -> InjectionLocation:
    """Return the location of the argument in a text that a model reads as an instruction."""
    before, after = around_word(text)
    names = harmless.config.tags | paired_tags(before + after)
    literals = frozenset(harmless.config.literals)
    is_markdown = not is_enclosed(before, after, literals)
    return InjectionLocation(text, before, after, before, after, names, literals, is_markdown)


def _definitions_of(rendered: Rendered) -> list[ToolDefinition | OutputSchema]:
    return [*rendered.tools, *filter(None, [rendered.output])]


def _data_of(rendered: Rendered) -> list[object]:
    """Return the fields of each tool and of the output schema, and then the input of each call."""
    definitions = [
        attrs.asdict(definition, recurse=False) for definition in _definitions_of(rendered)
    ]
    blocks = (block for message in rendered.messages for block in message.content)
    calls = [
        {"input": _read(block.arguments)} for block in blocks if isinstance(block, ToolUseBlock)
    ]
    return [*({**fields, "at": None} for fields in definitions), *calls]


def differences(before: object, after: object, *path: str | int) -> Iterator[DataDifference]:
    """Yield each difference of two JSON values.

    Objects or lists with a different structure are one difference. Names of speakers are not
    compared: they are left out for a provider that refuses a name.
    """
    if before == after:  # the usual case
        return
    if path[-1:] == ("arguments",) and isinstance(before, str) and isinstance(after, str):
        before, after = _read(before), _read(after)
    if is_mapping(before) and is_mapping(after):
        old_items, new_items = _compared_items(before), _compared_items(after)
        pairs = [*zip(old_items, new_items, strict=False)]
        may_be_value = not INPUT_KEYS.isdisjoint(path)
        alike = [a == b or (may_be_value and WORD in a) for (a, _), (b, _) in pairs]
        if len(old_items) == len(new_items) and all(alike):
            for (key, old), (_, new) in pairs:
                yield from differences(old, new, *path, key)
            return
    elif is_list(before) and is_list(after) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, *path, index)
        return
    yield DataDifference(path, before, after)


def _compared_items(mapping: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return the items of a JSON object, without the name of a speaker."""
    return [
        (key, value) for key, value in mapping.items() if key != "name" or "role" not in mapping
    ]


def _read(text: str) -> object:
    """Return the input of a call, or its text if that is not JSON."""
    value = read_json(text)
    return text if value is ABSENT else value
