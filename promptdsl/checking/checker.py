"""Looking at files and prompts with all rules that are selected."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

import attrs

from promptdsl import PromptError, Rendered, Source
from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import Finding, Found
from promptdsl.checking.ignores import Ignores
from promptdsl.checking.python_file import PythonFile, parsed
from promptdsl.checking.rules import BROKEN, RULES, UNUSED
from promptdsl.checking.settings import HINTS, CheckSettings

ENDINGS = (".j2", ".jinja", ".jinja2")
_SKIPPED = ("__pycache__", "node_modules", "site-packages", "venv")


@attrs.frozen
class CheckReport:
    """What was found, in the order of files and lines, and how much was looked at."""

    findings: tuple[Finding, ...]
    files: int
    prompts: int

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
        self._found: set[Finding] = set()
        self._parsed: dict[str, tuple[PythonFile | None, Ignores]] = {}
        self._files: set[str] = set()
        self._templates: dict[str, str] = {}
        self._prompts = 0
        self._seen: set[tuple[str, int]] = set()
        """The lines that wrote a part of a prompt."""

    def paths(self, paths: Iterable[str]) -> None:
        """Look at files and, for folders, at all files of Python and templates in them.

        Raises :class:`OSError` for a path that cannot be read.
        """
        files = [file for path in paths for file in self._files_in(path)]
        for path in files:
            if path.endswith(ENDINGS):
                with open(path, encoding="utf-8", errors="replace") as template:
                    self._templates[path] = template.read()
        for path in dict.fromkeys(files):
            self._files.add(path)
            file, text = self._file(path), self._templates.get(path, "")
            for rule in self._rules.values():
                if file and rule.in_source:
                    self._note(rule.id, path, rule.in_source(file))
                elif text and rule.in_template:
                    self._note(rule.id, path, rule.in_template(path, text, self._templates))

    def prompt(self, rendered: Rendered) -> None:
        """Look at a prompt that was rendered."""
        self._prompts += 1
        prompt = CheckedPrompt(rendered, self._file)
        self._seen |= {(_shown(it.source.file), it.source.line) for it in prompt.spans if it.source}
        owners = {name: rule.id for rule in RULES.values() for name in rule.hints}
        for rule in self._rules.values():
            if rule.in_prompt:
                self._note(rule.id, "<prompt>", rule.in_prompt(prompt))
        for hint in rendered.losses:
            owner = owners.get(hint.name, HINTS)
            if hint.kind == "hint" and self._settings.selects(owner):
                message, _, fix = hint.why.rpartition("; ")
                fix, why = (fix, message) if message else ("change it, or ignore it", fix)
                what = hint.what + (f" ({hint.path})" if hint.path else "")
                self._note(owner, "<prompt>", iter([(hint.source, f"{what}: {why}", fix)]))

    def failed(self, target: str, error: PromptError) -> None:
        """Note that a prompt cannot be rendered."""
        self._prompts += 1
        file, _, line = (error.at[0] if error.at else "").rpartition(":")
        place = Source(file, int(line)) if line.isdecimal() else None
        message = f"the prompt cannot be rendered: {error.what}"
        if BROKEN in self._rules:
            self._note(BROKEN, target, iter([(place, message, error.fix or "correct it")]))

    def report(self) -> CheckReport:
        """Return what was found so far, with the comments that no finding needed."""
        for path, (_, ignores) in self._parsed.items() if UNUSED in self._rules else ():
            for line, id in ignores.unused():
                if self._was_looked_for(path, id, ignores.lines[line]):
                    message = f"the comment ignores {id}, which is not found here"
                    self._note(UNUSED, path, iter([(line, message, f"take {id} out of it")]))
        return CheckReport(tuple(sorted(self._found)), len(self._files), self._prompts)

    def _was_looked_for(self, path: str, id: str, lines: Iterable[int]) -> bool:
        """Return whether a rule looked at the lines of a comment, or there is no such rule."""
        rule = self._rules.get(id)
        if rule is None:
            return id not in (HINTS, *RULES)
        if rule.in_prompt or rule.hints:
            return any((path, line) in self._seen for line in lines)
        return path in self._files

    def _note(self, rule: str, path: str, what: Found) -> None:
        """Note what a rule yields, if no comment lets it stand."""
        # Code may be nested deeper than Python goes: of such a file the rest is not judged.
        with suppress(RecursionError):
            for place, message, fix in what:
                file, line, column = path, 0, 0
                if isinstance(place, Source):
                    file, line = place.file, place.line
                elif isinstance(place, int):
                    line = place
                elif place is not None:
                    line, column = place.lineno, place.col_offset + 1
                file = _shown(file)
                self._file(file)
                if not self._parsed[file][1].covers(line, rule):
                    self._found.add(Finding(file, line, column, rule, message, fix))

    def _file(self, path: str) -> PythonFile | None:
        """Return a file of Python, parsed at most once; ``None`` for any other."""
        path = _shown(path)
        if path not in self._parsed:
            text, file = self._templates.get(path, ""), None
            if path.endswith(".py") and os.path.isfile(path):
                with open(path, encoding="utf-8-sig", errors="replace") as source:
                    text = source.read()
                file = parsed(text)
            self._parsed[path] = file, Ignores(text, file)
        return self._parsed[path][0]

    def _files_in(self, path: str) -> Iterator[str]:
        if not os.path.isdir(path):
            os.stat(path)
            yield _shown(path)
        skipped = {*_SKIPPED, *self._settings.exclude}
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(it for it in folders if it not in skipped and it[0] != ".")
            for file in sorted({*files} - skipped):
                if file.endswith((".py", *ENDINGS)):
                    yield _shown(os.path.join(folder, file))


def _shown(path: str) -> str:
    """Return a path as findings name it: relative where it is below the working folder."""
    full = os.path.abspath(path)
    below = os.path.relpath(full) if os.path.isabs(path) or "." in path else path
    return path if path.startswith("<") else full if below.startswith("..") else below
