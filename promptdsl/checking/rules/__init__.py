"""The list of all rules. ``code.py`` has those about files, ``prompts.py`` those about prompts."""

from promptdsl.checking.finding import CheckRule
from promptdsl.checking.rules.code import PD001, PD101, PD102, PD103, PD104
from promptdsl.checking.rules.lost_text import PD105
from promptdsl.checking.rules.prompts import (
    PD002,
    PD201,
    PD202,
    PD203,
    PD204,
    PD205,
    PD206,
    PD207,
    PD208,
    PD209,
    PD210,
)

UNUSED, BROKEN, LOST = "PD001", "PD002", "PD105"
"""The ids that the checker itself uses. It reports unused ignore comments, and prompts that cannot
be rendered. ``LOST`` is text that is not written, which may leave a block empty."""

RULES: dict[str, CheckRule] = {
    rule.id: rule
    for rule in (
        PD001,
        PD002,
        PD101,
        PD102,
        PD103,
        PD104,
        PD105,
        PD201,
        PD202,
        PD203,
        PD204,
        PD205,
        PD206,
        PD207,
        PD208,
        PD209,
        PD210,
    )
}
"""All rules by their ids."""
