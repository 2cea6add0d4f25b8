"""Findings in good prompts: none may be there."""

from collections.abc import Iterable

from promptdsl import Rendered
from promptdsl.checking import Checker, CheckSettings, Finding

SHORT = ("PD209",)
"""Rules that a short example cannot obey: its system text is below the least of a cache."""


def findings_in(results: Iterable[Rendered], *, ignore: Iterable[str] = SHORT) -> list[Finding]:
    """Return what a linter finds in the results of renders."""
    checker = Checker(CheckSettings().changed(ignore=ignore))
    for result in results:
        checker.prompt(result)
    return [*checker.report().findings]
