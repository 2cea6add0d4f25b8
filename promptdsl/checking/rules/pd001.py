"""A comment that ignores a finding outlives it, and then hides the next one. Judged are comments of
files that were looked at: those with PD101 or PD102, and those that name no rule.
"""

from promptdsl.checking.finding import CheckRule

RULE = CheckRule(
    name="unused ignore",
    source="The rule RUF100 of ruff (2023).",
    wrong='System("Be brief.")  # promptdsl: ignore[PD101]\n',
    right='System("Be brief.")\n',
)
