"""A comment that ignores a rule, where nothing is found."""

from promptdsl.checking.finding import CheckRule

RULE = CheckRule(
    id="PD001",
    name="unused ignore",
    why="A comment that ignores a finding outlives it, and then hides the next one.",
    source="The rule RUF100 of ruff (2023).",
    wrong='System("Be brief.")  # promptdsl: ignore[PD101]\n',
    right='System("Be brief.")\n',
)
