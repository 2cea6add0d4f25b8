"""The front matter of a template: its title, its description and its inputs."""

import re
from collections.abc import Mapping
from keyword import iskeyword

import attrs

from promptdsl.foundation.errors import TemplateError, nearest
from promptdsl.templates.inputs import BLANKS, TYPES, Input, default_at, kind_at, written
from promptdsl.templates.template_folder import WhiteSpace, label
from promptdsl.templates.variables import check_variables

MAX_INPUTS = 100
MAX_LINE = 1_000
"""Characters of a line of front matter."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_FENCE = re.compile(r"---[ \t]*")
_LATE = re.compile(r"(\s+)---[ \t]*[\r\n]\s*(?:title|description|inputs)[ \t]*:")
"""Front matter that does not begin the text: an indented text, or a blank line before it."""
_EMPTY = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
_KEY = re.compile(r"(\w+)[ \t]*:[ \t]*(.*)")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_RESERVED = {
    "caller",
    "kwargs",
    "loop",
    "none",
    "self",
    "super",
    "true",
    "false",
    "varargs",
    "vars",
    *WhiteSpace._fields,
}
"""Names that have a meaning in templates, or as an argument of ``Template``."""
_AS_TEXT = 'to send "---" as text, begin the file with {# #}'


@attrs.frozen
class FrontMatter:
    """The declarations of a template between two lines ``---``; they are not sent.

    ``inputs`` is ``None`` for a template that declares no inputs: it takes any variables.
    ``lines`` is the number of lines before the text of the template, ``name`` the name of the
    template for errors.
    """

    title: str = ""
    description: str = ""
    inputs: tuple[Input, ...] | None = None
    lines: int = 0
    name: str | None = None

    def checked(self, variables: Mapping[str, object]) -> Mapping[str, object]:
        """Return the variables of a template, checked against its inputs, with the defaults."""
        if self.inputs is None:
            return variables
        known = {declared.name: declared for declared in self.inputs}
        for name in variables:
            if name not in known:
                fix = nearest(str(name), known) if known else "it takes no inputs"
                raise TemplateError(f"{label(self.name)} has no input {str(name)[:60]!r}", fix=fix)
        chosen = self.chosen(variables)
        return variables if len(chosen) == len(variables) else check_variables(chosen)

    def chosen(self, variables: Mapping[str, object]) -> dict[str, object]:
        """Return the inputs among variables, checked, with defaults; others are left out."""
        chosen: dict[str, object] = {}
        for declared in self.inputs or ():
            if declared.name in variables:
                try:
                    chosen[declared.name] = declared.checked(variables[declared.name])
                except TemplateError as error:
                    problem = f"{label(self.name)}: {error.what}"
                    raise TemplateError(problem, fix=error.fix) from None
            elif declared.required:
                problem = f"{label(self.name)} needs the input {declared.name!r}: {declared.type}"
                doc = declared.doc and f" ({declared.doc})"
                raise TemplateError(problem, fix=f"write {declared.name}=...{doc}")
            else:
                chosen[declared.name] = declared.default
        return chosen


def split(source: str, name: str | None) -> tuple[FrontMatter | None, str]:
    """Return the front matter of a template, and its text."""
    if not source.startswith("---"):
        late = _LATE.match(source) if source[:1].isspace() else None
        if late is not None:
            before = len(_LINE_END.findall(late[1]))
            problem = "front matter begins in the first line, without white space before it"
            raise _wrong(name, before + 1, problem, f"remove what is before it; {_AS_TEXT}")
        return None, source
    lines: list[str] = []
    start, is_closed = 0, False
    while not is_closed:
        end = _LINE_END.search(source, start)
        line = source[start : end.start() if end else None]
        is_fence = _FENCE.fullmatch(line) is not None
        if not lines and not is_fence:
            return None, source
        is_closed = is_fence and len(lines) > 0
        start = end.end() if end else len(source)
        lines.append(line)
        if end is None and not is_closed:
            raise _wrong(name, 1, "the front matter has no closing line ---", _AS_TEXT)
    empty = _EMPTY.match(source, start)
    after = empty.end() if empty else start
    count = len(_LINE_END.findall(source, 0, after))
    return _front_matter(lines[1:-1], count, name), source[after:]


def _front_matter(lines: list[str], count: int, name: str | None) -> FrontMatter:
    texts: dict[str, str] = {}
    inputs: list[Input] | None = None
    for number, line in enumerate(lines, 2):
        problem, fix = "", _AS_TEXT
        if len(line) > MAX_LINE:
            problem, fix = f"the line has more than {MAX_LINE:,} characters", "write less"
        elif _CONTROL.search(line):
            problem, fix = "the line has a control character", "leave it out"
        elif not line.strip(" \t") or line.lstrip(" \t").startswith("#"):
            continue
        elif line[0] in " \t" and [*texts][-1:] == ["inputs"]:
            inputs = inputs or []
            parsed = _input(line.strip(" \t"), {declared.name for declared in inputs})
            if isinstance(parsed, Input):
                inputs.append(parsed)
            else:
                problem, fix = parsed
            if len(inputs) > MAX_INPUTS:
                problem, fix = f"there are more than {MAX_INPUTS} inputs", "pass lists as inputs"
        elif not (match := _KEY.fullmatch(line)):
            problem = f"{line[:60]!r} is not a line of front matter"
        elif match[1] not in ("title", "description", "inputs"):
            problem = f"front matter has no {match[1][:60]!r}"
            known = nearest(match[1], ("title", "description", "inputs"))
            fix = f"{known}; {_AS_TEXT}".replace("?;", "?")
            after_inputs = [*texts][-1:] == ["inputs"]
            fix = "begin the line of an input with two spaces" if after_inputs else fix
        elif match[1] in texts:
            problem, fix = f"{match[1]!r} is written twice", "leave one of them out"
        elif match[1] == "inputs" and match[2] and match[2][0] != "#":
            problem = "the inputs begin on the next line"
            fix = "write each on a line of its own, indented: name: type = default  # doc"
        else:
            texts[match[1]] = match[2].rstrip(" \t")
        if problem:
            raise _wrong(name, number, problem, fix)
    return FrontMatter(
        title=texts.get("title", ""),
        description=texts.get("description", ""),
        inputs=tuple(inputs or ()) if "inputs" in texts else None,
        lines=count,
        name=name,
    )


def _input(line: str, taken: set[str]) -> Input | tuple[str, str]:
    """Return the input that a line declares, or a problem and the advice."""
    name, colon, _ = line.partition(":")
    name = name.rstrip(" \t")
    if not colon or not _NAME.fullmatch(name):
        return f"{line[:60]!r} does not declare an input", "write name: type = default  # doc"
    if iskeyword(name) or name in _RESERVED:
        return f"{name!r} cannot be the name of an input", "choose another name"
    if name in taken:
        return f"the input {name!r} is declared twice", "leave one of them out"
    start = _skipped(line, line.index(":") + 1)
    kind_and_end = kind_at(line, start)
    if kind_and_end is None:
        shown = line[start:].partition("#")[0].partition("=")[0].strip(" \t")[:60]
        return f"{shown!r} is not a type of an input", f"the types are {TYPES}"
    kind, end = kind_and_end
    end = _skipped(line, end)
    type_ = written(kind)
    required, default, doc = True, None, ""
    if line.startswith("=", end):
        start = _skipped(line, end + 1)
        value = default_at(line, start, kind)
        if value is None:
            fix = 'write JSON: "text", 3, true, ["a"]; a date is 2026-01-31'
            return f"the default of {name!r} cannot be read", fix
        try:
            default = Input(name, type_).checked(value[0])
        except TemplateError as error:
            return f"the default of {error.what}", error.fix
        required, end = False, _skipped(line, value[1])
    if line.startswith("#", end):
        doc, end = line[end + 1 :].strip(" \t"), len(line)
    if end < len(line):
        fix = "write name: type = default  # doc"
        if line[end] == "|":
            fix = "choices have commas: one of a, b"
        return f"{line[end:][:60]!r} is too much in this line", fix
    return Input(name, type_, doc, required, default)


def _skipped(line: str, start: int) -> int:
    blanks = BLANKS.match(line, start)
    return blanks.end() if blanks else start


def _wrong(name: str | None, line: int, problem: str, fix: str) -> TemplateError:
    return TemplateError(f"{label(name)}, line {line}: {problem}", fix=fix)
