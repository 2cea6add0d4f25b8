"""A linter of prompts: rules that check Python files, templates and rendered prompts.

Read ``finding`` first: it has the classes of a rule and of a finding. ``checker`` runs the rules,
which are in ``rules``. They read a rendered prompt, or a ``python_file`` with its ``expressions``.
"""

from promptdsl.checking.checker import Checker, CheckReport, CheckSettings
from promptdsl.checking.finding import CheckRule, Finding
from promptdsl.checking.rules import RULES

__all__ = ["RULES", "CheckReport", "CheckRule", "CheckSettings", "Checker", "Finding"]
