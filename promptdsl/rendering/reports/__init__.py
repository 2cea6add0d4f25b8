"""Reports on a request: its tokens, its views, its record, and what it shares with another one.

Read ``report_input.py`` first: it has the input of all reports. Then read ``cards.py``: all views
of a render or a record show its ``RequestView``.
"""

from promptdsl.rendering.reports.prefix_report import Difference as Difference
from promptdsl.rendering.reports.prefix_report import PrefixReport as PrefixReport
from promptdsl.rendering.reports.prefix_report import compared as compared
from promptdsl.rendering.reports.report_input import ReportInput as ReportInput
from promptdsl.rendering.reports.token_parts import TokenPart as TokenPart
from promptdsl.rendering.reports.token_view import TokenReport as TokenReport
