"""``promptdsl diff``: what changed between two prompts, or in all snapshots of a project.

In this order: the diff of all snapshots of a project, and the command. ``sides.py`` reads the two
prompts.
"""

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

import promptdsl
from promptdsl import Rendered
from promptdsl.cli.commands import AddParser, Arguments, add_command, read_arguments
from promptdsl.cli.options import add_request, model_notes, whole_number
from promptdsl.cli.output import (
    UsageError,
    as_json,
    as_row,
    coloured_diff,
    fields,
    is_colourful,
    relative_paths,
    write_report,
)
from promptdsl.cli.sides import (
    GIT_PREFIX,
    SNAPSHOT_ENDING,
    Repository,
    Side,
    base_of,
    has_records,
    is_of_model,
    is_target,
    payload_side,
    record_side,
    side,
    snapshot_side,
)
from promptdsl.cli.target import refuse_inputs
from promptdsl.comparing import (
    MARKS,
    DiffReport,
    PromptComparison,
    PromptFile,
    Status,
    diff,
    is_report,
    visible,
)

# The diff of all snapshots of a project: those at a revision and those in the working tree.

SNAPSHOT_FOLDER = "__snapshots__"
"""The default name of the folder of snapshots."""
PAYLOAD_ENDING = ".payload.json"
"""The end of the names of snapshots of payloads."""
SNAPSHOT_BEGINNING = b"---\npromptdsl-snapshot:"
"""The first bytes of a snapshot of a prompt."""
CONFLICT_SIGN = b"\n<<<<<<< "
"""The beginning of a line with which git begins a merge conflict."""
EMPTY_PROMPT = PromptFile((), ())
Files: TypeAlias = Mapping[str, bytes]
"""The content of snapshots by their paths from the root of the project."""


def checkout_report(revision: str, paths: list[str]) -> tuple[DiffReport, list[str]]:
    """Return what changed in the snapshots of a project since its merge base with a revision.

    Also returns notes. ``paths`` limit the report to files and folders. Only files that differ are
    read as snapshots. Unreadable files are in the report. Raises :class:`UsageError` for a path
    that does not exist, and if there are no snapshots.
    """
    repository = Repository()
    folders = [repository.path(path) for path in paths]
    commit = repository.commit(revision)
    base = repository.merge_base(commit)
    blobs, names = repository.blobs(base or commit), repository.files()
    for path, folder in zip(paths, folders, strict=True):
        if not os.path.exists(path) and not any(_is_in(name, folder) for name in blobs):
            problem = f"no such file or folder: {path}"
            if ":" in path:
                fix = f"promptdsl diff git:{revision}:{path} {path} compares a prompt in code"
                problem = f"{problem}\n  {fix}"
            raise UsageError(problem)
    left_out = repository.left_out()

    def is_snapshot(name: str) -> bool:
        return name.endswith((SNAPSHOT_ENDING, PAYLOAD_ENDING)) and name not in left_out

    blobs = {name: blob for name, blob in blobs.items() if is_snapshot(name)}
    # The working tree may have other line ends than the repository.
    contents = repository.contents([*blobs.values()])
    normalised = (content.replace(b"\r\n", b"\n") for content in contents)
    before = dict(zip(blobs, normalised, strict=True))
    after, problems = _tree_contents(repository.root, filter(is_snapshot, names))
    snapshot_folders = _folders(before) | _folders(after)
    before, after = _files_in(snapshot_folders, before), _files_in(snapshot_folders, after)
    conflicting = [after[name] for name in repository.conflicts() if name in after]
    conflicts = {content for content in conflicting if CONFLICT_SIGN in b"\n" + content}
    readable = {name: before[name] for name in before if name not in problems}
    prompts = [
        *(PromptComparison(name, "unreadable", problem=why) for name, why in problems.items()),
        *_comparisons(readable, after, conflicts),
    ]
    if paths:
        prompts = [
            prompt for prompt in prompts if any(_is_in(prompt.name, folder) for folder in folders)
        ]
    if not prompts and not left_out:
        problem = "no snapshots in these paths"
        if not paths:
            problem = f"no snapshots in this project, and none at {revision}"
        fix = f"promptdsl diff git:{revision}:FILE.py:NAME FILE.py:NAME compares a prompt in code"
        raise UsageError(
            f"{problem}: snapshots are files {SNAPSHOT_FOLDER}/*/*{SNAPSHOT_ENDING}\n  {fix}"
        )
    notes: list[str] = []
    if base is None:
        notes = [f"{revision} and HEAD have no merge base: compared with {revision} itself"]
    return DiffReport(tuple(sorted(prompts, key=lambda prompt: prompt.name))), notes


def _folders(files: Files) -> set[str]:
    """Return the names of the folders with snapshots: the default, and those set for pytest."""
    paths = [
        name.split("/") for name, content in files.items() if content.startswith(SNAPSHOT_BEGINNING)
    ]
    return {
        SNAPSHOT_FOLDER,
        *(path[-3] for path in paths if SNAPSHOT_FOLDER not in path and path[2:]),
    }


def _files_in(folders: set[str], files: Files) -> dict[str, bytes]:
    """Return the files in a folder with one of these names, at any depth."""
    return {
        name: content
        for name, content in files.items()
        if not folders.isdisjoint(name.split("/")[:-1])
    }


def _is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder or file, or in it; ``""`` is the root."""
    return not folder or f"{path}/".startswith(f"{folder}/")


def _tree_contents(root: Path, names: Iterable[str]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the content of the files that exist, and why some cannot be read."""
    contents, problems = dict[str, bytes](), dict[str, str]()
    for name in names:
        path = root / name
        try:
            if path.is_file() and not path.is_symlink():
                contents[name] = path.read_bytes().replace(b"\r\n", b"\n")
        except OSError as error:
            problems[name] = f"{name} cannot be read: {error.strerror}"
    return contents, problems


def _comparisons(before: Files, after: Files, conflicts: set[bytes]) -> Iterator[PromptComparison]:
    """Yield a comparison for each snapshot; one with a new name and the same content is renamed.

    ``conflicts`` are the contents of the files that git could not merge.
    """
    removed: dict[object, list[str]] = {}
    for path in before:
        if path not in after:
            removed.setdefault(_compared_contents(path, before), []).append(path)
    for path in after:
        contents = _compared_contents(path, after)
        if any(content in conflicts for content in contents):
            yield PromptComparison(path, "unreadable", problem=f"{path} has merge conflicts")
        elif path not in before and removed.get(contents):
            yield PromptComparison(path, "renamed", was=removed[contents].pop(0))
        else:
            yield _comparison(path, before, after)
    for paths in removed.values():
        yield from (_comparison(path, before, after) for path in paths)


def _comparison(path: str, before: Files, after: Files) -> PromptComparison:
    if _compared_contents(path, before) == _compared_contents(path, after):
        return PromptComparison(path, "same")
    if path.endswith(PAYLOAD_ENDING):
        return _payload_comparison(path, before.get(path), after.get(path))
    try:
        old, new = _snapshot(path, before), _snapshot(path, after)
    except UsageError as error:
        return PromptComparison(path, "unreadable", problem=str(error))
    model = dict((new or old or EMPTY_PROMPT).header).get("model", "")
    if old is None:
        return PromptComparison(path, "added", model=model)
    if new is None:
        return PromptComparison(path, "removed", model=model)
    difference = diff(old, new)
    if not difference:
        return PromptComparison(path, "same", difference, model=model)
    return PromptComparison(path, "changed", difference, model=model)


def _snapshot(path: str, files: Files) -> PromptFile | None:
    return snapshot_side(path, files[path], files.get) if path in files else None


def _payload_comparison(path: str, before: bytes | None, after: bytes | None) -> PromptComparison:
    """Return the comparison of a payload whose JSON differs; its prompt may be the same."""
    if before is None:
        return PromptComparison(path, "added")
    if after is None:
        return PromptComparison(path, "removed")
    provider = path.removesuffix(PAYLOAD_ENDING).rpartition(".")[2]
    try:
        old, new = payload_side(path, before, provider), payload_side(path, after, provider)
        difference = diff(old, new)
    except UsageError as error:
        return PromptComparison(path, "changed", problem=str(error))
    problem = "" if difference else "its JSON changed, but not the prompt in it"
    return PromptComparison(path, "changed", difference or None, problem=problem)


def _compared_contents(path: str, files: Files) -> tuple[bytes | None, ...]:
    """Return the content of a snapshot; for a snapshot of a model, also the content of its base.

    The content is ``None`` if there is no such file.
    """
    content = files.get(path)
    if content is None or not is_of_model(content):
        return (content,)
    return content, base_of(path, files.get)


# ``promptdsl diff``: what changed between two prompts, or in all snapshots of a project.

DESCRIPTION = """\
Show what changes for the model between two prompts, and what the change costs. A and B are prompts
(file.py:name), snapshots (*.prompt.txt), payloads or records (*.json), or one of these at a
revision of git: git:REV:TARGET. Without B, the prompt A is rendered twice. --base compares all
snapshots of the project with those of the last commit that HEAD and REV have in common."""
CODES = "0 nothing differs; 1 something differs; 2 called wrongly, or a prompt failed"
FORMATS = ("text", "json", "markdown", "html")
DIFFERENT = 1
"""The exit code if something differs."""
BASE_OPTIONS = ("sides", "base", "format", "output", "traceback", "is_cache_diff")
"""The options allowed with ``--base``; all others are for rendering a prompt."""


def add_diff(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "diff",
        run=run_diff,
        takes="A [B] | --base REV [PATH ...]",
        description=DESCRIPTION,
        codes=CODES,
    )
    parser.add_argument("sides", nargs="*", metavar="A B", help="the prompts; with --base, paths")
    group = parser.add_argument_group("differences")
    group.add_argument(
        "--base",
        metavar="REV",
        help="compare all snapshots with those of the merge base of HEAD and REV",
    )
    group.add_argument(
        "--cache",
        dest="is_cache_diff",
        action="store_true",
        help="show only how many tokens a prompt cache can reuse",
    )
    for name, which in (("before", "first"), ("after", "second")):
        group.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help=f"like -p, but only for the {which} prompt; may be repeated",
        )
    group.add_argument(
        "--id",
        dest="ids",
        action="append",
        default=[],
        metavar="ID",
        help="the id of a record in a log, or in the JSON of records list; once for each record",
    )
    group.add_argument(
        "--timeout",
        type=partial(whole_number, unit="seconds"),
        default=60,
        metavar="SECONDS",
        help="the time limit for rendering a prompt at a revision (default: 60)",
    )
    add_request(parser, marks=False, texts=False, brief=True)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        metavar="FORMAT",
        help="text, json, markdown or html",
    )
    group.add_argument(
        "--json",
        dest="format",
        action="store_const",
        const="json",
        help="the same as --format json",
    )
    group.add_argument(
        "--output", metavar="FILE", help="write a file; it may only replace an older report"
    )
    defaults = vars(parser.parse_args([]))
    parser.set_defaults(cache=None, target="", failed=UsageError.code, defaults=defaults)


def run_diff(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Compare the prompts or snapshots; return the report, the notes and the exit code."""
    is_of_two = arguments.base is None
    if is_of_two and len(arguments.sides) not in (1, 2):
        raise UsageError("name one prompt or two prompts, or write --base REV")
    if arguments.is_cache_diff and (not is_of_two or arguments.format not in ("text", "json")):
        raise UsageError("--cache compares two targets, as text or JSON")
    if is_of_two:
        report_text, notes, code = _compare_two(arguments)
    else:
        defaults: dict[str, object] = arguments.defaults
        changed = [name for name in defaults if defaults[name] != getattr(arguments, name)]
        if any(name not in BASE_OPTIONS for name in changed):
            raise UsageError("--base compares files: leave out the options of a prompt, such as -p")
        report, notes = checkout_report(arguments.base, arguments.sides)
        report_text, problems, code = _formatted_report(report, arguments)
        notes += problems
    if arguments.output is None:
        return report_text, notes, code
    end = f"\n{MARKS[arguments.format]}\n" if arguments.format in MARKS else ""
    write_report(arguments.output, f"{report_text}\n{end}", is_report)
    return "", notes, code


def _compare_two(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Return the report, notes and exit code for two prompts, or for a prompt rendered twice."""
    first, second = arguments.sides[0], arguments.sides[-1]
    if arguments.is_cache_diff and not (is_target(first) and is_target(second)):
        fix = "leave out --cache: the diff shows where the shared prefix ends"
        raise UsageError(f"--cache compares only targets of the working tree\n  {fix}")
    ids = _ids_by_side(arguments)
    if not any(map(_is_code, arguments.sides)):
        refuse_inputs(arguments, first)
    props = _props(arguments, "before"), _props(arguments, "after")
    prompts: list[Side] = []
    for name, values, (has_id, id) in zip((first, second), props, ids, strict=True):
        arguments.target = name  # errors name this prompt
        if has_id:
            prompts.append(record_side(name, id))
            continue
        prompts.append(side(name, values, arguments))
        if len(arguments.sides) == 1:
            _refuse_single(name)
    before, after = prompts
    notes = model_notes(after, arguments) if isinstance(after, Rendered) else []
    if arguments.is_cache_diff:
        return _cache_diff(before, after, as_data=arguments.format == "json", notes=notes)
    are_rendered = all(isinstance(prompt, Rendered) for prompt in prompts)
    inputs = props if are_rendered else None
    difference = diff(before, after, inputs=inputs)
    status: Status = "changed" if difference else "same"
    report = DiffReport((PromptComparison(second, status, difference),))
    report_text, _, code = _formatted_report(report, arguments)
    return report_text, notes, code


def _is_code(name: str) -> bool:
    """Return whether a side names a prompt in code, in the working tree or at a revision."""
    return not name.endswith((SNAPSHOT_ENDING, ".json")) and not has_records(name)


def _refuse_single(name: str) -> None:
    """Raise :class:`UsageError` for a prompt that is the same each time it is read."""
    if is_target(name):
        return
    _, _, target = name.removeprefix(GIT_PREFIX).partition(":")
    advice = "name a second prompt"
    if name.startswith(GIT_PREFIX):
        advice = f"promptdsl diff {name} {target} compares it with the working tree"
    raise UsageError(f"there is nothing to compare {name} with: {advice}")


def _ids_by_side(arguments: argparse.Namespace) -> list[tuple[bool, str | None]]:
    """Return for each side whether it has records, and the id of its record.

    Raises :class:`UsageError` if the number of ids is not that of the sides with records.
    """
    side_names = [arguments.sides[0], arguments.sides[-1]]
    with_records = [has_records(name) for name in side_names]
    ids: list[str] = [*arguments.ids]
    if len(arguments.sides) == 2:
        # A list of one record needs no id. A missing id is that of the first side.
        ids = [*[""] * (sum(with_records) - len(ids)), *ids]
    if len(ids) != sum(with_records):
        names = " and ".join(dict.fromkeys(arguments.sides))
        raise UsageError(f"{names}: name two records: --id A --id B")
    unused_ids = iter(ids)
    pairs: list[tuple[bool, str | None]] = []
    for has_record in with_records:
        id = next(unused_ids) if has_record else ""
        pairs.append((has_record, id or None))
    return pairs


def _formatted_report(
    report: DiffReport, arguments: argparse.Namespace
) -> tuple[str, list[str], int]:
    """Return a report in the format of ``--format``, its problems, and its exit code."""
    match arguments.format:
        case "text":
            report_text = visible(relative_paths(report.text))
            if arguments.output is None and is_colourful():
                report_text = coloured_diff(report_text)
        case "json":
            report_text = as_json(report.to_dict())
        case "markdown":
            report_text = report.markdown
        case _:
            report_text = report.html
    problems = [prompt.problem for prompt in report.prompts if prompt.status == "unreadable"]
    code = DIFFERENT if report else 0
    if problems:
        code = UsageError.code
    return report_text, problems, code


def _props(arguments: argparse.Namespace, option: str) -> Arguments:
    """Return the arguments of a prompt; ``option`` is ``before`` or ``after``."""
    props = read_arguments(arguments.pairs, arguments.props)
    return props | read_arguments(getattr(arguments, option), None, option=f"--{option}")


def _cache_diff(
    before: Side, after: Side, *, as_data: bool, notes: list[str]
) -> tuple[str, list[str], int]:
    """Return how many tokens of a request a prompt cache can serve, as text or as JSON."""
    assert isinstance(before, Rendered)
    assert isinstance(after, Rendered)
    report = promptdsl.prefix_report(before, after)
    code = DIFFERENT if report.first else 0
    if not as_data:
        return visible(relative_paths(str(report))), notes, code
    names = ("shared", "served", "before", "after", "behind", "cost", "label", "extends")
    dropped = fields(report, "dropped", "pays_from")
    data = {**fields(report, *names), **dropped, "first": report.first and as_row(report.first)}
    return as_json(data), notes, code
