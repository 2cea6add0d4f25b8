"""Reports: how many tokens the parts of a request are, and how much of it another one shares."""

from promptdsl.reports.comparing import PrefixReport, compared
from promptdsl.reports.counting import TokenReport
from promptdsl.reports.differences import Difference
from promptdsl.reports.outcome import Outcome
from promptdsl.reports.parts import TokenPart

__all__ = [
    "Difference",
    "Outcome",
    "PrefixReport",
    "TokenPart",
    "TokenReport",
    "compared",
]
