"""The fixture ``prompt_snapshot``: it compares prompts with the files of a test, or writes them.

Read in this order: :class:`PromptSnapshot`, :class:`ComparedPrompt`, :class:`SnapshotFiles`, and
the extensions of syrupy.
"""

import dataclasses
import difflib
import inspect
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Never

from promptdsl import ProviderName, Rendered, User, render
from promptdsl.foundation.errors import (
    ContentError,
    OptionError,
    PromptError,
    TargetError,
    install_advice,
    shown,
)
from promptdsl.foundation.source import author

try:
    import pytest
    from syrupy.assertion import SnapshotAssertion
    from syrupy.data import SnapshotCollections
    from syrupy.extensions.single_file import SingleFileSnapshotExtension
    from syrupy.location import PyTestLocation
    from syrupy.types import SerializableData, SnapshotIndex
except ModuleNotFoundError as error:
    raise PromptError(f"{error.name} is not installed", fix=install_advice("testing")) from None

from promptdsl.batch import InputsSource, named_inputs
from promptdsl.comparing.canonical import fixed_tokens, prompt_file
from promptdsl.comparing.changes import changes
from promptdsl.comparing.compared_prompts import applied, difference, key_of, primary_changes
from promptdsl.comparing.snapshot_file import (
    PromptFile,
    Scrubber,
    is_same_snapshot,
    newer_version,
    parse,
    serialise,
)
from promptdsl.comparing.snapshot_file import (
    SnapshotFormatError as SnapshotFormatError,  # noqa: PLC0414 - a public name of testing, too
)
from promptdsl.comparing.text import failure_text
from promptdsl.testing.assertions import assert_checked
from promptdsl.testing.run import (
    CONFLICT,
    MARK,
    REPORT,
    Matcher,
    lines_of,
    models_of,
    name_of,
    path_from,
    payload_text,
    rendered_here,
    run_of,
    stem_of,
    stems_in,
    suffix_of,
)

if TYPE_CHECKING:
    from promptdsl.testing.report import RunReport

__tracebackhide__ = True  # pytest shows only the author's lines of a failure


# The extensions of syrupy for prompts: each snapshot is a file with the name of its test.


class PromptLocation(PyTestLocation):
    """The test of a snapshot; it accepts the name of every snapshot."""

    def matches_snapshot_name(self, snapshot_name: str) -> bool:
        """Return true: otherwise, syrupy would warn of a shortened name."""
        return True

    def matches_snapshot_location(self, snapshot_location: str) -> bool:
        """Return true, as for a name."""
        return True


class PromptExtension(SingleFileSnapshotExtension):
    """The snapshots of prompts: ``<test>.prompt.txt``."""

    file_extension = "txt"
    ending: ClassVar[str] = ".prompt"
    """The end of a snapshot's name: so it differs from the names in other formats of syrupy."""

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        """Return the name of the file without its extension."""
        item = test_location.item
        suffix = index if isinstance(index, str) else ""
        return f"{run_of(item.config).stem(item)}{suffix}{cls.ending}"

    def matches(
        self, *, serialized_data: SerializableData, snapshot_data: SerializableData
    ) -> bool:
        """Return whether the prompt is the same, also if git changed its line ends."""
        return is_same_snapshot(lines_of(snapshot_data), lines_of(serialized_data))

    def discover_snapshots(
        self, *, test_location: PyTestLocation, ignore_extensions: list[str] | None = None
    ) -> SnapshotCollections:
        """Return the files of a run; at its end, only those that may be unused."""
        run = run_of(test_location.item.config)
        snapshots = SnapshotCollections()
        for path in run.files(f"{self.ending}.{self.file_extension}"):
            if run.may_be_unused(path):
                snapshots.add(self.read_snapshot_collection(snapshot_location=str(path)))
        return snapshots

    @classmethod
    def matches_test_location(
        cls, *, test_location: PyTestLocation, snapshot_location: str
    ) -> bool:
        """Return whether a file belongs to a test, by its folder and the beginning of its name.

        A test that passed accepts all files in its folder: syrupy only asks about files that are
        unused or belong to no test.
        """
        folder, stems = _tests_of(snapshot_location, f"{cls.ending}.{cls.file_extension}")
        if folder != _folder_of(test_location.filepath, cls.snapshot_dirname):
            return False
        item = test_location.item
        config = getattr(item, "config", None)  # the controller of xdist has none
        if config is not None and run_of(config).has_passed(item.nodeid):
            return True
        return not stems.isdisjoint(_stems_of(item.nodeid, item.name))


class PayloadExtension(PromptExtension):
    """The payloads next to the prompts: ``<test>.payload.json``."""

    file_extension = "json"
    ending = ".payload"


# These functions are called for each pair of a test and a file, so their results are cached.


@cache
def _tests_of(snapshot: str, ending: str) -> tuple[str, frozenset[str]]:
    """Return the folder of a file, and the stems of the tests that it may belong to."""
    path = Path(snapshot)
    return str(path.parent), frozenset(stems_in(path.name.removesuffix(ending)))


@cache
def _folder_of(test_file: str, name: str | Path) -> str:
    path = Path(test_file)
    return str(path.parent / name / path.stem)


@cache
def _stems_of(nodeid: str, name: str) -> tuple[str, str]:
    """Return both possible beginnings of the files of a test: with and without a hash."""
    test = name_of(nodeid, name)
    return stem_of(test), stem_of(test, is_unique=False)


# The files of one test, and the fixture.


class SnapshotFiles:
    """The snapshot files of one test, which syrupy reads and writes."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self.test: pytest.Item = request.node
        self._run = run_of(request.config)
        self._run.uses(self.test)
        self._report: RunReport | None = request.config.pluginmanager.get_plugin(REPORT)
        self._root = request.config.rootpath
        self._called_from = request.config.invocation_params.dir
        # Not the fixture `snapshot`: pytest-insta has one of that name.
        any_snapshot: SnapshotAssertion = request.getfixturevalue("_promptdsl_syrupy")
        self._syrupy = dataclasses.replace(
            any_snapshot, extension_class=PromptExtension, test_location=PromptLocation(self.test)
        )

    def note(self, prompts: "Sequence[ComparedPrompt]") -> None:
        """Note a prompt, and the same prompt for models, if the run has a report."""
        if self._report is not None:
            files = [
                (self._path(PromptExtension, prompt.suffix), prompt.file) for prompt in prompts
            ]
            self._report.note(self.test.nodeid, files, self.orphans)

    def differs(
        self, extension: type[PromptExtension], text: str, suffix: str
    ) -> "Mismatch | None":
        """Return how a text differs from its file; with ``--snapshot-update``, write the file.

        Raises :class:`SnapshotFormatError` for a file of a newer version, :class:`PromptError` if
        the file cannot be read or written, and ``AssertionError`` if another prompt of this run has
        the same file.
        """
        assertion = dataclasses.replace(self._syrupy, extension_class=extension)
        path = self._path(extension, suffix)
        content = text.encode()
        self._refuse_another(path, content)
        with suppress(OSError):  # there is no file yet; syrupy raises any other error
            if newer_version(lines_of(path.read_bytes())):
                problem = (
                    f"{self.path_text(path)} was written by a newer promptdsl, and would be lost"
                )
                fix = "install that version, or delete the file"
                raise SnapshotFormatError(problem, fix=fix, at=(author(),))
        # syrupy reads or writes the file in ``==``. A snapshot without a name has a number.
        if assertion(name=suffix or 0) == content:
            return None
        (execution,) = assertion.executions.values()
        if isinstance(execution.exception, OSError):
            problem = (
                f"{self.path_text(path)} cannot be read or written: {execution.exception.strerror}"
            )
            raise PromptError(problem, fix="check it and its folder", at=(author(),)) from None
        if execution.exception is not None:
            raise execution.exception
        stored = execution.recalled_data
        return Mismatch(path, text, None if stored is None else lines_of(stored))

    def _path(self, extension: type[PromptExtension], suffix: str) -> Path:
        location = self._syrupy.test_location
        return Path(extension.get_location(test_location=location, index=suffix or 0))

    def path_text(self, path: Path) -> str:
        """Return a path for messages, relative to the root of the project."""
        return path_from(self._root, path)

    @property
    def update(self) -> str:
        """The command that writes the snapshots of this test."""
        _, *names = self.test.nodeid.split("::")
        test = "::".join([path_from(self._called_from, self.test.path), *names])
        return f"pytest {shlex.quote(test)} --snapshot-update"

    def message(self, mismatches: "Sequence[Mismatch]") -> str:
        """Return the message of a failed test: its missing files, and the changed ones."""
        missing = [mismatch for mismatch in mismatches if mismatch.stored is None]
        changed = [mismatch for mismatch in mismatches if mismatch.stored is not None]
        texts = [self._missing(missing)] if missing else []
        texts += map(self._changed, changed)
        end = "\n  write it, then look at it"
        if missing[1:]:
            end = "\n  write them, then look at them"
        if changed:
            end = "\n\n  if the change is right"
        return "\n\n".join(texts) + f"{end}: {self.update}"

    def _missing(self, missing: "Sequence[Mismatch]") -> str:
        """Return the names of missing files, and advice for those of a renamed test."""
        lines = [f"there is no snapshot yet: {self.path_text(missing[0].path)}"]
        if missing[1:]:
            paths = [f"  {self.path_text(mismatch.path)}" for mismatch in missing]
            lines = ["there are no snapshots yet:", *paths]
        lines += [move for mismatch in missing for move in self._moves(mismatch)]
        return "\n".join(lines)

    def _changed(self, mismatch: "Mismatch") -> str:
        """Return the changes in a file."""
        what = "payload" if mismatch.path.suffix == ".json" else "prompt"
        path = self.path_text(mismatch.path)
        return f"the {what} differs from {path}\n\n{mismatch.changes.strip()}"

    def _moves(self, missing: "Mismatch") -> list[str]:
        """Return the advice for a file that has another name, because its test was renamed."""
        path = shlex.quote(self.path_text(missing.path))
        return [
            f"  {orphan} has this content, but no test any more - if its test was renamed: "
            f"git mv {shlex.quote(orphan)} {path}"
            for orphan in map(self.path_text, self.orphans(missing.path, missing.text))
        ]

    def changed_alike(self, path: Path, before: PromptFile, after: PromptFile) -> str | None:
        """Return the file of another prompt with the same changes, which were already shown.

        Returns ``None`` if there is no such prompt; then this prompt is noted as the first one. A
        test that is expected to fail is not shown, so its prompts do not count.
        """
        if self.test.get_closest_marker("xfail"):
            return None
        keys = tuple(map(key_of, primary_changes(changes(before, after))))
        first = self._run.changed.setdefault(keys, self.path_text(path))
        return None if first == self.path_text(path) or not keys else first

    def orphans(self, path: Path, text: str) -> list[Path]:
        """Return the files that have this text, but no test: the test was probably renamed."""
        folders = path.parent.parent
        # Compare both suffixes: a file of another format of syrupy is no prompt or payload.
        files = sorted(folders.glob(f"*/*{''.join(path.suffixes[-2:])}"))
        return [
            file
            for file in files
            if self._run.is_orphan(file) and is_same_snapshot(lines_of(file.read_bytes()), text)
        ]

    def _refuse_another(self, path: Path, content: bytes) -> None:
        """Raise ``AssertionError`` if this run had another prompt for the same file."""
        contents = self._run.contents_by_file
        key = str(path).casefold()
        test, files, before = contents.setdefault(key, (self.test.nodeid, self, content))
        if is_same_snapshot(lines_of(before), lines_of(content)):
            return
        if test == self.test.nodeid and files is not self:  # the test runs again
            contents[key] = (test, self, content)
            return
        owner = "this test" if test == self.test.nodeid else test
        raise AssertionError(
            f"{self.path_text(path)} is already the file of another prompt, from {owner}\n"
            "  give each prompt its own name: prompt_snapshot(..., name=...); "
            "in each(), the name of its inputs"
        )


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """A snapshot file that is missing, or differs from the prompt."""

    path: Path
    text: str
    stored: str | None
    changes: str = ""


class PromptSnapshot:
    """The fixture ``prompt_snapshot`` of one test: call it with a prompt.

    Prompts without a name are numbered in the order of the calls.

    >>> from promptdsl import User
    >>> from promptdsl.testing import PromptSnapshot
    >>> def test_greeting(prompt_snapshot: PromptSnapshot) -> None:
    ...     prompt_snapshot(User("Hi."))
    """

    def __init__(self, files: SnapshotFiles, scrubbers: Mapping[str, Scrubber]) -> None:
        self._files = files
        self._scrubbers = scrubbers
        self._calls = 0
        self.was_called = False
        _load()

    def __repr__(self) -> str:
        """Return the name of the test, which pytest shows above a failure."""
        return f"<prompt_snapshot of {self._files.test.name}>"

    def __call__(
        self,
        prompt: Any,  # Any: whatever render() takes, or what it returned
        *others: Never,
        name: str | None = None,
        scrub: Mapping[str, Scrubber] | None = None,
        **unknown: Never,
    ) -> "ComparedPrompt":
        """Raise an ``AssertionError`` with all changes if a prompt differs from its file.

        A prompt that is not rendered yet is rendered without a model. With the pytest mark
        ``prompt_models``, it is also rendered for each model; a file has the differences. ``name``
        distinguishes the prompts of one test. Without names, the file of the second prompt gets
        ``.2``. ``scrub`` adds scrubbers by name.
        """
        _refuse_other(prompt, others, unknown)
        prompts = self._compared(prompt, name, scrub)
        self._refuse_differences([prompts])
        return prompts[0]

    def each(
        self,
        prompt: Callable[..., Any],  # Any: whatever render() takes
        inputs: InputsSource,
        *,
        scrub: Mapping[str, Scrubber] | None = None,
    ) -> "list[ComparedPrompt]":
        """Compare the prompts that a function returns for named inputs, each with its own file.

        ``inputs`` are a mapping from names to arguments, or a function that returns such a mapping,
        as for ``--inputs`` of the command. The name of the inputs becomes the name of the snapshot.
        The failure shows the changes of all prompts. Raises what
        :func:`promptdsl.batch.named_inputs` and the function raise.

        >>> from promptdsl import User
        >>> from promptdsl.testing import PromptSnapshot
        >>> INPUTS = {"short": {"question": "Why?"}, "empty": {"question": ""}}
        >>> def test_questions(prompt_snapshot: PromptSnapshot) -> None:
        ...     prompt_snapshot.each(lambda question: User(question), INPUTS)
        """
        if not callable(prompt):  # pyright: ignore[reportUnnecessaryIsInstance]
            what = f"prompt_snapshot.each() takes a function of a prompt, not {shown(prompt)}"
            fix = "pass the function and its arguments: each(support, {'short': {...}})"
            raise OptionError(what, fix=fix, at=(author(),))
        cases = named_inputs(inputs)
        compared = [self._compared(case.prompt_of(prompt), case.name, scrub) for case in cases]
        self._refuse_differences(compared)
        return [prompts[0] for prompts in compared]

    def _compared(
        self,
        prompt: Any,  # Any: whatever render() takes, or what it returned
        name: str | None,
        scrub: Mapping[str, Scrubber] | None,
    ) -> "list[ComparedPrompt]":
        """Return the prompt without a model, and then the prompt for each model of the test."""
        self.was_called = True
        if name is None:
            self._calls += 1
        elif not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            fix = "write a text: name='first'"
            raise OptionError(f"name={name!r} is not a name", fix=fix, at=(author(),))
        models = models_of(self._files.test)
        if models and isinstance(prompt, Rendered):
            what = "a prompt is rendered for each model, but this prompt is already rendered"
            fix = "pass the prompt itself: prompt_snapshot(prompt)"
            raise OptionError(f"with {MARK}, {what}", fix=fix, at=(models[0].at,))
        rendered = prompt if isinstance(prompt, Rendered) else _rendered(prompt)
        suffix = suffix_of(name, self._calls)
        scrubbers = _compiled_scrubbers(self._scrubbers, scrub or {})
        base = ComparedPrompt(self._files, rendered, suffix, scrubbers)
        # All are rendered before the first file is written. The name of a model comes after a dot,
        # without brackets.
        for_models = [
            ComparedPrompt(
                self._files,
                model.rendered(prompt),
                f"{suffix}.{suffix_of(model.name, 1)[1:-1]}",
                scrubbers,
                base.file,
            )
            for model in models
        ]
        return [base, *for_models]

    def _refuse_differences(self, compared: "Sequence[Sequence[ComparedPrompt]]") -> None:
        """Raise an ``AssertionError`` if a prompt differs from its file; compare all prompts first.

        Each element of ``compared`` is a prompt without a model, followed by the same prompt for
        each model.
        """
        for prompts in compared:
            self._files.note(prompts)
        all_prompts = [prompt for prompts in compared for prompt in prompts]
        if self._files.test.config.option.prompt_check:
            assert_checked(*(prompt.rendered for prompt in all_prompts))
        mismatches = [*filter(None, (prompt.mismatch() for prompt in all_prompts))]
        if mismatches:
            raise AssertionError(self._files.message(mismatches))

    def __eq__(self, prompt: object) -> bool:
        """Compare a prompt as a call does: so pytest does not cut off the message of ``==``."""
        self(prompt)
        return True

    def __ne__(self, prompt: object) -> bool:
        """Raise :class:`OptionError`: a test that accepts every other prompt tests nothing."""
        problem = "a snapshot cannot be compared with !="
        raise OptionError(problem, fix="call prompt_snapshot(...)", at=(author(),))

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True)
class ComparedPrompt:
    """A prompt that was compared with its file; ``payload()`` also compares what is sent.

    >>> from promptdsl import User
    >>> from promptdsl.testing import PromptSnapshot
    >>> def test_request(prompt_snapshot: PromptSnapshot) -> None:
    ...     prompt_snapshot(User("Hi.")).payload("anthropic")
    """

    _files: SnapshotFiles
    rendered: Rendered
    suffix: str
    _scrubbers: Mapping[str, Scrubber]
    _base: PromptFile | None = None

    @cached_property
    def file(self) -> PromptFile:
        """The content of the prompt, as a snapshot has it."""
        return prompt_file(self.rendered, scrubbers=self._scrubbers)

    def mismatch(self) -> Mismatch | None:
        """Return how the prompt differs from its file; ``None`` if it does not."""
        actual = self.file if self._base is None else difference(self._base, self.file)
        mismatch = self._files.differs(PromptExtension, serialise(actual), self.suffix)
        if mismatch is None or mismatch.stored is None:
            return mismatch
        text = self._changes(mismatch.path, mismatch.stored, actual)
        return dataclasses.replace(mismatch, changes=text)

    def _changes(self, path: Path, stored: str, actual: PromptFile) -> str:
        if CONFLICT.search(stored) and not CONFLICT.search(serialise(self.file)):
            return "It has a merge conflict: resolve it, or write the file again."
        try:
            expected = parse(stored)
        except SnapshotFormatError as error:
            return f"It cannot be read: {error}"
        if self._base is not None:
            with suppress(SnapshotFormatError):  # it may refer to lines that the base lost
                expected, actual = applied(self._base, expected), self.file
        text = failure_text(expected, actual, exact=fixed_tokens(self.rendered).total)
        other = self._files.changed_alike(path, expected, actual)
        if other is None:
            return text
        summary, _, _ = text.partition("\n")
        return f"{summary}\n\nThe same changes are shown for {other}."

    def payload(
        self, provider: ProviderName | None = None, *, matcher: Matcher | None = None
    ) -> None:
        """Compare the payload, as JSON, with a file next to the file of the prompt.

        If the prompt has no model, name a ``provider``. Volatile and scrubbed values become
        placeholders. A ``matcher`` of syrupy, such as ``path_type``, can replace other values, by
        their paths. Raises :class:`TargetError` without a model and a provider.
        """
        rendered = self.rendered
        if provider is None and rendered.facts.provider is None:
            problem = "this prompt has no model, so it has no payload"
            if models_of(self._files.test):
                problem = "payload() uses the prompt without a model, which has no payload"
            raise TargetError(problem, fix='name a provider: payload("openai")', at=(author(),))
        if provider not in (None, rendered.facts.provider):
            rendered = rendered.for_target(provider)
        text = payload_text(rendered, self._scrubbers, matcher)
        suffix = f"{self.suffix}.{provider}" if provider else self.suffix
        mismatch = self._files.differs(PayloadExtension, text, suffix)
        if mismatch is None:
            return
        before, now = (mismatch.stored or "").splitlines(), text.splitlines()
        changes = "\n".join(difflib.unified_diff(before, now, "stored", "now", lineterm=""))
        raise AssertionError(self._files.message([dataclasses.replace(mismatch, changes=changes)]))


@cache
def _load() -> PromptFile:
    """Load the tokenizer before the first call: this takes longer than hypothesis allows a test."""
    return prompt_file(render(User("Hi.")))


def _rendered(prompt: Any) -> Rendered:  # Any: whatever render() takes
    """Return a prompt, rendered without a model; errors name ``prompt_snapshot()``."""
    try:
        return rendered_here(prompt)
    except ContentError as error:
        if not error.what.startswith("a prompt must be "):
            raise
        fix = error.fix.replace("render(", "prompt_snapshot(")
        raise ContentError(error.what, fix=fix, at=error.at) from None


def _refuse_other(
    prompt: object, arguments: Sequence[object], unknown: Mapping[str, object]
) -> None:
    """Raise :class:`ContentError` for data that is no prompt, :class:`OptionError` for options."""
    if isinstance(prompt, str | bytes | Mapping | list | tuple):
        kind = type(prompt).__name__  # pyright: ignore[reportUnknownArgumentType]
        problem = f"prompt_snapshot() takes a prompt, or the result of render(), not {kind}"
        fix = "to compare what is sent: prompt_snapshot(rendered).payload()"
        if isinstance(prompt, str):
            fix = "pass the prompt itself; for a single text write User(text)"
        raise ContentError(problem, fix=fix, at=(author(),))
    if arguments:
        problem = f"prompt_snapshot() takes one prompt, but got {1 + len(arguments)} arguments"
        fix = "call it for each prompt: prompt_snapshot(prompt, name='first')"
        if isinstance(arguments[0], str):
            problem, fix = "prompt_snapshot() takes no model", _for_model(arguments[0])
        raise OptionError(problem, fix=fix, at=(author(),))
    if "models" in unknown:
        problem = "prompt_snapshot() takes no 'models'"
        raise OptionError(problem, fix=_for_model("gpt-5"), at=(author(),))
    for option in unknown:
        fix = "it takes name= and scrub="
        if option in inspect.signature(render).parameters:
            fix = f"render the prompt first: prompt_snapshot(render(prompt, {option}=...))"
        raise OptionError(f"prompt_snapshot() takes no {option!r}", fix=fix, at=(author(),))


def _for_model(model: str) -> str:
    """Return the advice for a call with a model."""
    advice = f"write @pytest.mark.prompt_models({model!r})"
    return f"{advice}, or prompt_snapshot(render(prompt, model={model!r}))"


def _compiled_scrubbers(*all_scrubbers: Mapping[str, Scrubber]) -> dict[str, Scrubber]:
    """Return all scrubbers, compiled. Raises :class:`OptionError` for a wrong scrubber."""
    compiled: dict[str, Scrubber] = {}
    for scrubbers in all_scrubbers:
        if not isinstance(scrubbers, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            fix = "give each scrubber a name: {'ticket': r'T-[0-9]+'}"
            raise OptionError(f"the scrubbers are {scrubbers!r}", fix=fix, at=(author(),))
    for name, scrubber in (pair for scrubbers in all_scrubbers for pair in scrubbers.items()):
        if callable(scrubber):
            compiled[name] = scrubber
            continue
        try:
            compiled[name] = pattern = re.compile(scrubber)
        except (re.error, TypeError) as error:
            problem = f"the scrubber {name!r} is not a regular expression: {scrubber!r}, {error}"
            fix = "correct it, or give a function that returns the values in a text"
            raise OptionError(problem, fix=fix, at=(author(),)) from None
        if pattern.search(""):
            problem = f"the scrubber {name!r} matches the empty text: {scrubber!r}"
            fix = "let it match at least one character: write + instead of *"
            raise OptionError(problem, fix=fix, at=(author(),))
    return compiled
