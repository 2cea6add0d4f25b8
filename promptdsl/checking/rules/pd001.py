"""A comment that ignores a finding outlives it, and then hides the next one."""

from promptdsl.checking.finding import CheckRule

RULE = CheckRule(
    name="unused ignore",
    source="The rule RUF100 of ruff (2023).",
    wrong='System("Be brief.")  # promptdsl: ignore[PD101]\n',
    right='System("Be brief.")\n',
)
