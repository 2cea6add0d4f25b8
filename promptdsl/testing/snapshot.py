"""The value of the fixture: it compares prompts with the files of a test, or writes these."""

import dataclasses
import difflib
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from promptdsl import Rendered, render
from promptdsl.foundation.errors import OptionError
from promptdsl.testing.canonical import Scrubber, prompt_file
from promptdsl.testing.changes import failure_text
from promptdsl.testing.extension import PayloadExtension, PromptExtension, PromptLocation, lines_of
from promptdsl.testing.matrix import applied, difference
from promptdsl.testing.models import models_of, refuse_rendered
from promptdsl.testing.names import model_suffix, suffix_of
from promptdsl.testing.payload import Matcher, payload_text
from promptdsl.testing.prompt_file import (
    PromptFile,
    SnapshotFormatError,
    is_same_snapshot,
    parse,
    serialise,
)
from promptdsl.testing.run import run_of


class SnapshotFiles:
    """The files of one test, which syrupy reads and writes."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self.test: pytest.Item = request.node
        self._run = run_of(request.config)
        self._run.uses(self.test)
        self._root = request.config.rootpath
        self._called_from = request.config.invocation_params.dir
        # Not the fixture `snapshot`: pytest-insta has one of that name.
        any_snapshot: SnapshotAssertion = request.getfixturevalue("_promptdsl_syrupy")
        self._syrupy = dataclasses.replace(
            any_snapshot, extension_class=PromptExtension, test_location=PromptLocation(self.test)
        )

    def differs(
        self, extension: type[PromptExtension], text: str, suffix: str
    ) -> "Mismatch | None":
        """Return how a text differs from its file; write it if snapshots are being updated."""
        assertion = dataclasses.replace(self._syrupy, extension_class=extension)
        index = suffix or 0
        path = Path(extension.get_location(test_location=assertion.test_location, index=index))
        content = text.encode()
        if assertion.update_snapshots:
            self._refuse_another(path, content)
        if assertion(name=index) == content:
            return None
        (result,) = assertion.executions.values()
        if result.exception is not None:
            raise result.exception
        stored = result.recalled_data
        return Mismatch(path, None if stored is None else lines_of(stored), self)

    def shown(self, path: Path) -> str:
        """Return a path as messages name it: from the root of the project."""
        return _from(self._root, path)

    @property
    def update(self) -> str:
        """The command that writes the snapshots of this test."""
        _, *names = self.test.nodeid.split("::")
        test = "::".join([_from(self._called_from, self.test.path), *names])
        return f"pytest {shlex.quote(test)} --snapshot-update"

    def orphans(self, path: Path, text: str) -> list[Path]:
        """Return the files of no test with a text that has no file yet: its test was renamed."""
        folders = path.parent.parent
        files = sorted(folders.glob(f"*/*{''.join(path.suffixes[-2:])}"))
        return [
            it
            for it in files
            if self._run.is_orphan(it) and is_same_snapshot(lines_of(it.read_bytes()), text)
        ]

    def _refuse_another(self, path: Path, content: bytes) -> None:
        """Raise an error when this run wrote another prompt to a file."""
        written = self._run.written
        key = str(path).casefold()
        test, files, before = written.setdefault(key, (self.test.nodeid, self, content))
        if is_same_snapshot(lines_of(before), lines_of(content)):
            return
        if test == self.test.nodeid and files is not self:  # the test is run once more
            written[key] = (test, self, content)
            return
        here = "this test" if test == self.test.nodeid else test
        raise AssertionError(
            f"{self.shown(path)} holds the prompt that {here} gave before, and would be lost\n"
            "  give each prompt a name of its own: prompt_snapshot(..., name=...)"
        )


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """A file that does not hold what it should, or that there is not."""

    path: Path
    stored: str | None
    files: SnapshotFiles

    def missing(self, text: str) -> str:
        """Return the message for a file that there is not yet."""
        shown = self.files.shown
        lines = [
            f"there is no snapshot yet: {shown(self.path)}",
            f"  look at the prompt, then write it: {self.files.update}",
        ]
        lines += [
            f"  {shown(orphan)} has this content and no test any more - if its test was renamed: "
            f"git mv {shlex.quote(shown(orphan))} {shlex.quote(shown(self.path))}"
            for orphan in self.files.orphans(self.path, text)
        ]
        return "\n".join(lines)

    def changed(self, changes: str) -> str:
        """Return the message for a file with other content."""
        what = "payload" if self.path.suffix == ".json" else "prompt"
        return (
            f"the {what} is not that of {self.files.shown(self.path)}\n\n{changes.strip()}\n\n"
            f"  if the change is right: {self.files.update}"
        )


class PromptSnapshot:
    """The fixture ``prompt_snapshot`` of one test: call it with a prompt.

    A prompt without a name is the first, second, ... of its test, in the order of the calls.

    >>> from promptdsl import User
    >>> from promptdsl.testing import PromptSnapshot
    >>> def test_greeting(prompt_snapshot: PromptSnapshot) -> None:
    ...     prompt_snapshot(User("Hi."))
    """

    def __init__(self, files: SnapshotFiles, scrubbers: Mapping[str, Scrubber]) -> None:
        self._files = files
        self._scrubbers = scrubbers
        self._calls = 0

    def __call__(
        self,
        prompt: Any,  # Any: whatever render() takes, or what it returned
        *,
        name: str | None = None,
        scrub: Mapping[str, Scrubber] | None = None,
    ) -> "ComparedPrompt":
        """Raise an ``AssertionError`` with all changes unless a prompt is that of its file.

        A tree is rendered for no model; under ``@pytest.mark.prompt_models`` also for each model,
        with a file for what differs. ``name`` tells the prompts of one test apart; without one the
        second prompt of a test gets ``.2``. ``scrub`` has more scrubbers by name.
        """
        __tracebackhide__ = True
        if name is None:
            self._calls += 1
        elif not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise OptionError(
                f"name={name!r} names no snapshot", fix="give it a text: name='first'"
            )
        models = models_of(self._files.test)
        refuse_rendered(prompt, models)
        rendered = prompt if isinstance(prompt, Rendered) else render(prompt)
        suffix, scrubbers = suffix_of(name, self._calls), {**self._scrubbers, **(scrub or {})}
        base = ComparedPrompt(self._files, rendered, suffix, scrubbers)
        # All are rendered before the first file is written.
        for_models = [
            ComparedPrompt(
                self._files,
                it.rendered(prompt),
                model_suffix(suffix, it.name),
                scrubbers,
                base.file,
            )
            for it in models
        ]
        failures = [*filter(None, (it.failure() for it in (base, *for_models)))]
        if failures:
            raise AssertionError("\n\n".join(failures))
        return base

    def __eq__(self, prompt: object) -> bool:
        """Return true, or raise what a call raises: pytest would cut what ``==`` tells."""
        __tracebackhide__ = True
        self(prompt)
        return True

    def __ne__(self, prompt: object) -> bool:
        """Raise an error: a prompt that may be anything else is no claim."""
        raise OptionError("a snapshot cannot be compared with !=", fix="call prompt_snapshot(...)")

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True)
class ComparedPrompt:
    """A prompt that is that of its file; ``payload`` compares what is sent of it as well.

    >>> from promptdsl import User
    >>> from promptdsl.testing import PromptSnapshot
    >>> def test_request(prompt_snapshot: PromptSnapshot) -> None:
    ...     prompt_snapshot(User("Hi.")).payload("anthropic")
    """

    _files: SnapshotFiles
    rendered: Rendered
    _suffix: str
    _scrubbers: Mapping[str, Scrubber]
    _base: PromptFile | None = None

    @cached_property
    def file(self) -> PromptFile:
        """What a snapshot keeps of the prompt."""
        return prompt_file(self.rendered, scrubbers=self._scrubbers)

    def failure(self) -> str | None:
        """Return the message of the failed test, ``None`` if the prompt is that of its file."""
        actual = self.file if self._base is None else difference(self._base, self.file)
        text = serialise(actual)
        found = self._files.differs(PromptExtension, text, self._suffix)
        if found is None:
            return None
        return (
            found.missing(text)
            if found.stored is None
            else found.changed(self._changes(found.stored, actual))
        )

    def _changes(self, stored: str, actual: PromptFile) -> str:
        try:
            expected = parse(stored)
        except SnapshotFormatError as error:
            return f"It cannot be read: {error}"
        if self._base is not None:
            with suppress(SnapshotFormatError):  # it names what the base has no more
                expected, actual = applied(self._base, expected), self.file
        return failure_text(expected, actual, exact=self.rendered.tokens.total)

    def payload(self, provider: str | None = None, *, matcher: Matcher | None = None) -> None:
        """Compare the payload with a file beside that of the prompt: JSON, as it is sent.

        Without a target, name a ``provider``. Volatile and scrubbed values have signs; a
        ``matcher`` of syrupy, such as ``path_type``, replaces more by its path.
        """
        __tracebackhide__ = True
        rendered = self.rendered
        if provider not in (None, rendered.facts.provider):
            rendered = rendered.for_target(provider)
        text = payload_text(rendered, self._scrubbers, matcher)
        suffix = f"{self._suffix}.{provider}" if provider else self._suffix
        found = self._files.differs(PayloadExtension, text, suffix)
        if found is None:
            return
        if found.stored is None:
            raise AssertionError(found.missing(text))
        lines = difflib.unified_diff(
            found.stored.splitlines(), text.splitlines(), "stored", "now", lineterm=""
        )
        raise AssertionError(found.changed("\n".join(lines)))


def _from(folder: Path, path: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive of Windows
        return path.as_posix()
