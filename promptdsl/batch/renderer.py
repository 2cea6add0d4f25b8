"""Renders the rows of a table: each row becomes the body of a request, or a problem.

Problems come first. Then read :class:`RowRenderer`: its ``result()`` renders one row.
"""

import base64
import json
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from functools import cache, cached_property
from hashlib import sha256
from inspect import iscoroutine, iscoroutinefunction
from typing import Any, NamedTuple

import promptdsl
from promptdsl import Node, PromptError, ProviderName, Rendered, prefix_report
from promptdsl.batch.inputs import Parameters
from promptdsl.batch.rows import TableRow, arrow_rows, digest_of, numbered, usable_columns
from promptdsl.batch.service import LONGEST_ID, MESSAGES, Service, merged, service_of
from promptdsl.foundation.errors import DataError, OptionError, nearest, require, shown
from promptdsl.foundation.files import NOTED_FILES
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.unicode import valid_unicode

# Problems of rows, and the author's lines of an error.


class Problem(NamedTuple):
    """The reason why a row has no request.

    ``type`` is the class of the error, ``what`` its text, ``fix`` what to do. ``at`` are the lines
    of the author's code, ``file:line``.
    """

    type: str
    what: str
    fix: str = ""
    at: tuple[str, ...] = ()

    def __str__(self) -> str:
        line = f"{self.at[0]}: " if self.at else ""
        return f"{line}{self.type}: {self.what}" + (f" ({self.fix})" if self.fix else "")


def problem_of(error: BaseException) -> Problem:
    """Return any error as a problem, with the lines of the author's code."""
    try:
        return _problem_of(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # the text of an unknown error may raise an error
        return Problem(type(error).__name__, "an error that cannot be printed")


def _problem_of(error: BaseException) -> Problem:
    name = type(error).__name__
    if isinstance(error, PromptError):
        # An error about an argument of render() also names the line here that calls render().
        lines_here = {f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()}
        at = tuple(line for line in map(str, error.at) if line not in lines_here)
        return Problem(name, error.what, error.fix or "", at)
    frames = user_frames(error)
    return Problem(
        name, _text_of(error), at=tuple(f"{frame.filename}:{frame.lineno}" for frame in frames[-1:])
    )


def _text_of(error: BaseException) -> str:
    """Return the text of an error, then its notes; for an error without text, its class."""
    cls, lines = type(error), traceback.format_exception_only(error)
    names = (f"{cls.__module__}.{cls.__qualname__}", cls.__qualname__)
    # The text of a SyntaxError begins with lines of the code: they are left out.
    begins = (index for index, line in enumerate(lines) if line.startswith(names))
    text = "".join(lines[next(begins, -1) :]).strip()
    prefix = next((f"{name}: " for name in names if text.startswith(f"{name}: ")), "")
    return text.removeprefix(prefix)


PACKAGE = os.path.join(os.path.dirname(promptdsl.__file__), "")
"""The folder of this package, with a separator at its end."""


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of the user's code; if it has none, the frames of installed packages."""
    trace = traceback.extract_tb(error.__traceback__)
    stack = [frame for frame in trace if not frame.filename.startswith((PACKAGE, "<frozen "))]
    return [frame for frame in stack if not is_installed(frame.filename)] or stack


def is_installed(path: str) -> bool:
    """Return whether a path is in Python itself or in its installed packages."""
    return os.path.join(path, "").startswith(_installed())


def is_ours_or_installed(path: str) -> bool:
    """Return whether a path is in this package, or in installed code."""
    return path.startswith(PACKAGE) or is_installed(path)


@cache
def _installed() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [sysconfig.get_path(name) for name in names]
    return tuple(os.path.join(folder, "") for folder in {*folders, *map(os.path.realpath, folders)})


# The renderer of rows: each row becomes the body of a request, or a problem.

_KEEP_EMPTY = "write --keep-empty, or keep_empty=True in code, to send it anyway"
_TURN_KEYS = ("messages", "contents", "input")
"""The keys of the turns in a payload."""
_LIBRARY_MODULE = "promptdsl.libraries.library"
"""The module that Python imports with the first library."""
# Some programs that read lines take these characters as line ends, and JSON does not escape them.
_LINE_ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")


class RowTokens(NamedTuple):
    """The tokens of a request.

    ``total`` are all tokens, ``shared`` those at the beginning that are equal in the first row.
    ``label`` says how exact the count is.
    """

    total: int
    label: str
    shared: int


class RowResult(NamedTuple):
    """The result of a row: the ``body`` of its request as JSON text, or a ``problem``.

    ``digest`` are the first 12 hexadecimal digits of the SHA-256 of the body. ``losses`` is the
    content that the model does not accept. ``hints`` are the hints of the render, if they are
    switched on. ``schema`` is the JSON text of the output schema, if the prompt has one. ``used``
    are files and libraries with their digests: those that this process used for the first time with
    this row, and those that have changed.
    """

    row: TableRow
    body: str = ""
    digest: str = ""
    problem: Problem | None = None
    losses: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    schema: str = ""
    used: tuple[tuple[str, str], ...] = ()
    tokens: RowTokens | None = None


class RowRenderer:
    """Renders rows of a table with a prompt function.

    ``target`` is a function or component whose parameters have the names of columns; other columns
    are left out. ``constants`` are cells for every row that has no cell of the same name.
    ``format`` is a provider with a batch service, or ``messages``; by default it is the provider of
    ``model``. ``extra`` are keys of the body that a prompt does not write. A row without any text
    of a ``User`` or ``History`` fails, unless ``keep_empty`` is true. With ``hints``, results have
    the hints of their renders. ``name`` is what errors call the target. ``options`` are those of
    :func:`render`.

    >>> from promptdsl import Timeline, User
    >>> from promptdsl.batch import RowRenderer
    >>> def ask(question):
    ...     return Timeline(User(question))
    >>> renderer = RowRenderer(ask, model="gpt-5")
    >>> [result] = renderer([{"question": "Why?"}])
    >>> result.body
    '{"model":"gpt-5","messages":[{"role":"user","content":"Why?"}]}'

    A renderer can be pickled if its target can, so that other programs can call it. For a list of
    rows it returns a list of :class:`RowResult`; for an Arrow table it returns the table with the
    new columns ``body`` and ``problem``. Raises :class:`OptionError` for a wrong target or option.
    """

    def __init__(
        self,
        target: Callable[..., object],
        *,
        format: ProviderName | None = None,
        model: str | None = None,
        extra: Mapping[str, Any] | None = None,
        constants: Mapping[str, object] | None = None,
        keep_empty: bool = False,
        hints: bool = False,
        name: str = "",
        **options: Any,  # Any: those of render()
    ) -> None:
        if not callable(target) or isinstance(target, type):
            raise OptionError(
                "the target of rows must be a function or a component",
                fix="write a function whose parameters have the names of the columns",
            )
        self.target, self.model = target, model
        self.extra, self.constants = dict(extra or {}), dict(constants or {})
        self.keep_empty = keep_empty
        self._noted: dict[str, str] = {}
        self._reported: dict[str, str] = {}
        self.name = name or getattr(target, "__name__", "the target")
        self.options: dict[str, Any] = {**options, "hints": hints, "model": model}
        if format is not None and service_of(format).name != MESSAGES:
            self.options["provider"] = format
        provider = self.trial.facts.provider
        if format is None and provider is None and model is not None:
            fix = "name the service: --format, or format= in code; open models: openai_compatible"
            trial_hints = promptdsl.render(promptdsl.User("?"), model=model).hints
            suggestions = [
                hint.why.rpartition(": ")[2] for hint in trial_hints if hint.name == "unknown_model"
            ]
            problem = f"the provider of the model {model!r} is not known"
            raise OptionError(problem, fix=" Or ".join([*suggestions, fix]))
        self.format = format or provider or MESSAGES
        self.service.check_keys(self.extra)
        if self.format == MESSAGES and self.extra:
            raise OptionError(
                "the format messages has no keys to set",
                fix="name a service: --format, or format= in code",
            )
        if self.service.model and not (model or "model" in self.extra):
            raise OptionError(f"{self.format} requires the name of a model", fix="give --model")
        for constant, cell in self.constants.items():
            if not self.parameters.takes(constant):
                fix = nearest(constant, self.parameters.types)
                raise OptionError(f"{self.name} has no parameter {constant!r}", fix=fix)
            self.constants[constant] = self.parameters.argument(constant, cell, texts=True)

    @property
    def service(self) -> Service:
        """The batch service for the requests."""
        return service_of(self.format)

    @cached_property
    def trial(self) -> Rendered:
        """The render of a prompt of one word with the same options, to check the options."""
        # This prompt has no tools, so it cannot have a tool choice.
        options: dict[str, Any] = {**self.options, "hints": True, "tool_choice": None}
        return promptdsl.render(promptdsl.Timeline(promptdsl.User("-")), **options)

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters of the target."""
        return Parameters(self.target, self.name)

    @cached_property
    def _modules(self) -> set[str]:
        """The names of the modules that are noted; at first, those loaded before the first row."""
        self._module_count = len(sys.modules)
        return {*sys.modules}

    @property
    def used(self) -> Mapping[str, str]:
        """The digests of the files and libraries that rows used.

        The key of a file is its path, the key of a library is ``library NAME``.
        """
        return self._noted

    def _newly_used(self) -> tuple[tuple[str, str], ...]:
        """Return the items of ``used`` that are new or changed since the last call."""
        if self._noted == self._reported:
            return ()
        new = tuple(pair for pair in self._noted.items() if pair not in self._reported.items())
        self._reported |= self._noted
        return new

    def _note_modules(self) -> None:
        """Note the files of modules that the target imported, except installed ones."""
        if len(sys.modules) == self._module_count:
            return
        self._module_count = len(sys.modules)
        for name in sys.modules.keys() - self._modules:
            self._modules.add(name)
            path = getattr(sys.modules.get(name), "__file__", None) or ""
            if path and not is_ours_or_installed(path):
                with suppress(OSError):  # ``__file__`` of a module may be any text
                    self._noted[os.path.abspath(path)] = digest_of(path)

    def __getstate__(self) -> dict[str, object]:
        left_out = ("parameters", "trial", "_modules")
        return {
            **{key: attribute for key, attribute in vars(self).items() if key not in left_out},
            "_noted": {},
            "_reported": {},
        }

    def __call__(self, rows: Any) -> Any:  # Any: a list of rows, or an Arrow table
        """Return the result of each row; for an Arrow table, the table with two new columns."""
        if hasattr(rows, "to_pylist"):
            return self._table(rows)
        return [*map(self.result, numbered(rows))]

    def _table(self, table: Any) -> Any:  # Any: pyarrow has no types
        """Return an Arrow table with the new columns ``body`` and ``problem``."""
        names = usable_columns(table.schema, "the table", self.parameters.columns)
        taken_names = {"body", "problem"}.intersection(table.column_names)
        if taken_names:
            what = f"the table already has a column {min(taken_names)!r}, which the result adds"
            raise DataError(what, fix="rename it, and the parameter of the target")
        # Do not call self(...) here: in Ray Data all calls run in one thread, which would wait for
        # itself.
        results = [*map(self.result, numbered(arrow_rows(table, names)))]
        new_columns = {
            "body": [result.body or None for result in results],
            "problem": [_problem_text(result) for result in results],
        }
        for name, texts in new_columns.items():
            table = table.append_column(name, require("pyarrow", "batch").array(texts, "string"))
        return table

    def result(
        self, row: TableRow, *, count: bool = False, first: Rendered | None = None
    ) -> RowResult:
        """Return the result of a row; an error of rendering becomes its ``problem``.

        With ``count``, the result has its ``tokens``. ``first`` is the render of the first row, to
        count the tokens that both begin with.
        """
        return self._result_or_problem(row, count=count, first=first)._replace(
            used=self._newly_used()
        )

    def _result_or_problem(
        self, row: TableRow, *, count: bool, first: Rendered | None
    ) -> RowResult:
        """Return the result of a row; any error becomes its ``problem``."""
        try:
            rendered = self.rendered(row)
            result = self._row_result(row, rendered)
            if not count:
                return result
            report = prefix_report(first or rendered, rendered)
            shared = report.shared if first else 0
            return result._replace(tokens=RowTokens(report.after, report.label, shared))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a row may fail in any way, by sys.exit() too
            return RowResult(row, problem=problem_of(error))

    def rendered(self, row: TableRow) -> Rendered:
        """Return the render of a row, or raise its error; note the files that it uses."""
        _ = self._modules
        token = NOTED_FILES.set(self._noted)
        try:
            rendered = self._rendered(row)
            if _LIBRARY_MODULE in sys.modules:  # else no row has used a library
                for section in rendered.libraries:
                    self._noted[f"library {section.name}"] = f"{section.version} {section.digest}"
            return rendered
        finally:
            NOTED_FILES.reset(token)
            self._note_modules()

    def _rendered(self, row: TableRow) -> Rendered:
        """Return the render of a row, or raise its error."""
        if row.problem:
            raise DataError(row.problem)
        if not is_mapping(row.cells):
            fix = "a row is a mapping from names of columns to cells"
            raise DataError(f"the row is {shown(row.cells)}", fix=fix)
        cells = {**self.constants, **row.cells}
        arguments = self.parameters.arguments(cells, texts=row.texts)
        prompt = self.target(**arguments)
        if iscoroutine(prompt):
            import asyncio

            prompt = asyncio.run(prompt)
        return rendered_prompt(prompt, self.options)

    def body(self, rendered: Rendered) -> Any:  # Any: JSON
        """Return the body of a request.

        Raises :class:`TakenKey` if ``extra`` has a key that the prompt also writes. Raises
        :class:`DataError` if the prompt has no question, or the service refuses the body.
        """
        if not self.keep_empty and rendered._asks_nothing:
            raise DataError(
                "nothing is asked: no text of the user or of a history is sent", fix=_KEEP_EMPTY
            )
        if self.service.name == MESSAGES:
            return [message.to_dict() for message in rendered.messages]
        payload = rendered._payload()
        if not self.keep_empty and any(payload.get(key) == [] for key in _TURN_KEYS):
            raise DataError(
                f"nothing is asked: {self.format} refuses a body without turns", fix=_KEEP_EMPTY
            )
        body = self.service.body_of(payload)
        if self.service.model and self.model:
            body = {"model": self.extra.get("model", self.model), **body}
        return merged(body, self.extra)

    def _row_result(self, row: TableRow, rendered: Rendered) -> RowResult:
        """Return the result of a row that was rendered, or raise its error."""
        service, output = self.service, rendered.output
        losses, hints = [*map(str, rendered.losses)], [*map(str, rendered.hints)]
        if service.name == MESSAGES and (rendered.tools or output):
            losses.append("content: tools and the output schema are not in messages")
        text = json_line(self.body(rendered))
        try:
            encoded = text.encode()
        except UnicodeEncodeError:
            problem = "the row has a lone surrogate, which UTF-8 cannot encode"
            raise DataError(problem) from None
        size = len(encoded) + len(service.line_of("0" * LONGEST_ID, ""))
        if service.is_full(1, size):
            raise DataError(
                f"the request has {size:,} bytes, but a file has at most {service.most_bytes:,}",
                fix="shorten the row, or give a budget",
            )
        schema = "" if output is None else json.dumps(output.schema)
        return RowResult(
            row,
            text,
            sha256(encoded).hexdigest()[:12],
            losses=tuple(losses),
            hints=tuple(hints),
            schema=schema,
        )


def _problem_text(result: RowResult) -> str | None:
    return None if result.problem is None else valid_unicode(str(result.problem))[0]


def rendered_prompt(prompt: Any, options: Mapping[str, Any]) -> Rendered:
    """Return the render of a prompt; ``arender()`` makes it if a part is asynchronous."""
    unvisited: list[object] = [prompt]
    while unvisited:
        node = unvisited.pop()
        function = getattr(node, "function", None)
        if function is not None and iscoroutinefunction(function):
            import asyncio

            return asyncio.run(promptdsl.arender(prompt, **options))
        if isinstance(node, Node):
            unvisited += node.content
    return promptdsl.render(prompt, **options)


def json_line(body: object) -> str:
    """Return the JSON text of a body on one line; no program that reads lines splits it."""
    return _LINE_ENDS.sub(lambda match: f"\\u{ord(match[0]):04x}", _ENCODER.encode(body))


def _json_default(value: object) -> object:
    """Return what JSON has for an object that the encoder does not know."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if is_mapping(value):
        return {**value}
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"JSON has no {type(value).__name__}")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_json_default
)
