"""A comment that ignores a finding often stays after the mistake is mended. Then it hides the next
mistake. The rule reports comments in checked files that name PD101 or PD102, or that name no rule.
"""

from promptdsl.checking.finding import CheckRule

RULE = CheckRule(
    name="unused ignore",
    source="The rule RUF100 of ruff (2023).",
    wrong='System("Be brief.")  # promptdsl: ignore[PD101]\n',
    right='System("Be brief.")\n',
)
