"""A linter of prompts: rules that check Python files, templates and rendered prompts.

``checker`` runs the rules, each of which is a file in ``rules``; ``python_file`` and
``checked_prompt`` hold what they read.
"""

from promptdsl.checking.checker import Checker, CheckReport, CheckSettings
from promptdsl.checking.finding import CheckRule, Finding
from promptdsl.checking.rules import RULES

__all__ = ["RULES", "CheckReport", "CheckRule", "CheckSettings", "Checker", "Finding"]
