"""The record of a render: what was sent, and why, as JSON.

Read :class:`PromptRecord`, below, first. Before it come two changes of its data: without content,
and with source files relative to a root folder. ``recorded.py`` makes the data of a render.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from html import escape
from pathlib import Path
from typing import Any, Self, cast

import attrs

from promptdsl.budget.dropped import Dropped, named
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import DataError, OptionError, counted, shown
from promptdsl.foundation.files import atomic_writer, checked_path
from promptdsl.foundation.frozen import is_list, is_mapping, json_leaf, plain
from promptdsl.foundation.json import ENCODER, LEVELS, JsonDict, object_of_pairs
from promptdsl.foundation.source import LibrarySection, Source, author, public_api
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import TextBlock, ToolResultBlock
from promptdsl.messages.blocks import CLASSES
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import FIXED_CHOICES, Loss, OutputSchema, Prompt, ToolDefinition
from promptdsl.rendering.reports.cards import BudgetUse, RequestView
from promptdsl.rendering.reports.dropped_parts import located_dropped
from promptdsl.rendering.reports.html_view import html_view
from promptdsl.rendering.reports.text_view import Paint, text_lines, unstyled
from promptdsl.rendering.reports.token_parts import TokenPart
from promptdsl.rendering.reports.token_view import MAX_ROWS, TokenView, shown_parts
from promptdsl.rendering.spans import Span
from promptdsl.tree.outline import outline_text

# A record without content: no text, name, id and file. Keys that are not listed here are left out.

COUNT_KEYS = ("total", "label", "method", "typical", "tools", "form", "savings")
"""The keys of the counts in the tokens of a record."""


def record_without_content(data: Any) -> JsonDict:  # Any: JSON data
    """Return the data of a record without content."""
    data_without_content: JsonDict = _reduced(data, RECORD_PLAN)
    return {**data_without_content, "content": False}


def _unchanged(value: object) -> object:
    return value


def _reduced(value: Any, plan: Any) -> Any:  # Any: JSON data, and what stays of it
    """Return the keys of data that a plan has; a list is reduced item by item.

    The plan has, for each key, a function of its value, another plan, or a constant. A constant
    replaces the value, unless the value is empty.
    """
    if callable(plan):
        return plan(value)
    if value is None or not isinstance(plan, dict):
        return value and plan
    if is_list(value):
        return [_reduced(item, plan) for item in value]
    plans = cast("dict[str, object]", plan)
    return {key: _reduced(value[key], inner) for key, inner in plans.items() if key in value}


def _bare_blocks(blocks: Sequence[JsonDict]) -> list[JsonDict]:
    return [
        _reduced(block, BLOCK_PLAN) if block["type"] in CLASSES else {"type": "unknown"}
        for block in blocks
    ]


def _bare_settings(rows: JsonDict) -> JsonDict:
    """Return settings without the texts of delimiters."""
    return {
        key: {**row, **({"value": None} if is_list(row.get("value")) else {})}
        for key, row in rows.items()
        if is_mapping(row)
    }


def _choice(choice: str | None) -> str | None:
    return choice if choice in FIXED_CHOICES else None


def _kind(what: str) -> str:
    """Return the name of a part without names of the author; a section keeps its id."""
    return what if what.startswith("section ") else re.split(" ['\"]", what)[0]


BLOCK_PLAN: Mapping[str, object] = {
    **dict.fromkeys(("type", "cache", "is_error", "error_type"), _unchanged),
    "content": _bare_blocks,
}
_SPAN_KEYS = ("message", "block", "inner", "start", "end", "kind", "role", "cache", "tokens")
_PART_PLAN = {
    "what": _kind,
    **dict.fromkeys(
        ("depth", "tokens", "cache", "priority", "message", "at", "range", "assumed"), _unchanged
    ),
}
# What stays of a record, see ``_reduced``.
RECORD_PLAN: Mapping[str, object] = {
    **dict.fromkeys(
        ("format", "content", "digest", "model", "budget", "libraries", "sent", "sent_as"),
        _unchanged,
    ),
    "messages": {"role": _unchanged, "kind": _unchanged, "content": _bare_blocks},
    "outline": [],
    "spans": dict.fromkeys(_SPAN_KEYS, _unchanged),
    "tokens": {
        **dict.fromkeys((*COUNT_KEYS, "messages"), _unchanged),
        "parts": {**_PART_PLAN, "dropped": ""},
    },
    "dropped": _PART_PLAN,
    "losses": dict.fromkeys(("kind", "name", "at"), _unchanged),
    "tools": {"cache": _unchanged},
    "tool_choice": _choice,
    "output": {"strict": _unchanged},
    "settings": _bare_settings,
    "inputs": None,
}


# The root of a record: the folder to which the files of its sources are relative.

_UNRELATED = re.compile(r"[/\\<]|[A-Za-z]:[/\\]")
"""The beginning of a source that is not relative to the root; ``<stdin>`` is not a file."""
_TOP_FOLDER = re.compile(r"(?:[A-Za-z]:|[/\\]{2}[^/\\]+)?[/\\]*[^/\\]+[/\\]")
"""The beginning of a complete path: its drive and its first folder."""
_KEYS_OF_ROWS = ("outline", "spans", "dropped", "losses", "tools")
"""The keys of a record whose rows have a source."""


def shorten_sources(data: JsonDict) -> None:
    """Add the root to a new record, and make its sources relative to it.

    The root is found in two steps. First, of the folders at the top level, the one with most files
    is chosen. The root is then the longest folder that contains all files in it. It ends with a
    separator, so that a file is the root and the relative source. Files outside of the root do not
    change. There is no root if a source is relative already.
    """
    rows = [row for row in _rows_of(data) if "source" in row]
    sources = {row["source"] for row in rows}
    root = _root_of(sources)
    if not root:
        return
    data["root"] = root
    short = {source: _relative(source, root) for source in sources}
    for row in rows:
        row["source"] = short[row["source"]]


def with_complete_sources(data: Mapping[str, Any]) -> Mapping[str, Any]:  # Any: JSON data
    """Return a copy of a record in which each source has its complete file."""
    root = data.get("root")
    if root is None:
        return data

    def complete(rows: Iterable[JsonDict]) -> list[JsonDict]:
        return [
            {**row, "source": root + row["source"]}
            if "source" in row and not _UNRELATED.match(row["source"])
            else row
            for row in rows
        ]

    changed: JsonDict = {key: complete(data[key]) for key in _KEYS_OF_ROWS}
    if data["tokens"] is not None:
        lists = {key: complete(data["tokens"].get(key, ())) for key in ("sources", "parts")}
        changed["tokens"] = {**data["tokens"], **lists}
    if data["output"] is not None:
        (changed["output"],) = complete([data["output"]])
    return {**data, **changed}


def _rows_of(data: JsonDict) -> Iterator[JsonDict]:
    for key in _KEYS_OF_ROWS:
        yield from data[key]
    tokens: JsonDict = data["tokens"] or {}
    for key in ("sources", "parts"):
        yield from tokens.get(key, ())
    yield data["output"] or {}


def _root_of(sources: Iterable[str]) -> str:
    """Return the root of sources, which ends with a separator; ``""`` if there is none."""
    files = [source.rpartition(":")[0] for source in sources if not source.startswith("<")]
    tops = [_TOP_FOLDER.match(file) if _UNRELATED.match(file) else None for file in files]
    if not all(tops):
        return ""
    counts = Counter(top[0] for top in tops if top)
    if not counts:
        return ""
    top = max(counts, key=lambda name: (counts[name], name))
    files_in_top = sorted(file for file in files if file.startswith(top))
    # In a sorted list, the beginning that the first and the last share is shared by all.
    first_file, last_file = files_in_top[0], files_in_top[-1]
    length = next(
        (n for n, pair in enumerate(zip(first_file, last_file, strict=False)) if len({*pair}) > 1),
        -1,
    )
    common = first_file if length < 0 else first_file[:length]
    return common[: max(common.rfind("/"), common.rfind("\\")) + 1]


def _relative(source: str, root: str) -> str:
    rest = source.removeprefix(root)
    return source if _UNRELATED.match(rest) else rest


# The record: what was sent in a request, and why, as one JSON value to keep and to print.

FORMAT = "1.1"
"""The version of the format of a record."""
LEVELS_ABOVE_DATA = 8
"""The number of levels in a record above the author's data."""


_IN_PAYLOADS = frozenset({"messages", "contents", "input"})
"""A payload has one of these keys."""


class PromptRecord:
    """What was sent in a request, and why: one JSON value, which can be kept and printed later.

    :meth:`Rendered.record` makes it. The file ``record.schema.json`` in the package is its JSON
    schema. ``str(record)`` and :meth:`outline` return the parts with their lines,
    :meth:`token_tree` the parts with their tokens. Notebooks show a record like a
    :class:`Rendered`.

    >>> from promptdsl import PromptRecord, System, Timeline, User, render
    >>> rendered = render(Timeline(System("Be kind."), User("Hi")), model="gpt-5")
    >>> record = rendered.record(inputs={"name": "Ada"})
    >>> record
    <PromptRecord 1.1 for openai gpt-5: 2 messages, 15 tokens>
    >>> PromptRecord.from_dict(record.to_dict()) == record
    True
    >>> record.to_dict()["inputs"]
    {'name': 'Ada'}
    """

    def __init__(self, data: Mapping[str, Any]) -> None:  # Any: JSON data
        """Keep the JSON value of a record. It is not checked here, but by :meth:`from_dict`."""
        self._data = data

    @cached_property
    def _complete(self) -> Mapping[str, Any]:  # Any: JSON data
        """The JSON value, with the complete file of each source."""
        return with_complete_sources(self._data)

    @classmethod
    @public_api
    def from_dict(cls, data: object) -> Self:
        """Return the record that a JSON value describes; unknown keys are kept.

        Raises :class:`DataError` for a value that is not a record, or has an unknown major version.
        """
        fix = "pass what PromptRecord.to_dict() returned"
        try:
            data_copy: Any = plain(data, "record", json_leaf, levels=LEVELS + LEVELS_ABOVE_DATA)
            if not is_mapping(data_copy) or not isinstance(data_copy.get("format"), str):
                if is_mapping(data_copy) and _IN_PAYLOADS & data_copy.keys():
                    fix = "it looks like a payload: read_payload(data) returns its messages"
                raise DataError("not a record: it has no 'format'", fix=fix)
            if not re.match(r"1\.[0-9]+\Z", str(data_copy["format"])):
                problem = (
                    f"the record has the format {data_copy['format']!r}, this version reads 1.x"
                )
                raise DataError(problem, fix="install a version of promptdsl that reads it")
            record = cls(data_copy)
            # The value is a record if all its views can be made.
            _ = [str(record), record.token_tree(), record.html(), record.dropped]
            _ = [record.losses, record.hints]
        except DataError as error:
            raise error.located(author()) from None
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(f"not a record: {what}", fix=fix, at=(author(),)) from None
        return record

    @classmethod
    @public_api
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Return the record in a file.

        Raises :class:`DataError` for a file that cannot be read, or whose JSON has a key twice, and
        all that :meth:`from_dict` raises.
        """
        try:
            name = checked_path(file, "record.json")
            data = json.loads(Path(name).read_bytes().decode(), object_pairs_hook=object_of_pairs)
        except (OSError, ValueError, RecursionError) as error:
            fix = "pass a file that PromptRecord.save() wrote"
            problem = f"cannot read {os.fspath(file)!r}: {error}"
            raise DataError(problem, fix=fix, at=(author(),)) from None
        return cls.from_dict(data)

    def to_dict(self) -> JsonDict:
        """Return the JSON value. Do not change what is in it: the record uses the same objects.

        Its sources are relative to its ``root``. All other methods return complete files.
        """
        return dict(self._data)

    @public_api
    def to_json(self) -> str:
        """Return the JSON text of the record, on one line."""
        text = ENCODER.encode(self._data)
        return text if is_valid_unicode(text) else json.dumps(self._data)

    @public_api
    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the JSON text to a file in UTF-8, and replace what the file has.

        It is written completely or not at all. Only the owner may read a new file (mode 0600).
        Raises :class:`OSError`.
        """
        with atomic_writer(checked_path(file, "record.json")) as write:
            write(f"{self.to_json()}\n".encode())

    @public_api
    def without_content(self) -> "PromptRecord":
        """Return the record without texts, names, ids and files, like ``record(content=False)``.

        >>> from promptdsl import Section, System, render
        >>> record = render(System(Section("role", "Be kind."))).record().without_content()
        >>> record.to_dict()["messages"]
        [{'role': 'system', 'content': [{'type': 'text'}]}]
        """
        return PromptRecord(record_without_content(self._data))

    @property
    @public_api
    def prompt(self) -> Prompt:
        """The messages, the tools and the output schema; ``render()`` accepts it.

        Raises :class:`DataError` for a record without content.
        """
        if not self._data["content"]:
            fix = "make it with record(content=True)"
            raise DataError("the record has no content", fix=fix, at=(author(),))
        return self._prompt

    @cached_property
    def _prompt(self) -> Prompt:
        data = self._complete
        messages = tuple(map(Message.from_dict, data["messages"]))
        tools = tuple(ToolDefinition(**_fields(row, ToolDefinition)) for row in data["tools"])
        output_format = data["output"]
        output = (
            None if output_format is None else OutputSchema(**_fields(output_format, OutputSchema))
        )
        is_text = output_format is not None and output_format.get("prompted") is True
        return Prompt(messages, tools, data["tool_choice"], output, prompts_output=is_text)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The pieces of the messages, like ``Rendered.spans()``; raises what ``prompt`` raises."""
        messages: tuple[Message, ...] = self.prompt.messages
        spans: list[Span] = []
        for row in self._complete["spans"]:
            # Every row has these keys: for another value, ``from_dict`` names the missing key.
            kind, message_index, block_index = row["kind"], row["message"], row["block"]
            block = messages[int(message_index)].content[int(block_index)]
            if isinstance(block, ToolResultBlock) and "inner" in row:
                block = block.content[int(row["inner"])]
            text = block.text[row["start"] : row["end"]] if isinstance(block, TextBlock) else ""
            fields = {"address": "", "turn": "", **row, "kind": kind, "text": text}
            spans.append(Span(**_fields(fields, Span)))
        return tuple(spans)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The content that the target does not take, like ``Rendered.losses``."""
        return tuple(loss for loss in self._losses_and_hints() if loss.kind != "hint")

    @property
    def hints(self) -> tuple[Loss, ...]:
        """The lost details and possible mistakes, like ``Rendered.hints``."""
        return tuple(loss for loss in self._losses_and_hints() if loss.kind == "hint")

    def _losses_and_hints(self) -> list[Loss]:
        rows = (
            {**_EMPTY_FIELDS, "what": row.get("name", ""), **row}
            for row in self._complete["losses"]
        )
        return [Loss(**_fields(row, Loss)) for row in rows]

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """The parts that were dropped, like ``Rendered.dropped``."""
        rows = self._complete["dropped"]
        texts = ({**_EMPTY_FIELDS, **row, "text": row.get("said", "")} for row in rows)
        return tuple(Dropped(**_fields(row, Dropped)) for row in texts)

    @public_api
    def outline(self, *, width: int | None = None) -> str:
        """Return the parts of the request, like ``Rendered.outline()``; ``""`` without content."""
        return outline_text(self._complete["outline"], width)

    @public_api
    def token_parts(
        self, *, depth: int | None = None, largest_first: bool = False
    ) -> list[JsonDict]:
        """Return the parts of the request with their tokens as data.

        ``depth`` is the number of levels, all by default. With ``largest_first``, siblings are
        sorted by their tokens, the largest first.
        """
        _check_number("depth", depth)
        tokens: JsonDict = self._complete["tokens"] or {}
        return shown_parts(tokens.get("parts", ()), depth=depth, largest_first=largest_first)

    @public_api
    def token_tree(
        self,
        *,
        depth: int | None = None,
        largest_first: bool = False,
        most: int | None = MAX_ROWS,
        width: int | None = None,
        strike: bool = False,
    ) -> str:
        """Return the use of the budget, the total, and the parts with their tokens and lines.

        ``depth`` is the number of levels that are shown, all by default. With ``largest_first``,
        siblings are sorted by their tokens, the largest first. ``most`` is the maximum number of
        parts, the largest ones; ``None`` shows all. Lines fit ``width`` columns; without it,
        nothing is cut. With ``strike``, the names of dropped parts are struck through (with the
        codes of a terminal).
        """
        _check_number("most", most)
        _check_number("width", width)
        view = self._token_view
        if view is None:
            return "the tokens could not be counted"
        rows = self.token_parts(depth=depth, largest_first=largest_first)
        return view.text(_token_parts(rows), most=most, width=width, strike=strike)

    @property
    def _token_view(self) -> TokenView | None:
        """What views show of the tokens, ``None`` if they could not be counted."""
        tokens, budget = self._complete["tokens"], self._data.get("budget")
        if tokens is None:
            return None
        use = None if budget is None else BudgetUse(**_fields(budget, BudgetUse))
        counts = tokens["total"], tokens["label"], tokens["typical"], tokens.get("savings", "")
        rows = [row for row in self._data["dropped"] if row.get("note")]
        notes = [f"{named(row['what'], row.get('path', ''))}: {row['note']}" for row in rows]
        return TokenView(*counts, use, _token_parts(tokens["parts"]), notes)

    def _texts(self, *, width: int | None = None, paint: Paint | None = None) -> list[str]:
        """Return the texts of each message, with a margin: the kind and the line of each text.

        The command ``promptdsl records show`` calls it.
        """
        lines_of = partial(text_lines, width=width, paint=paint or unstyled)
        return ["\n".join(lines_of(message)) for message in self._request_view.messages]

    def __str__(self) -> str:
        return self.outline() or self.token_tree()

    def __repr__(self) -> str:
        model, tokens = self._data["model"], self._data["tokens"]
        target = " ".join(filter(None, (model["provider"] or "no target", model["model"])))
        size = counted(len(self._data["messages"]), "message", "messages")
        size += "" if tokens is None else f", {tokens['total']:,} tokens"
        return f"<PromptRecord {self._data['format']} for {target}: {size}>"

    @public_api
    def html(self) -> str:
        """Return the HTML that notebooks show; without content, the tree of the tokens."""
        data = self._data
        if not data["content"]:
            return f"<pre>{escape(str(self))}</pre>"
        return html_view(self._request_view, self._token_view)

    _repr_html_ = html

    @property
    def _request_view(self) -> RequestView:
        """What views show of the request. Raises what ``prompt`` raises."""
        data, tokens = self._data, self._token_view
        view = RequestView(
            prompt=self.prompt,
            facts=ModelFacts(data["model"]["provider"], data["model"]["model"]),
            losses=self.losses,
            hints=self.hints,
            dropped=self.dropped,
            sent_as={int(index): role for index, role in data.get("sent_as", {}).items()},
            spans=self.spans,
        )
        if tokens is None:
            return view
        located = None
        if any(part.message for part in tokens.parts):
            texts = [row.get("text", "") for row in data["dropped"]]
            located = located_dropped(view.dropped, texts, tokens.parts)
        return attrs.evolve(
            view,
            tokens=(tokens.total, data["tokens"]["messages"]),
            budget=tokens.budget,
            definitions=tokens.tokens_by_tool(),
            located=located,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PromptRecord) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self._data["digest"])


# The fields that a row of a record without content lacks.
_EMPTY_FIELDS: JsonDict = {"what": "", "why": "", "path": "", "priority": None, "source": None}


def _token_parts(rows: Iterable[JsonDict]) -> list[TokenPart]:
    """Return the parts that rows of a record describe."""
    return [TokenPart(**_fields({"path": "", **row}, TokenPart)) for row in rows]


def _fields(row: JsonDict, cls: type) -> JsonDict:
    """Return the fields of ``cls`` that a row has, as arguments to make one, with its source."""
    names = _names_of(cls)
    fields: JsonDict = {name: row[name] for name in names if name in row}
    for name in ("at", "also"):
        if name in fields:
            fields[name] = tuple(fields[name])
    if "library" in fields:
        fields["library"] = LibrarySection(row["library"])
    if row.get("source"):
        file, _, line = row["source"].rpartition(":")
        fields["source" if "source" in names else "at"] = Source(file, int(line))
    return fields


@cache
def _names_of(cls: type) -> tuple[str, ...]:
    return tuple(attrs.fields_dict(cls))


def _check_number(option: str, value: object) -> None:
    """Raise :class:`OptionError` unless an option is ``None`` or an integer of 0 or more."""
    if value is not None and (type(value) is not int or value < 0):
        fix = "write a number of 0 or more, or None for no limit"
        raise OptionError(f"{option}={shown(value)}", fix=fix)
