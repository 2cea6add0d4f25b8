"""The files of snapshots, and the tests in a run of pytest that use them.

In this order: the names of files, payloads in snapshots, the pytest mark for models, and the run.
"""

import asyncio
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from hashlib import sha256
from inspect import signature
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

import pytest

from promptdsl import PromptError, Rendered, Source, arender, render
from promptdsl.comparing.snapshot_file import Scrubber, ShownTexts
from promptdsl.foundation.errors import OptionError

# The names of snapshot files: valid on every system, and different for different tests.

MAX_TEST_NAME = 110
"""The maximum number of characters that the name of a test has in a file name, with its hash."""
MAX_NAME = 40
"""The maximum number of characters of a name from ``name=``."""

_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(?=\.|$)", re.IGNORECASE)
"""The beginning of a file name that Windows reserves for a device."""
_PLAIN_TEST = re.compile(r"\w+(\.\w+)*(\[[\w.,=+@-]+])?", re.ASCII)
"""The name of a test that is a file name on every system."""
_PLAIN_NAME = re.compile(r"[a-z0-9_.,=+@-]+")
"""The same for a name from ``name=``: only lower case, as some systems do not distinguish case."""
_ODD = re.compile(r"[^\w.,=+@-]+", re.ASCII)
"""Characters that ``-`` replaces in a file name."""


def name_of(nodeid: str, name: str) -> str:
    """Return the name of a test with the names of its classes: ``TestRefund.test_plan[free]``.

    ``name`` is the name of the test without its classes; it may contain ``::``.
    """
    classes = nodeid[: -len(f"::{name}")].split("::")[1:]
    return ".".join([*classes, name])


def stem_of(test: str, *, is_unique: bool = True) -> str:
    """Return the beginning of the file names of a test: its name, or a part of it and a hash.

    The hash is added if a character was replaced, or if the name is too long or reserved on
    Windows. It is also added without ``is_unique``: then the name of another test differs only in
    case.

    >>> stem_of("TestRefund.test_plan[free]")
    'TestRefund.test_plan[free]'
    >>> stem_of("test_model[openai/gpt-5]")
    'test_model[openai-gpt-5]-ce18db3f'
    """
    reserved = _RESERVED.match(test)
    if is_unique and not reserved and len(test) <= MAX_TEST_NAME and _PLAIN_TEST.fullmatch(test):
        return test
    head, bracket, params = test.partition("[")
    inner = _ODD.sub("-", params[:-1]).strip("-")
    slug = _ODD.sub("-", head) + (f"[{inner}]" if bracket else "")
    return _hashed_name("_" * bool(reserved) + slug, test, MAX_TEST_NAME)


def suffix_of(name: str | None, number: int) -> str:
    """Return the text after the stem, for a prompt with a name, or for the n-th without a name.

    >>> suffix_of("second", 2), suffix_of(None, 1), suffix_of(None, 2)
    ('[second]', '', '.2')
    """
    if name is None:
        return f".{number}" if number > 1 else ""
    if len(name) <= MAX_NAME and _PLAIN_NAME.fullmatch(name):
        return f"[{name}]"
    return f"[{_hashed_name(_ODD.sub('-', name), name, MAX_NAME)}]"


def stems_in(file_stem: str) -> list[str]:
    """Return the stems that the test of a file may have: with and without each suffix."""
    cuts = [match.start() for match in re.finditer(r"[.\[]", file_stem)]
    return [file_stem, *(file_stem[:cut] for cut in reversed(cuts))]


def path_from(folder: Path, path: Path) -> str:
    """Return a path for messages, relative to a folder."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive on Windows
        return path.as_posix()


def _hashed_name(slug: str, full_name: str, longest: int) -> str:
    # The hash and the ``-`` before it have 9 characters.
    digest = sha256(full_name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{slug[: longest - 9].rstrip('-. ')}-{digest}".lstrip("-.")


# The payload of a prompt as a snapshot: JSON, with placeholders for values that change.

PayloadPath: TypeAlias = "tuple[tuple[str | int, type[object]], ...]"

# The keys whose strings are scrubbed, in the payloads of all providers.
TEXT_KEYS = frozenset({
    *("cited_text", "content", "description", "instructions", "output", "prompt", "reasoning"),
    *("reasoning_content", "refusal", "system", "system_instruction", "text", "thinking"),
    *("const", "default", "enum"),  # of a schema
})  # fmt: skip
ID_KEYS = frozenset({"call_id", "id", "toolUseId", "tool_call_id", "tool_use_id"})
FILE_KEYS = frozenset({
    *("display_name", "file_id", "file_uri", "file_url", "filename", "image_url", "title", "uri"),
    "url",
})  # fmt: skip
DATA_KEYS = frozenset({"args", "arguments", "input", "json", "response"})
"""The keys of the arguments and results of calls: all strings in them are scrubbed."""


class Matcher(Protocol):
    """A matcher of syrupy, such as one that ``path_type`` returns."""

    def __call__(
        self, *, data: Any, path: PayloadPath
    ) -> Any:  # Any: a value of any type in a payload
        """Return the value for the snapshot; ``path`` are the keys and indexes that lead to it."""


def payload_text(
    rendered: Rendered, scrubbers: Mapping[str, Scrubber], matcher: Matcher | None
) -> str:
    """Return the payload as JSON text, with its keys in the order in which they are sent.

    Volatile values become placeholders. Scrubbers replace their matches in texts, in arguments and
    ids of calls, and in file names. A matcher gets each value before the scrubbers.
    """
    texts = ShownTexts(scrubbers)
    masked = rendered.masked(texts.volatile)
    value = _PayloadCopier(texts, matcher).value(masked._payload(), ())
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace").decode()


class _PayloadCopier:
    """Makes copies of the values in a payload, with placeholders for matches of scrubbers."""

    def __init__(self, texts: ShownTexts, matcher: Matcher | None) -> None:
        self.texts = texts
        self.matcher = matcher
        self.volatile = re.compile(f"({'|'.join(map(re.escape, texts.brackets)) or '(?!)'})")

    def value(  # Any: a value of any type in a payload
        self, value: Any, path: PayloadPath, *, is_data: bool = False
    ) -> Any:
        """Return a copy of a value. With ``is_data``, as in a call, all strings are scrubbed."""
        if self.matcher:
            value = self.matcher(data=value, path=path)
        # The last two of these keys are that of the value and its parent's, ``""`` for no key.
        path_keys = ["", "", *(key for key, _ in path if isinstance(key, str))]
        if isinstance(value, str):
            return self.text(value) if is_data or _is_scrubbed(value, *path_keys[-2:]) else value
        if isinstance(value, dict):
            # Only an object is data: in Responses, "input" is the list of messages. A schema, or a
            # property with this name, is not data either.
            is_data_field = bool(path) and path[-1][0] in DATA_KEYS
            is_data_field &= path_keys[-2] not in ("inputSchema", "properties")
            items = cast("dict[str, object]", value).items()  # a payload is JSON
            return {
                key: self.value(
                    inner, (*path, (key, type(inner))), is_data=is_data or is_data_field
                )
                for key, inner in items
            }
        if isinstance(value, list | tuple):
            values = cast("list[object]", value)  # a payload is JSON
            return [
                self.value(inner, (*path, (index, type(inner))), is_data=is_data)
                for index, inner in enumerate(values)
            ]
        if isinstance(value, bytes):
            return f"{len(value)} bytes, sha256:{sha256(value).hexdigest()[:12]}"
        return value if isinstance(value, int | float | None) else repr(value)

    def text(self, text: str) -> str:
        """Return a scrubbed text; the placeholders of volatile values in it stay unchanged."""
        pieces = self.volatile.split(text)
        for index in range(0, len(pieces), 2):
            pieces[index] = "".join([piece for _, piece in self.texts.scrubbed(pieces[index])])
        return "".join(pieces)


def _is_scrubbed(text: str, parent_key: str, key: str) -> bool:
    """Return whether a string may differ between runs, by its key and its parent's key."""
    if key in FILE_KEYS or (parent_key, key) == ("document", "name"):
        return text[:5].lower() != "data:"
    return key in TEXT_KEYS or key in ID_KEYS or key in DATA_KEYS


# The pytest mark ``prompt_models``: the models and budgets for the prompts of a test.

__tracebackhide__ = True  # pytest shows only the author's lines of a failure

MARK = "prompt_models"
EXAMPLE = '@pytest.mark.prompt_models("gpt-5", "claude-opus-5-5", budget=8_000)'


class PromptModel(NamedTuple):
    """A model of the pytest mark, its budget, and the line of the test."""

    name: str
    budget: int | Literal["window"] | None
    at: Source

    def rendered(self, prompt: Any) -> Rendered:  # Any: whatever render() takes
        """Return a prompt, rendered for this model.

        Raises :class:`OptionError` if the model is unknown.
        """
        rendered = rendered_here(prompt, model=self.name, budget=self.budget)
        if rendered.facts.known:
            return rendered
        hints = [hint.why for hint in rendered.hints if hint.what == f"model {self.name!r}"]
        advice = hints[0].rpartition(": ")[2] if hints else "register it: register_model(...)"
        problem = f"{MARK} names the unknown model {self.name!r}"
        raise OptionError(problem, fix=advice, at=(self.at,))


def rendered_here(prompt: Any, **options: Any) -> Rendered:  # Any: whatever render() takes
    """Return a rendered prompt; its asynchronous parts are awaited.

    They run in a new event loop. If an event loop already runs, the new one is in a thread.
    """
    try:
        return render(prompt, **options)
    except PromptError as error:
        if "await arender(" not in error.fix:
            raise
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(arender(prompt, **options))
    with ThreadPoolExecutor(1) as thread:
        run = copy_context().run
        return thread.submit(run, asyncio.run, arender(prompt, **options)).result()


def models_of(test: pytest.Item) -> tuple[PromptModel, ...]:
    """Return the models of a test; none without the pytest mark.

    A mark of the test replaces those of its class, and a mark of the class those of the file.
    Several marks on the same test, class or file are added, each with its budget. Raises
    :class:`OptionError` for a mark without a model, a repeated model, and an unknown argument.
    """
    marks = [*test.iter_markers_with_node(MARK)]
    file, line, _ = test.reportinfo()
    at = Source(str(file), (line or 0) + 1)
    models: list[PromptModel] = []
    for node, mark in reversed(marks):
        if node is marks[0][0]:
            models += _models_of(mark.args, mark.kwargs, at)
    names = [model.name for model in models]
    repeated_name = next((name for name in names if names.count(name) > 1), None)
    if repeated_name is not None:
        problem = f"{MARK} names {repeated_name!r} twice"
        raise OptionError(problem, fix="name each model once, with one budget", at=(at,))
    return tuple(models)


def _models_of(
    names: tuple[object, ...], options: Mapping[str, Any], at: Source
) -> list[PromptModel]:  # Any: render() checks a budget
    problem = None
    if not names:
        problem = f"{MARK} names no model"
    for name in names:
        if not isinstance(name, str) or not name:
            problem = f"a model of {MARK} must be a name, not {name!r}"
    for option in options.keys() - {"budget"}:
        problem = f"{MARK} has no option {option!r}"
    if problem is not None:
        raise OptionError(problem, fix=f"write {EXAMPLE}", at=(at,))
    return [PromptModel(str(name), options.get("budget"), at) for name in names]


# The run of pytest: which tests have snapshots, and which of them passed.

RUN = "promptdsl-run"
"""The name of the plug-in below, and of the value that a worker of xdist sends for it."""
REPORT = "promptdsl-report"
"""The same name for the plug-in of the report."""
UNCALLED = (
    "the test takes prompt_snapshot, but does not call it\n"
    "  write prompt_snapshot(prompt), or remove the argument"
)


class PromptRun:
    """A pytest plug-in that notes which tests with snapshots exist, and which of them passed.

    It is registered with the first test that has the fixture. A file may be unused only if its test
    passed or was deleted: a test that failed, was skipped or did not run may still need its files.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[Path, dict[str, str]] = {}
        """By test file, without its extension: the ids of its tests, by the stem of their files."""
        self._ambiguous: set[str] = set()
        """The ids of tests and classes whose names differ from another one at most in case."""
        self._collected: set[Path] = set()
        """The test files with tests that will run, without their extensions."""
        self._not_collected: set[Path] = set()
        """The test files whose tests are unknown, without their extensions."""
        self._folders: set[Path] = set()
        """The folders that pytest collects completely."""
        self._passed: set[str] = set()
        """The ids of tests that passed at least once."""
        self._failed: set[str] = set()
        """The ids of tests that failed or were skipped at least once."""
        self._at_end = False
        self.contents_by_file: dict[str, tuple[str, object, bytes]] = {}
        """By the path of a snapshot in lower case: the id of its test, its files, its content."""
        self.changed: dict[object, str] = {}
        """The file of the first prompt with these changes, by the keys of the changes."""

    def collected(
        self, collector: pytest.Collector, nodes: Sequence[pytest.Item | pytest.Collector]
    ) -> None:
        """Note the tests and classes of a file, or those in a class."""
        counts = Counter(node.name.casefold() for node in nodes)
        self._ambiguous |= {node.nodeid for node in nodes if counts[node.name.casefold()] > 1}
        tests = self._tests.setdefault(folder_of(collector), {})
        tests.update(
            {self.stem(node): node.nodeid for node in nodes if isinstance(node, pytest.Item)}
        )

    def collected_folder(self, folder: pytest.Directory) -> None:
        """Note a folder if pytest collects all of it: then tests in it may have been deleted."""
        is_requested = any(folder.session.isinitpath(node.path) for node in folder.listchain())
        if is_requested and not getattr(self._config.option, "lf", False):
            self._folders.add(folder.path)

    def not_collected(self, collector: pytest.Collector) -> None:
        """Note a file that could not be read, or was skipped: its tests are unknown."""
        self._not_collected.add(folder_of(collector))

    def uses(self, item: pytest.Item) -> None:
        """Note a test that requested the fixture when it ran."""
        self._tests.setdefault(folder_of(item), {}).setdefault(self.stem(item), item.nodeid)

    def pytest_deselected(self) -> None:
        """Look only for snapshots next to the tests, because not all tests run."""
        self._folders.clear()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the files with tests that will run."""
        self._collected = {folder_of(item) for item in session.items}

    def stem(self, item: pytest.Item) -> str:
        """Return the beginning of the file names of a test."""
        is_unique = self._ambiguous.isdisjoint(node.nodeid for node in item.listchain())
        return stem_of(name_of(item.nodeid, item.name), is_unique=is_unique)

    def is_orphan(self, path: Path) -> bool:
        """Return whether a snapshot surely has no test: all tests of its test file are known."""
        # ``tests/__snapshots__/test_plans/...`` belongs to the test file ``tests/test_plans``.
        folder = path.parent.parent.parent / path.parent.name
        is_known = folder in {*self._tests, *self._collected} or not any(
            file.stem == folder.name for file in folder.parent.iterdir() if file.is_file()
        )
        return is_known and folder not in self._not_collected and self._test_of(path) is None

    def may_be_unused(self, path: Path) -> bool:
        """Return whether a file has no test, or its test passed; before the end, return true."""
        if not self._at_end or self.is_orphan(path):
            return True
        test = self._test_of(path)
        return test is not None and self.has_passed(test)

    def unused(self) -> list[Path]:
        """Return the snapshots of prompts that may be unused; before the end of the run, none."""
        files = self.files(".prompt.txt")
        return [path for path in files if self._at_end and self.may_be_unused(path)]

    def files(self, ending: str) -> list[Path]:
        """Return the files with an ending in the snapshot folders of this run, sorted."""
        name = self._config.option.snapshot_dirname
        parents = {test.parent for test in (*self._tests, *self._not_collected)}
        folders = {folder / name for folder in parents | self._folders}
        return sorted(path for folder in folders for path in folder.glob(f"*/*{ending}"))

    def has_passed(self, nodeid: str) -> bool:
        """Return whether a test passed each time that it ran."""
        return nodeid in self._passed and nodeid not in self._failed

    def _test_of(self, path: Path) -> str | None:
        tests = self._tests.get(path.parent.parent.parent / path.parent.name, {})
        stem = path.name.removesuffix(".prompt.txt").removesuffix(".payload.json")
        return next((tests[candidate] for candidate in stems_in(stem) if candidate in tests), None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Fail a test that passed and has the fixture as an argument, but did not call it."""
        yield
        snapshot = getattr(item, "funcargs", {}).get("prompt_snapshot")
        if getattr(snapshot, "was_called", True) or item.get_closest_marker("xfail"):
            return
        function: Callable[..., object] | None = getattr(item, "function", None)
        if function is not None and "prompt_snapshot" in signature(function).parameters:
            file, line, _ = item.reportinfo()
            at = f"{path_from(self._config.rootpath, Path(file))}:{(line or 0) + 1}"
            pytest.fail(f"{at}: {UNCALLED}", pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note whether a test passed, from its setup to its teardown."""
        report = yield
        if not report.passed:
            self._failed.add(item.nodeid)
        elif report.when == "call":
            self._passed.add(item.nodeid)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Prevent other formats of syrupy from reporting used files as unused."""
        self._at_end = True
        getattr(self._config, "workeroutput", {})[RUN] = True
        name_unused(self._config)
        needed = [path for path in self.files(".*") if not self.may_be_unused(path)]
        self._config.option.ignore_file_extensions += {path.suffix[1:] for path in needed}
        return (yield)


def folder_of(node: pytest.Item | pytest.Collector) -> Path:
    """Return the path of a test file without its extension: its snapshot folder has this name."""
    return node.path.parent / node.path.stem


def run_of(config: pytest.Config) -> PromptRun:
    """Return the plug-in that follows the tests of this run, registered at its first use."""
    run: PromptRun | None = config.pluginmanager.get_plugin(RUN)
    if run is None:
        run = PromptRun(config)
        config.pluginmanager.register(run, RUN)
    return run


def name_unused(config: pytest.Config) -> None:
    """Let syrupy list the unused snapshots, unless it updates: then it lists what it deletes."""
    config.option.include_snapshot_details |= not config.option.update_snapshots


CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)
"""A line that git writes where two branches changed the same lines."""


def lines_of(data: str | bytes) -> str:
    """Return the text of a snapshot without CRLF; bytes that are not UTF-8 are escaped."""
    text = data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n")
