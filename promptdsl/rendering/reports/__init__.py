"""Reports on the tokens of a request, and on the beginning that two requests share.

Read ``report_input.py`` first: it is the input of all reports; then ``cards.py``: its
``RequestView`` is what the views of a render and of a record show.
"""

from promptdsl.rendering.reports.prefix_report import Difference as Difference
from promptdsl.rendering.reports.prefix_report import PrefixReport as PrefixReport
from promptdsl.rendering.reports.prefix_report import compared as compared
from promptdsl.rendering.reports.report_input import ReportInput as ReportInput
from promptdsl.rendering.reports.token_parts import TokenPart as TokenPart
from promptdsl.rendering.reports.token_view import TokenReport as TokenReport
