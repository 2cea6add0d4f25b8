"""Runs the selected rules on files and rendered prompts, and collects their findings.

Read :class:`Checker` first. Above it are the comments that ignore a finding, and the settings of
``[tool.promptdsl.check]``.
"""

import ast
import io
import os
import re
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import attrs

from promptdsl import ConfigError, PromptError, Rendered, Source
from promptdsl.checking.finding import CheckedPrompt, Finding, Problems
from promptdsl.checking.python_file import PythonFile, parsed
from promptdsl.checking.rules import BROKEN, LOST, RULES, UNUSED
from promptdsl.foundation.errors import nearest
from promptdsl.foundation.frozen import is_list, is_mapping

# Comments that ignore findings: ``ignore[PD101]`` after ``promptdsl:``; in a template in {# ... #}.

_COMMENT = re.compile(r"promptdsl: ?ignore\b(?:\[([^\]]*)\])?")
_TEMPLATE_COMMENT = re.compile(r"\{#-?\s*promptdsl: ?ignore\b(?:\[([^\]]*)\])?\s*-?#\}")
"""A comment of a template that ignores findings; group 1 has the ids, as in ``_COMMENT``."""
Comment = tuple[int, str]
"""The line of a comment, and one of the ids of rules in it; ``""`` if it names no rule."""


class Ignores:
    """The ignore comments of a file, and the lines that each of them covers."""

    def __init__(self, text: str, file: PythonFile | None = None) -> None:
        self._covering: defaultdict[int, set[Comment]] = defaultdict(set)
        self._used: set[Comment] = set()
        self._all_comments: list[Comment] = []
        if "promptdsl:" not in text:
            return
        for line_number, words in _comments(text) if file else enumerate(text.split("\n"), 1):
            for match in (_COMMENT if file else _TEMPLATE_COMMENT).finditer(words):
                ids = (match[1] or "").split(",")
                self._covering[line_number] |= {(line_number, id.strip()) for id in ids}
        self._all_comments += sorted(set[Comment]().union(*self._covering.values()))
        for node in ast.walk(file.tree) if file and self._all_comments else ():
            if isinstance(node, ast.With | ast.AsyncWith):
                head_lines = range(node.lineno, node.body[0].lineno)
            elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
                # No comment can be inside a long string, so a comment at its end covers all lines.
                head_lines = range(node.lineno, (node.end_lineno or 0) + 1)
            else:
                continue
            # A comment in the head of a ``with`` block covers all lines of the block. A comment in
            # a statement covers all lines of the statement.
            at_head = {
                comment
                for line in head_lines
                for comment in self._covering.get(line, ())
                if comment[0] == line
            }
            if at_head:
                for line in range(node.lineno, (node.end_lineno or 0) + 1):
                    self._covering[line] |= at_head

    def covers(self, line: int, rule: str) -> bool:
        """Return whether a comment ignores a finding of this rule, and note the comment as used."""
        needed = {comment for comment in self._covering.get(line, ()) if comment[1] == rule}
        self._used |= needed
        return bool(needed)

    def unused(self) -> Iterator[Comment]:
        """Yield the line and the id of each comment that no finding needed."""
        return (comment for comment in self._all_comments if comment not in self._used)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return ((token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT)


# The settings of ``[tool.promptdsl.check]``: which rules run, and on which files.

HINTS = "hints"
"""The name that selects the hints of a render; if it is not selected, hints are no findings."""


@attrs.frozen
class CheckSettings:
    """Which rules run, and on which files: the settings of ``[tool.promptdsl.check]``.

    ``select`` and ``ignore`` are ids of rules, or the beginning of ids, such as ``PD1``.
    ``exclude`` are names of files and folders to leave out. ``targets`` and ``models`` are the
    defaults of the command.

    >>> from promptdsl.checking import CheckSettings
    >>> CheckSettings(select=("PD1",)).selects("PD101")
    True
    """

    select: tuple[str, ...] = ("PD",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        ids = [HINTS, *RULES]
        for prefix in (*self.select, *self.ignore):
            if not prefix or not any(id.startswith(prefix) for id in ids):
                raise ConfigError(f"there is no rule {prefix!r}", fix=nearest(prefix, ids))

    def selects(self, rule: str) -> bool:
        """Return whether the rule with this id runs."""
        # No id begins with ``-``.
        return rule.startswith(self.select) and not rule.startswith(self.ignore or ("-",))

    def changed(self, *, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Self:
        """Return settings that select other rules, if any are named, and ignore more rules."""
        select, ignore = tuple(select) or self.select, (*self.ignore, *ignore)
        return attrs.evolve(self, select=select, ignore=ignore)

    @classmethod
    def near(cls, folder: str = ".") -> Self:
        """Return the settings in the nearest ``pyproject.toml``, in a folder or above it.

        Without such a file, they are the defaults. Raises :class:`ConfigError` if the file cannot
        be read, or a setting is wrong.
        """
        above = [Path(folder).resolve(), *Path(folder).resolve().parents]
        path = next(
            (file for parent in above if (file := parent / "pyproject.toml").is_file()), None
        )
        try:
            toml: Any = tomllib.loads(path.read_text("utf-8")) if path else {}  # Any: TOML
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read: {error}", fix="correct it") from None
        for key in ("tool", "promptdsl", "check"):
            toml = toml.get(key, {}) if is_mapping(toml) else None
        if not is_mapping(toml):
            problem = f"{path}: [tool.promptdsl.check] is not a table"
            raise ConfigError(problem, fix='write its settings below it: select = ["PD"]')
        table: dict[str, Any] = {**toml}
        known_keys = [field.name for field in attrs.fields(cls)]
        for key, setting in table.items():
            if key not in known_keys:
                problem = f"{path}: [tool.promptdsl.check] has no {key!r}"
                raise ConfigError(problem, fix=nearest(key, known_keys))
            if not (is_list(setting) and all(isinstance(text, str) for text in setting)):
                problem = f"{path}: {key} in [tool.promptdsl.check] is not a list of strings"
                raise ConfigError(problem, fix=f'write {key} = ["..."]')
        settings = cls(**{key: tuple(setting) for key, setting in table.items()})
        # A target in the file is relative to the folder of the file.
        root = os.path.relpath(path.parent, folder) if settings.targets and path else "."
        targets = (
            os.path.normpath(os.path.join(root, target)) if ".py:" in target else target
            for target in settings.targets
        )
        return attrs.evolve(settings, targets=tuple(targets))


# The checker: it runs the selected rules on files and rendered prompts.
#
# ``Checker.paths`` and ``Checker.prompt`` run the rules, ``_note`` stores their problems as
# findings, and ``report`` returns the findings.

ENDINGS = (".j2", ".jinja", ".jinja2")
"""The ends of the names of templates."""
_SKIPPED = ("__pycache__", "node_modules", "site-packages", "venv")
"""The names of folders that are left out, because others wrote the files in them."""
_OFTEN_TWICE = (BROKEN, "PD104")
"""The rules that may report one mistake twice: in the code, and in the prompt of this code."""
_COMPLETE_ID = "write a complete id, such as ignore[PD101]"
_TOO_DEEP = "its code is nested too deep"


class _ReadFile(NamedTuple):
    """A file that was read. ``file`` is ``None`` unless it is Python and names promptdsl."""

    text: str
    file: PythonFile | None
    ignores: Ignores


@attrs.frozen
class CheckReport:
    """The findings in the order of files and lines, and the number of checked files and prompts.

    ``unread`` are the files and folders that could not be read, each with the reason.
    """

    findings: tuple[Finding, ...]
    files: int
    prompts: int
    unread: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The numbers of checked files, checked prompts and findings, as text."""
        counts = {"file": self.files, "prompt": self.prompts, "finding": len(self.findings)}
        texts = [f"{count:,} {noun}{'s' * (count != 1)}" for noun, count in counts.items()]
        return "{} and {} checked, {}".format(*texts)


class Checker:
    """Checks files and prompts, and collects the findings; each file is parsed once.

    >>> from promptdsl import System, render
    >>> from promptdsl.checking import Checker
    >>> checker = Checker()
    >>> checker.prompt(render(System("Answer {{ name }}.")))
    >>> [finding.rule for finding in checker.report().findings]
    ['PD205']
    """

    def __init__(self, settings: CheckSettings | None = None) -> None:
        self._settings = settings or CheckSettings()
        self._rules = {id: rule for id, rule in RULES.items() if self._settings.selects(id)}
        self._findings: dict[Finding, str] = {}
        """Each finding, with the name of the hint of the render that it comes from, or ``""``."""
        self._inputs: dict[Finding, dict[str, None]] = {}
        """For each finding, the names of the inputs of the prompts that have it, in order."""
        self._texts: dict[str, _ReadFile] = {}
        self._files: dict[str, None] = {}
        self._unread: dict[str, str] = {}
        self._prompts = 0

    def paths(self, paths: Iterable[str]) -> None:
        """Check files; of a folder, check all Python files and templates in it.

        Files that cannot be read are in ``unread`` of the report.
        """
        files = dict.fromkeys(file for path in paths for file in self._files_in(path))
        self._files |= files
        for path in files:
            text, file, _ = self._read(path)
            if path in self._unread:
                continue
            for rule in self._rules.values():
                if file and rule.in_source:
                    self._note(rule.id, path, rule.in_source(file))
                elif path.endswith(ENDINGS) and rule.in_template:
                    self._note(rule.id, path, rule.in_template(path, text, self._files))

    def prompt(self, rendered: Rendered, *, inputs: str | None = None) -> None:
        """Check a rendered prompt; ``inputs`` is the name of its inputs, for its findings."""
        self._prompts += 1
        prompt = CheckedPrompt(rendered, lambda path: self._read(path).file)
        owners = {name: rule.id for rule in RULES.values() for name in rule.hints}
        for rule in self._rules.values():
            if rule.in_prompt:
                self._note(rule.id, "<prompt>", rule.in_prompt(prompt), inputs=inputs)
        for hint in rendered.hints:
            owner = owners.get(hint.name, HINTS)
            if self._settings.selects(owner):
                why, _, fix = hint.why.partition("; ")
                what = hint.what
                if hint.path not in ("", what.removeprefix("section ")):
                    what = f"{what} ({hint.path})"
                fix = fix or "correct it, or name the rule in a comment"
                problem = hint.source, f"{what}: {why}", fix
                self._note(owner, "<prompt>", iter([problem]), hint.name, inputs=inputs)

    def failed(self, target: str, error: PromptError, *, inputs: str | None = None) -> None:
        """Add a finding for a prompt that cannot be rendered; ``inputs`` is as for ``prompt``."""
        self._prompts += 1
        at = (location.rpartition(":") for location in error.at)
        locations = [Source(file, int(line)) for file, _, line in at if os.path.isfile(file)]
        message = f"the prompt cannot be rendered: {error.what}"
        if BROKEN in self._rules:
            problem = next(iter(locations), None), message, error.fix or "correct it"
            self._note(BROKEN, target, iter([problem]), inputs=inputs)

    def report(self) -> CheckReport:
        """Return the findings so far, and a finding for each unused ignore comment.

        A comment that names a rule about prompts is never unused: another prompt may need it.
        """
        checked = self._files.keys() - self._unread.keys()
        if UNUSED in self._rules:
            for path in checked:
                self._note(UNUSED, path, self._unused_in(path))
        findings = {
            attrs.evolve(finding, inputs=tuple(self._inputs.get(finding, ())))
            for finding in self._findings.keys() - {*self._repeated()}
        }
        unread = (f"{path}: {why}" for path, why in sorted(self._unread.items()))
        return CheckReport(tuple(sorted(findings)), len(checked), self._prompts, tuple(unread))

    def _unused_in(self, path: str) -> Problems:
        """Yield a problem for each id in an ignore comment that is unused or wrong."""
        for line, id in self._read(path).ignores.unused():
            at, rule = Source(path, line), self._rules.get(id)
            if not id:
                yield at, "the comment names no rule", _COMPLETE_ID
            elif id not in (HINTS, *RULES):
                yield at, f"{id!r} in the comment is not a rule", _COMPLETE_ID
            elif rule and rule.in_source and not rule.hints:
                message = f"the comment ignores {id}, but {id} has no finding here"
                yield at, message, f"remove {id} from the comment"

    def _repeated(self) -> Iterator[Finding]:
        """Yield the findings of prompts that repeat a finding of code on the same line.

        Only a finding of code has a column.
        """
        lines = {
            (finding.file, finding.line)
            for finding in self._findings
            if finding.column and finding.rule != LOST
        }
        lost = [finding for finding in self._findings if finding.rule == LOST]
        losing = {location for finding in lost for location in self._lines_emptied_by(finding)}
        # A lost text may be the reason why a block is empty: then both are one mistake.
        lines_of = {"empty_block": lines | losing}
        for finding, hint in self._findings.items():
            is_of_prompt = not finding.column and finding.rule in _OFTEN_TWICE
            if is_of_prompt and (finding.file, finding.line) in lines_of.get(hint, lines):
                yield finding

    def _lines_emptied_by(self, finding: Finding) -> Iterator[tuple[str, int]]:
        """Yield the line of a lost text, and the line of the block that may be empty without it."""
        yield finding.file, finding.line
        file = self._read(finding.file).file
        enclosing_blocks = (
            [block for block in file.blocks if _is_in(finding.line, block)] if file else []
        )
        for block in enclosing_blocks[-1:]:
            yield from ((finding.file, with_item.context_expr.lineno) for with_item in block.items)

    def _note(
        self,
        rule: str,
        path: str,
        problems: Problems,
        hint: str = "",
        *,
        inputs: str | None = None,
    ) -> None:
        """Add the problems that a rule yields, except those that a comment ignores.

        A file whose code is nested too deep for the rule is noted as unread.
        """
        try:
            for location, message, fix in problems:
                file, line, column = path, 0, 0
                if isinstance(location, Source):
                    file, line = shown_path(location.file), location.line
                elif location is not None:
                    line, column = location.lineno, location.col_offset + 1
                if not self._read(file).ignores.covers(line, rule):
                    finding = Finding(file, line, column, rule, message, fix)
                    self._findings[finding] = hint
                    if inputs is not None:
                        self._inputs.setdefault(finding, {})[inputs] = None
        except RecursionError:  # the code is nested deeper than Python can recurse
            if path in self._files:
                self._unread[path] = _TOO_DEEP

    def _read(self, path: str) -> _ReadFile:
        """Return a file with its ignore comments; an empty file if it cannot be read.

        Each file is read only once. A file of :meth:`paths` that cannot be read is noted as unread.
        """
        path = shown_path(path)
        if path in self._texts:
            return self._texts[path]
        is_python, text, file, problem = path.endswith(".py"), "", None, ""
        if not path.endswith((".py", *ENDINGS)):
            problem = "it is neither Python nor a template"
        elif not os.path.isfile(path):  # reading a pipe would wait for its writer
            problem = "it is not a file"
        else:
            try:
                raw_bytes = Path(path).read_bytes()
                encoding, _ = tokenize.detect_encoding(io.BytesIO(raw_bytes).readline)
                if not is_python:
                    encoding = "utf-8-sig"
                text = raw_bytes.decode(encoding).replace("\r\n", "\n")
                file = parsed(text) if is_python else None
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                problem = getattr(error, "strerror", None) or str(error) or _TOO_DEEP
        if problem and path in self._files:
            self._unread[path] = problem.replace("<unknown>, ", "")
        self._texts[path] = _ReadFile(text, file, Ignores(text, file))
        return self._texts[path]

    def _files_in(self, path: str) -> Iterator[str]:
        """Yield a file, or the Python files and templates in a folder, in order."""
        if not os.path.isdir(path):
            yield shown_path(path)
            return

        def note_unread(error: OSError) -> None:
            self._unread[shown_path(error.filename)] = error.strerror or ""

        skipped = {*_SKIPPED, *self._settings.exclude}

        def not_skipped(names: Iterable[str]) -> list[str]:
            return sorted(name for name in names if name not in skipped and name[0] != ".")

        for folder, folders, files in os.walk(path, onerror=note_unread):
            folders[:] = not_skipped(folders)
            for file in not_skipped(files):
                if file.endswith((".py", *ENDINGS)):
                    yield shown_path(os.path.join(folder, file))


def _is_in(line: int, block: ast.With | ast.AsyncWith) -> bool:
    """Return whether a line is in the body of a block."""
    return block.body[0].lineno <= line <= (block.end_lineno or 0)


def shown_path(path: str) -> str:
    """Return a path as findings show it: relative if it is in the current folder."""
    is_code = path.startswith("<")
    return path if is_code else os.path.abspath(path).removeprefix(os.path.join(os.getcwd(), ""))
