"""Reports on the tokens of a request, and on the beginning that two requests share."""

from promptdsl.rendering.reports.first_difference import Difference
from promptdsl.rendering.reports.outcome import Outcome
from promptdsl.rendering.reports.prefix_report import PrefixReport, compared
from promptdsl.rendering.reports.token_parts import TokenPart
from promptdsl.rendering.reports.token_report import TokenReport

__all__ = ["Difference", "Outcome", "PrefixReport", "TokenPart", "TokenReport", "compared"]
