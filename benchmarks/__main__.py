"""Measure, and print the tables: ``python -m benchmarks [NAME ...]``.

Every benchmark is a module with ``run(only, quick)``, which returns a :class:`Report`.
"""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.entrants import UnknownName
from benchmarks.report import Report

BENCHMARKS = {
    "building": "a prompt, built and rendered",
    "calls": "prompts as applications send them: an event, a page, a template, an agent",
    "steps": "an agent's prompt of 4 and of 40 steps, written again, with parts and messages kept",
    "turns": "kinds of turns, and texts of 6 kB: with accents, HTML, a log",
    "reports": "what is asked of a rendered prompt: losses, tokens, a record, a budget",
    "fitting": "a conversation of 100 to 100,000 messages, fitted to half of its tokens",
    "surviving": "what is wrong with a trimmed conversation",
    "reuse": "how much of a growing conversation's prefix stays, and how full the budget is",
    "agent": "the same for one question and 400 tool calls",
    "long": "400 tool calls with results of very different sizes, cleared and cut",
    "next": "one turn more in a prompt of 10,000 messages",
    "recounting": "texts, counted and counted again",
    "batch": "a prompt over the rows of a table: the command, and loops written by hand",
    "transcripts": "a recorded conversation of 100,000 messages, appended, saved and opened",
    "stores": "a change of a recorded conversation in each kind of store",
    "snapshots": "tests that compare prompts, and what the plug-in of pytest costs others",
}
MODULES = {"long": "benchmarks.long_loop", "next": "benchmarks.next_turn"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; exits with 2 for an unknown name, with 1 for a build that is wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = list(BENCHMARKS) if "all" in options.names else options.names or ["building"]
    print(_machine())
    found: dict[str, Any] = {"machine": _machine()}
    for name in names:
        try:
            report = _run(name, only=options.only, quick=options.quick)
        except UnknownName as unknown:
            parser.error(str(unknown))
        print(f"\n{report.text}")
        found[name] = report.data
    if options.json is not None:
        text = json.dumps(found, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


def _run(name: str, *, only: Sequence[str], quick: bool) -> Report:
    module = import_module(MODULES.get(name, f"benchmarks.{name}"))
    report: Report = module.run(only, quick)
    return report


def _benchmark(name: str) -> str:
    if name not in BENCHMARKS and name != "all":
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(BENCHMARKS)}, all")
    return name


def _machine() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="Measure what a prompt costs. Without a name: building.",
        epilog="\n".join(f"  {name:<12}{what}" for name, what in BENCHMARKS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", type=_benchmark, metavar="NAME", help="what to measure, or all"
    )
    parser.add_argument("--quick", action="store_true", help="few samples, small: is it alive?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="measure this one beside the hand-written function; may be repeated",
    )
    return parser


if __name__ == "__main__":
    main()
