"""The command: ``python -m tests.outputs write | compare | show``; see ``__init__.py``."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any

from promptdsl import Rendered
from tests.outputs import registry
from tests.outputs.cases import GROUPS, Case, case, random_prompts
from tests.outputs.prompts import prompt_code
from tests.outputs.results import CRASH, digests, outputs_of

SHARE = 100
"""One prompt of so many takes each row of the table: 50 of 5,000."""
SHOWN = 10
"""So many prompts that differ are listed."""
FILES = (
    *sorted(Path(__file__).parent.glob("*.py")),
    *sorted(Path(__file__).parent.glob("files/*")),
)
"""What the prompts are made of: with other files they are others."""


class OutputFile:
    """The outputs of cases: the digest of each, the texts that are kept, and the table."""

    def __init__(self, cases: Iterable[Case], keep: Iterable[str] = ()) -> None:
        self.digests: dict[str, dict[str, str]] = {}
        self.kept: dict[str, dict[str, str]] = {}
        self.table: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.crashes: list[str] = []
        for it in cases:
            outputs, rendered = outputs_of(it.make)
            self.digests[it.name] = digests(outputs)
            if it.name in keep:
                self.kept[it.name] = dict(outputs)
            crashes = [text for text in outputs.values() if text.startswith(CRASH)]
            self.crashes += [f"{it.name}: {text}" for text in crashes]
            if rendered is None:
                self.errors[outputs["error"].partition(":")[0]] += 1
            elif it.rows:
                self.table.update(it.rows | _rows(rendered))

    def data(self) -> dict[str, Any]:
        """Return what is kept in a file."""
        generator = sha256(b"".join(file.read_bytes() for file in FILES)).hexdigest()[:16]
        return {"generator": generator, "cases": self.digests, "kept": self.kept}

    def rare(self, least: int) -> list[str]:
        """Return the rows of the table that too few prompts take; only what renders counts."""
        rows = sorted(registry.rows() | {*self.table})
        return [row for row in rows if self.table[row] < least]


def _rows(rendered: Rendered) -> set[str]:
    """Return the rows that the result of a render takes."""
    kinds = {f"kind {it.kind}" for it in rendered.messages}
    return kinds | {f"span {it.kind}" for it in rendered.spans()}


def write(options: Namespace) -> int:
    """Write the outputs of prompts to a file and print the table; 1 for what no prompt tries."""
    unknown = registry.unknown()
    if unknown:
        print("\n".join(["the package has what no prompt is drawn with:", *unknown]))
        return 1
    written = OutputFile(_cases(options), options.keep)
    options.file.write_text(json.dumps(written.data(), indent=0), "utf-8")
    for row, count in sorted(written.table.items()):
        print(f"{count:6,}  {row}")
    print(f"{len(written.digests):,} prompts, of which some are errors: {dict(written.errors)}")
    print("".join(f"{crash}\n" for crash in written.crashes), end="")
    rare = written.rare(options.count // SHARE) if "random" in options.group else []
    print("".join(f"too few: {written.table[row]} {row}\n" for row in rare), end="")
    return int(bool(rare))


def _cases(options: Namespace) -> Iterator[Case]:
    for group in options.group:
        if group == "random":
            yield from random_prompts(options.count, options.seed)
        else:
            yield from GROUPS[group]()


def compare(options: Namespace) -> int:
    """Print how two files differ; 1 if they do."""
    before, after = (json.loads(it.read_text("utf-8")) for it in (options.before, options.after))
    lines = [*differences(before, after)]
    print("\n".join(lines or [f"{len(after['cases']):,} prompts are equal"]))
    return int(bool(lines))


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield how two files differ: what is in one alone, and which outputs of which prompts."""
    if before["generator"] != after["generator"]:
        yield "the prompts were drawn in two ways: use the same tests/outputs in both checkouts"
    names = [*dict.fromkeys([*before["cases"], *after["cases"]])]
    changed = {
        name: _changed(before["cases"].get(name), after["cases"].get(name)) for name in names
    }
    changed = {name: outputs for name, outputs in changed.items() if outputs}
    if changed:
        outputs = Counter(output for each in changed.values() for output in each)
        yield f"{len(changed):,} of {len(names):,} prompts differ: {dict(outputs)}"
    for name in [*changed][:SHOWN]:
        yield f"{name}: {', '.join(changed[name])}"
        yield f'    python -m tests.outputs show "{name}"'
        sides = before["kept"].get(name), after["kept"].get(name)
        if all(sides):
            yield from _diff(*sides)


def _changed(before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> list[str]:
    if before is None or after is None:
        return ["in one file alone"]
    outputs = dict.fromkeys([*before, *after])
    return [output for output in outputs if before.get(output) != after.get(output)]


def _diff(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for output in dict.fromkeys([*before, *after]):
        old, new = (side.get(output, "").split("\n") for side in (before, after))
        yield from unified_diff(old, new, f"before: {output}", f"after: {output}", lineterm="", n=1)


def show(options: Namespace) -> int:
    """Print the code of a prompt, and its outputs."""
    if options.name.startswith("prompt "):
        number = int(options.name.removeprefix("prompt "))
        print(prompt_code(number, options.seed)[0])
    outputs, _ = outputs_of(case(options.name, options.seed).make)
    for name, text in outputs.items():
        print(f"===== {name}\n{text.encode('ascii', 'backslashreplace').decode()}")
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser("tests.outputs")
    commands = parser.add_subparsers(required=True)
    writing = commands.add_parser("write", help="write the outputs of prompts to a file")
    writing.add_argument("file", type=Path)
    writing.add_argument(
        "group", nargs="*", default=["random", *GROUPS], help="random, examples..."
    )
    writing.add_argument("--count", type=int, default=5000, help="so many random prompts")
    writing.add_argument("--keep", action="append", default=[], help="keep the outputs of this one")
    writing.set_defaults(run=write)
    comparing = commands.add_parser("compare", help="tell how two files differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.set_defaults(run=compare)
    showing = commands.add_parser("show", help="print a prompt and its outputs")
    showing.add_argument("name")
    showing.set_defaults(run=show)
    for command in (writing, showing):
        command.add_argument("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    options = _parser().parse_args()
    if not Path("docs").is_dir():
        sys.exit("run it in the root of a checkout")
    sys.exit(options.run(options))
