"""Looking at files and prompts with all rules that are selected."""

import os
from collections.abc import Iterable, Iterator

import attrs

from promptdsl import PromptError, Rendered, Source
from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Finding, finding
from promptdsl.checking.ignores import Ignores
from promptdsl.checking.python_file import PythonFile, parsed
from promptdsl.checking.rules import BROKEN, RULES, UNUSED
from promptdsl.checking.settings import HINTS, CheckSettings
from promptdsl.checking.template_file import ENDINGS, CheckedTemplate, is_ours
from promptdsl.templates.facts import template_facts

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
        looked = f"{_count(self.files, 'file')} and {_count(self.prompts, 'prompt')} checked"
        return f"{looked}, {_count(len(self.findings), 'finding')}"


class Checker:
    """Looks at files and prompts, and notes what is found; each file is parsed once.

    >>> from promptdsl import System, Tool, render
    >>> from promptdsl.checking import Checker
    >>> checker = Checker()
    >>> checker.prompt(render(System("Answer {{ name }}.")))
    >>> [finding.rule for finding in checker.report().findings]
    ['PD205']
    """

    def __init__(self, settings: CheckSettings | None = None) -> None:
        self._settings = settings or CheckSettings()
        self._rules = [it for id, it in RULES.items() if self._settings.selects(id)]
        self._found: set[Finding] = set()
        self._parsed: dict[str, tuple[PythonFile | None, Ignores]] = {}
        self._files: set[str] = set()
        self._templates: dict[str, str] = {}
        self._prompts = 0
        self._seen: set[tuple[str, int]] = set()

    def paths(self, paths: Iterable[str]) -> None:
        """Look at files and, for folders, at all files of Python and templates in them.

        Raises :class:`OSError` for a path that cannot be read.
        """
        files = [file for path in paths for file in self._files_in(path)]
        for path in files:
            if path.endswith(ENDINGS):
                with open(path, encoding="utf-8", errors="replace") as template:
                    self._templates[path] = template.read()
        for path in files:
            self._files.add(os.path.realpath(path))
            if path in self._templates:
                self._template(path, self._templates[path])
            elif file := self._file(path):
                for rule in self._rules:
                    if rule.in_source:
                        for place, message, fix in rule.in_source(file):
                            self._note(finding(rule.id, path, place, message, fix))

    def prompt(self, rendered: Rendered) -> None:
        """Look at a prompt that was rendered."""
        self._prompts += 1
        prompt = CheckedPrompt(rendered, self._file)
        self._seen |= {(_shown(it.source.file), it.source.line) for it in prompt.spans if it.source}
        losses = [it for it in rendered.losses if it.kind == "hint"]
        for rule in self._rules:
            for place, message, fix in rule.in_prompt(prompt) if rule.in_prompt else ():
                self._note(finding(rule.id, "<prompt>", place, message, fix))
            for hint in losses:
                if hint.name in rule.hints:
                    self._hint(rule.id, hint.source, f"{hint.what}: {hint.why}")
        if self._settings.selects(HINTS):
            known = {name for rule in RULES.values() for name in rule.hints}
            for hint in losses:
                if hint.name not in known:
                    self._hint(HINTS, hint.source, f"{hint.what}: {hint.why} ({hint.name})")

    def failed(self, target: str, error: PromptError) -> None:
        """Note that a prompt cannot be rendered."""
        self._prompts += 1
        if BROKEN in [rule.id for rule in self._rules]:
            file, _, line = (error.at[0] if error.at else target).rpartition(":")
            place = Source(file, int(line)) if line.isdecimal() else Source(target, 0)
            message = f"the prompt cannot be rendered: {error.what}"
            self._note(finding(BROKEN, target, place, message, error.fix or "correct it"))

    def report(self) -> CheckReport:
        """Return what was found so far, with the comments that no finding needed."""
        found = {*self._found}
        if self._settings.selects(UNUSED):
            for path, (_, ignores) in self._parsed.items():
                for line, id in ignores.unused():
                    if self._was_looked_for(path, id, ignores.lines_of(line)):
                        message = f"the comment ignores {id}, which is not found here"
                        fix = f"take {id} out of the comment"
                        found.add(finding(UNUSED, path, line, message, fix))
        return CheckReport(tuple(sorted(found)), len(self._files), self._prompts)

    def _was_looked_for(self, path: str, id: str, lines: list[range]) -> bool:
        """Return whether a rule looked at the lines of a comment, or there is no such rule."""
        if id not in RULES:
            return id != HINTS
        rule = RULES[id]
        if rule not in self._rules:
            return False
        if rule.in_prompt or rule.hints:
            return any((path, line) in self._seen for it in lines for line in it)
        return os.path.realpath(path) in self._files

    def _hint(self, rule: str, place: Source | None, text: str) -> None:
        message, _, fix = text.rpartition("; ")
        self._note(finding(rule, "<prompt>", place, message or text, fix if message else "mend it"))

    def _note(self, found: Finding) -> None:
        found = attrs.evolve(found, file=_shown(found.file))
        self._file(found.file)
        _, ignores = self._parsed[found.file]
        if not ignores.covers(found.line, found.rule):
            self._found.add(found)

    def _file(self, path: str) -> PythonFile | None:
        """Return a file of Python, parsed at most once; ``None`` for any other."""
        path = _shown(path)
        if path not in self._parsed:
            text, file = self._templates.get(path, ""), None
            if path.endswith(".py") and os.path.isfile(path):
                with open(path, encoding="utf-8-sig", errors="replace") as source:
                    text = source.read()
                file = parsed(path, text)
            self._parsed[path] = file, Ignores(text, file)
        return self._parsed[path][0]

    def _template(self, path: str, text: str) -> None:
        if not is_ours(text):
            return
        template = CheckedTemplate(path, text, template_facts(text, path), (*self._templates,))
        for rule in self._rules:
            for place, message, fix in rule.in_template(template) if rule.in_template else ():
                self._note(finding(rule.id, path, place, message, fix))

    def _files_in(self, path: str) -> Iterator[str]:
        if not os.path.isdir(path):
            os.stat(path)
            yield _shown(path)
            return
        for folder, folders, files in os.walk(path):
            skipped = {*_SKIPPED, *self._settings.exclude}
            folders[:] = sorted(it for it in folders if it not in skipped and it[0] != ".")
            for file in sorted(files):
                if file.endswith((".py", *ENDINGS)) and file not in skipped:
                    yield _shown(os.path.join(folder, file))


def rule_list() -> tuple[CheckRule, ...]:
    """Return all rules, in the order of their ids."""
    return tuple(RULES.values())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _shown(path: str) -> str:
    """Return a path as findings name it: relative where it is below the working folder."""
    full = os.path.abspath(path)
    below = os.path.relpath(full) if os.path.isabs(path) or "." in path else path
    return path if path.startswith("<") else full if below.startswith("..") else below
