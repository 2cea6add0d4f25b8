"""``promptdsl check``: it looks for mistakes in files and prompts, and prints what it finds.

In this order: the command and its options; the checks of prompts; and the formats of a report.
"""

import argparse
import os
import re
import traceback
from collections.abc import Callable, Mapping, Sequence

import attrs

from promptdsl import PromptError
from promptdsl.batch import user_frames
from promptdsl.checking import RULES, Checker, CheckReport, CheckSettings, Finding
from promptdsl.cli.commands import AddParser, Arguments, add_arguments, add_command, read_arguments
from promptdsl.cli.options import rendered_call
from promptdsl.cli.output import UsageError, as_json, suggestion
from promptdsl.cli.target import TargetCall, add_inputs, refuse_inputs, target_calls
from promptdsl.comparing import visible

DESCRIPTION = """\
Look for mistakes in files, which are not run, and in rendered prompts."""
CODES = "0 no mistakes; 1 mistakes; 2 called wrongly, or nothing to check"
NO_TARGET_NOTE = "only files were checked: to check a prompt, name it, such as prompts.py:support"
"""The note if no prompt was checked."""


def add_check(add_parser: AddParser) -> None:
    """Add the command and its options."""
    takes = "[PATH|TARGET ...]"
    parser = add_command(
        add_parser, "check", run=run_check, takes=takes, description=DESCRIPTION, codes=CODES
    )
    add = parser.add_argument
    help_text = "a file, a folder (default: .) or a prompt: file.py:name"
    add("targets", metavar="PATH|TARGET", nargs="*", help=help_text)
    add(
        "--select", metavar="RULES", help="only these rules, such as PD101,PD2; PD,hints adds hints"
    )
    add("--ignore", metavar="RULES", help="leave out these rules, such as PD209,PD1")
    choices = ", ".join(FORMATS)
    add("--format", choices=FORMATS, default="text", metavar="FORMAT", help=choices)
    add("--explain", metavar="ID", help="explain a rule, such as PD101; all lists the rules")
    help_text = "render the prompts for this model; may be repeated"
    add("--model", dest="models", metavar="NAME", action="append", help=help_text)
    add_arguments(add, what="an argument of the function", reading="as its type; KEY:=JSON is JSON")
    add_inputs(add)
    add("--budget", type=int, metavar="TOKENS", help="the budget of each prompt, in tokens")
    add("--cache", choices=("auto",), help="place cache marks, as promptdsl render does")
    parser.set_defaults(
        provider_format=None, reserve=0, media_roots=[], tool_choice=None, strict=False
    )
    parser.set_defaults(chat_template=None, target="check", text_formats=())


def run_check(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Check the files and prompts; return the findings, the notes and the exit code."""
    if arguments.explain is not None:
        return _explanation(arguments.explain), [], 0
    try:
        settings = CheckSettings.near().changed(
            select=_rule_ids(arguments.select), ignore=_rule_ids(arguments.ignore)
        )
    except PromptError as error:
        raise UsageError(f"{error.what}: {error.fix}") from None
    names = arguments.targets or [*settings.targets] or ["."]
    paths = [name for name in names if os.path.exists(name)]
    targets = _targets(names, paths)
    if not arguments.targets and settings.targets:
        # The settings name prompts: the files of the current folder are checked, too.
        paths.append(".")
    files = [target.rpartition(":")[0] for target in targets]
    checker = Checker(settings)
    checker.paths(dict.fromkeys([*paths, *filter(os.path.isfile, files)]))
    props = read_arguments(arguments.pairs, arguments.props)
    if not targets:
        refuse_inputs(arguments, ", ".join(paths))
    for target in targets:
        arguments.target = target  # for errors
        for model in arguments.models or settings.models or [None]:
            for_model = argparse.Namespace(**{**vars(arguments), "model": model})
            _check_target(checker, target, props, for_model)
    report = checker.report()
    if not report.files and not report.prompts:
        why = "; ".join(report.unread) or f"{', '.join(names)} has no Python and no template"
        raise UsageError(f"nothing was checked: {why}")
    notes = [
        *(f"not checked: {file}" for file in report.unread),
        *([] if targets else [NO_TARGET_NOTE]),
    ]
    return FORMATS[arguments.format](report), notes, int(bool(report.findings))


# The checks of prompts.


def _targets(names: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Return the names that are targets, such as ``prompts.py:support``, and not ``paths``.

    Raises :class:`UsageError` for a name without a colon: it is the path of a missing file.
    """
    targets = [name for name in names if name not in paths]
    for target in targets:
        if ":" not in target:
            file_names = [file for file in os.listdir() if file != target]
            link = ": it is a link to a missing file" if os.path.islink(target) else ""
            raise UsageError(
                f"no such file or folder: {target}{link or suggestion(target, file_names)}"
            )
    return targets


def _check_target(
    checker: Checker, target: str, props: Arguments, arguments: argparse.Namespace
) -> None:
    """Check the prompt of a target, with each of the ``--inputs``."""
    try:
        with target_calls(target, props, arguments) as calls:
            for call in calls:
                _check_call(checker, call, arguments)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        checker.failed(target, _error_of_target(error))


def _check_call(checker: Checker, call: TargetCall, arguments: argparse.Namespace) -> None:
    """Check the prompt of a call; if its code fails, record the error."""
    name = None if call.inputs is None else call.inputs.name
    try:
        rendered = rendered_call(call, arguments)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        checker.failed(call.target, _error_of_target(error), inputs=name)
    else:
        checker.prompt(rendered, inputs=name)


def _error_of_target(error: BaseException) -> PromptError:
    """Return the error of a target with the lines of the author's code, without lines of promptdsl.

    A :class:`PromptError` may name the line that called ``render()``, which is in this command.
    """
    if not isinstance(error, PromptError):
        at = [f"{frame.filename}:{frame.lineno}" for frame in user_frames(error)[-1:]]
        return PromptError(f"{type(error).__name__}: {error}", fix="correct its code", at=at)
    # All calls on the stack are calls of the command: those of the author's code have returned.
    command_lines = {f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()}
    lines = [line for line in error.at if line not in command_lines]
    return PromptError(error.what, fix=error.fix, at=lines)


# The explanation of a rule, and the formats of a report.


def _explanation(id: str) -> str:
    """Return the page of a rule, or the list of rules. Raises :class:`UsageError` if unknown."""
    if id == "all":
        return "\n".join(f"{rule.id}  {rule.name}" for rule in RULES.values())
    if id.upper() not in RULES:
        raise UsageError(f"there is no rule {id!r}{suggestion(id.upper(), RULES)}")
    return str(RULES[id.upper()])


def _rule_ids(text: str | None) -> list[str]:
    return [id.strip() for id in (text or "").split(",") if id.strip()]


def _text(report: CheckReport) -> str:
    return visible("\n".join([*map(str, report.findings), report.summary]))


def _json(report: CheckReport) -> str:
    findings = [attrs.asdict(finding) for finding in report.findings]
    return as_json({"findings": findings, "files": report.files, "prompts": report.prompts})


def _github(report: CheckReport) -> str:
    """Return the workflow commands that GitHub shows as annotations."""
    return "\n".join([*map(_annotation, report.findings), report.summary])


def _annotation(finding: Finding) -> str:
    """Return the workflow command for a finding; a line or column of 0 is left out."""
    location = f"file={_escaped_text(finding.file)}" + (
        f",line={finding.line}" if finding.line else ""
    )
    location += f",col={finding.column}" if finding.column else ""
    text = _escaped_text(finding.text, is_data=True)
    return f"::error {location},title={finding.rule}::{text}"


def _escaped_text(text: str, *, is_data: bool = False) -> str:
    """Return a text with the escapes of GitHub, which differ for a property and for the text."""
    special = "%" if is_data else "%:,"
    text = visible(text, one_line=True)
    return re.sub(f"[{special}]", lambda match: f"%{ord(match[0]):02X}", text)


FORMATS: Mapping[str, Callable[[CheckReport], str]] = {
    "text": _text,
    "json": _json,
    "github": _github,
}
"""The function that writes a report, by the name of its format."""
