"""The list of all rules; each rule is a file with its id as the name."""

from importlib import import_module
from typing import Any

import attrs

from promptdsl.checking.finding import CheckRule

UNUSED, BROKEN, LOST = "PD001", "PD002", "PD105"
"""The ids that the checker itself uses. It reports unused ignore comments, and prompts that cannot
be rendered. ``LOST`` is text that is not written, which may leave a block empty."""
_NUMBERS = (1, 2, *range(101, 106), *range(201, 211))


def _rule(id: str) -> CheckRule:
    """Return the rule of a file, with its id, its docstring and its functions."""
    module = import_module(f"{__name__}.{id.lower()}")
    looks: dict[str, Any]  # Any: a function of another type for each
    looks = {
        name: getattr(module, name, None) for name in ("in_source", "in_template", "in_prompt")
    }
    rule: CheckRule = module.RULE
    return attrs.evolve(rule, id=id, why=module.__doc__ or "", **looks)


RULES: dict[str, CheckRule] = {id: _rule(id) for id in (f"PD{number:03}" for number in _NUMBERS)}
"""All rules by their ids."""
