"""Looking at files and prompts with all rules that are selected."""

import ast
import io
import os
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import attrs

from promptdsl import PromptError, Rendered, Source
from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import Finding, Found
from promptdsl.checking.ignores import Ignores
from promptdsl.checking.python_file import PythonFile, parsed
from promptdsl.checking.rules import BROKEN, LOST, RULES, UNUSED
from promptdsl.checking.settings import HINTS, CheckSettings

ENDINGS = (".j2", ".jinja", ".jinja2")
_SKIPPED = ("__pycache__", "node_modules", "site-packages", "venv")
_OFTEN_TWICE = (BROKEN, "PD104")
"""What is found in code and in the prompt, too, at the same line."""
_TOO_DEEP = "its code is nested too deep"


class _Read(NamedTuple):
    """A file that was read: a file of Python that names promptdsl is parsed."""

    text: str
    file: PythonFile | None
    ignores: Ignores


@attrs.frozen
class CheckReport:
    """What was found, in the order of files and lines, and how much was looked at.

    ``unread`` are the files and folders that could not be looked at, each with the reason.
    """

    findings: tuple[Finding, ...]
    files: int
    prompts: int
    unread: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """How many files and prompts were looked at, and how many findings there are."""
        counts = {"file": self.files, "prompt": self.prompts, "finding": len(self.findings)}
        texts = [f"{count:,} {noun}{'s' * (count != 1)}" for noun, count in counts.items()]
        return "{} and {} checked, {}".format(*texts)


class Checker:
    """Looks at files and prompts, and notes what is found; each file is parsed once.

    >>> from promptdsl import System, render
    >>> from promptdsl.checking import Checker
    >>> checker = Checker()
    >>> checker.prompt(render(System("Answer {{ name }}.")))
    >>> [finding.rule for finding in checker.report().findings]
    ['PD205']
    """

    def __init__(self, settings: CheckSettings | None = None) -> None:
        self._settings = settings or CheckSettings()
        self._rules = {id: it for id, it in RULES.items() if self._settings.selects(id)}
        self._found: dict[Finding, str] = {}
        """Each finding, with the name of the hint that it is, or ``""``."""
        self._texts: dict[str, _Read] = {}
        self._files: dict[str, None] = {}
        self._unread: dict[str, str] = {}
        self._prompts = 0

    def paths(self, paths: Iterable[str]) -> None:
        """Look at files and, for folders, at all files of Python and templates in them.

        What cannot be read is in the report, as ``unread``.
        """
        files = dict.fromkeys(file for path in paths for file in self._files_in(path))
        self._files |= files
        for path in files:
            text, file, _ = self._read(path)
            for rule in self._rules.values() if path not in self._unread else ():
                if file and rule.in_source:
                    self._note(rule.id, path, rule.in_source(file))
                elif path.endswith(ENDINGS) and rule.in_template:
                    self._note(rule.id, path, rule.in_template(path, text, self._files))

    def prompt(self, rendered: Rendered) -> None:
        """Look at a prompt that was rendered."""
        self._prompts += 1
        prompt = CheckedPrompt(rendered, lambda path: self._read(path).file)
        owners = {name: rule.id for rule in RULES.values() for name in rule.hints}
        for rule in self._rules.values():
            if rule.in_prompt:
                self._note(rule.id, "<prompt>", rule.in_prompt(prompt))
        for hint in rendered.losses:
            owner = owners.get(hint.name, HINTS)
            if hint.kind == "hint" and self._settings.selects(owner):
                why, _, fix = hint.why.partition("; ")
                what = hint.what + (f" ({hint.path})" if hint.path else "")
                fix = fix or "correct it, or name the rule in a comment"
                problem = hint.source, f"{what}: {why}", fix
                self._note(owner, "<prompt>", iter([problem]), hint.name)

    def failed(self, target: str, error: PromptError) -> None:
        """Note that a prompt cannot be rendered."""
        self._prompts += 1
        at = (it.rpartition(":") for it in error.at)
        places = [Source(file, int(line)) for file, _, line in at if os.path.isfile(file)]
        message = f"the prompt cannot be rendered: {error.what}"
        if BROKEN in self._rules:
            what = next(iter(places), None), message, error.fix or "correct it"
            self._note(BROKEN, target, iter([what]))

    def report(self) -> CheckReport:
        """Return what was found so far, with the comments that no finding needed.

        Of rules that look at prompts a comment is never unused: another prompt may need it.
        """
        for path in self._files.keys() - self._unread.keys() if UNUSED in self._rules else ():
            for line, id in self._read(path).ignores.unused():
                rule = self._rules.get(id)
                message, fix = "", f"take {id} out of it"
                if id not in (HINTS, *RULES):
                    message = f"the comment names {f'{id!r}, which is ' if id else ''}no rule"
                    fix = "write a whole id, such as ignore[PD101]"
                elif rule and rule.in_source and not rule.hints:
                    message = f"the comment ignores {id}, which is not found here"
                self._note(UNUSED, path, iter([(Source(path, line), message, fix)] * bool(message)))
        found = self._found.keys() - {*self._repeated()}
        unread = (f"{path}: {why}" for path, why in sorted(self._unread.items()))
        files = len(self._files.keys() - self._unread.keys())
        return CheckReport(tuple(sorted(found)), files, self._prompts, tuple(unread))

    def _repeated(self) -> Iterator[Finding]:
        """Yield what is found of prompts that a finding in code, which has a column, explains."""
        lines = {(it.file, it.line) for it in self._found if it.column and it.rule != LOST}
        losing = {place for it in self._found if it.rule == LOST for place in self._losing(it)}
        known = {"empty_block": lines | losing}
        for it, hint in self._found.items():
            is_of_prompt = not it.column and it.rule in _OFTEN_TWICE
            if is_of_prompt and (it.file, it.line) in known.get(hint, lines):
                yield it

    def _losing(self, finding: Finding) -> Iterator[tuple[str, int]]:
        """Yield the line of a lost text, and those of the block that may be empty without it."""
        yield finding.file, finding.line
        file = self._read(finding.file).file
        around = [it for it in file.blocks if _is_in(finding.line, it)] if file else []
        for block in around[-1:]:
            yield from ((finding.file, it.context_expr.lineno) for it in block.items)

    def _note(self, rule: str, path: str, what: Found, hint: str = "") -> None:
        """Note what a rule yields, or a hint, if no comment lets it stand."""
        try:
            for place, message, fix in what:
                file, line, column = path, 0, 0
                if isinstance(place, Source):
                    file, line = shown(place.file), place.line
                elif place is not None:
                    line, column = place.lineno, place.col_offset + 1
                if not self._read(file).ignores.covers(line, rule):
                    self._found[Finding(file, line, column, rule, message, fix)] = hint
        except RecursionError:  # code may be nested deeper than Python goes
            if path in self._files:
                self._unread[path] = _TOO_DEEP

    def _read(self, path: str) -> _Read:
        """Return a file with its comments, read at most once; an empty one for any other."""
        path = shown(path)
        if path in self._texts:
            return self._texts[path]
        is_python, text, file, problem = path.endswith(".py"), "", None, ""
        if not path.endswith((".py", *ENDINGS)):
            problem = "it is neither Python nor a template"
        elif not os.path.isfile(path):  # a pipe would be waited for
            problem = "it is no file"
        else:
            try:
                data = Path(path).read_bytes()
                encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
                text = data.decode(encoding if is_python else "utf-8-sig").replace("\r\n", "\n")
                file = parsed(text) if is_python else None
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                problem = getattr(error, "strerror", None) or str(error) or _TOO_DEEP
        if problem and path in self._files:
            self._unread[path] = problem.replace("<unknown>, ", "")
        self._texts[path] = _Read(text, file, Ignores(text, file))
        return self._texts[path]

    def _files_in(self, path: str) -> Iterator[str]:
        if not os.path.isdir(path):
            yield shown(path)
            return

        def unread(error: OSError) -> None:
            self._unread[shown(error.filename)] = error.strerror or ""

        skipped = {*_SKIPPED, *self._settings.exclude}
        for folder, folders, files in os.walk(path, onerror=unread):
            folders[:] = sorted(it for it in folders if it not in skipped and it[0] != ".")
            for file in sorted(it for it in files if it not in skipped and it[0] != "."):
                if file.endswith((".py", *ENDINGS)):
                    yield shown(os.path.join(folder, file))


def _is_in(line: int, block: ast.With | ast.AsyncWith) -> bool:
    """Return whether a line is in the body of a block."""
    return block.body[0].lineno <= line <= (block.end_lineno or 0)


def shown(path: str) -> str:
    """Return a path as findings name it: relative where it is below the working folder."""
    is_code = path.startswith("<")
    return path if is_code else os.path.abspath(path).removeprefix(os.path.join(os.getcwd(), ""))
