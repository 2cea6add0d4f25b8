"""The list of all rules.

``code.py`` and ``lost_text.py`` have the rules about files, ``prompts.py`` those about prompts.
"""

from promptdsl.checking.finding import CheckRule
from promptdsl.checking.rules import code, prompts
from promptdsl.checking.rules.lost_text import PD105

UNUSED, BROKEN, LOST = "PD001", "PD002", "PD105"
"""The ids of rules that the checker itself uses.

It reports unused ignore comments, and prompts that cannot be rendered. ``LOST`` is text that is not
written: it may leave a block empty.
"""

RULES: dict[str, CheckRule] = {
    rule.id: rule
    for rule in (
        code.PD001,
        prompts.PD002,
        code.PD101,
        code.PD102,
        code.PD103,
        code.PD104,
        PD105,
        prompts.PD201,
        prompts.PD202,
        prompts.PD203,
        prompts.PD204,
        prompts.PD205,
        prompts.PD206,
        prompts.PD207,
        prompts.PD208,
        prompts.PD209,
        prompts.PD210,
    )
}
"""All rules by their ids."""
