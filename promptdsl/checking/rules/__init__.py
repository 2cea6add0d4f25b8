"""The rules: a file for each, of its id; this is the list of them."""

from importlib import import_module

from promptdsl.checking.finding import CheckRule

UNUSED, BROKEN = "PD001", "PD002"
"""The rules about comments that ignore, and about errors: the checker finds these by itself."""
_IDS = (
    *(UNUSED, BROKEN, "PD101", "PD102", "PD103", "PD104"),
    *(f"PD2{number:02}" for number in range(1, 11)),
)
RULES: dict[str, CheckRule] = {id: import_module(f"{__name__}.{id.lower()}").RULE for id in _IDS}
"""All rules by their ids."""
