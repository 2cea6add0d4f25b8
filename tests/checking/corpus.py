"""Findings in good prompts: there are none."""

from collections.abc import Iterable

from promptdsl import Rendered
from promptdsl.checking import RULES, Checker, CheckSettings
from tests.internals import parsed

SHOWN = ("PD207", "PD209", "PD210")
"""Rules that documentation breaks on purpose: it shows where a late System goes, marks in a text
that is short enough to be read, and what a target does not take."""


def findings_in(results: Iterable[Rendered], code: str = "") -> list[str]:
    """Return what is found in the results of renders, and in the code that made them."""
    checker = Checker(CheckSettings(ignore=SHOWN))
    for result in results:
        checker.prompt(result)
    file = parsed(code)
    looks = {rule.id: rule.in_source for rule in RULES.values() if rule.in_source and file}
    in_code = [
        f"{id}: {message}" for id, look in looks.items() if file for _, message, _ in look(file)
    ]
    return [*in_code, *map(str, checker.report().findings)]
