"""A linter of composed prompts: rules that look at files of Python, templates and renders."""

from promptdsl.checking.checker import Checker, CheckReport
from promptdsl.checking.finding import CheckRule, Finding
from promptdsl.checking.rules import RULES
from promptdsl.checking.settings import CheckSettings

__all__ = ["RULES", "CheckReport", "CheckRule", "CheckSettings", "Checker", "Finding"]
