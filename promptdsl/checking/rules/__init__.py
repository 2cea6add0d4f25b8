"""The rules: a file for each, of its id; this is the list of them."""

from importlib import import_module
from typing import Any

import attrs

from promptdsl.checking.finding import CheckRule

UNUSED, BROKEN, LOST = "PD001", "PD002", "PD105"
"""The rules about comments that ignore, and about errors: the checker finds these by itself. That
about text that is written nowhere, which may leave a block empty."""
_NUMBERS = (1, 2, *range(101, 106), *range(201, 211))


def _rule(id: str) -> CheckRule:
    """Return the rule of a file, with its id, its docstring and the functions that look."""
    module = import_module(f"{__name__}.{id.lower()}")
    looks: dict[str, Any]  # Any: a function of another type for each
    looks = {it: getattr(module, it, None) for it in ("in_source", "in_template", "in_prompt")}
    rule: CheckRule = module.RULE
    return attrs.evolve(rule, id=id, why=module.__doc__ or "", **looks)


RULES: dict[str, CheckRule] = {it: _rule(it) for it in (f"PD{it:03}" for it in _NUMBERS)}
"""All rules by their ids."""
