"""What a reader chose on the page: a prompt, a budget, a model, and payloads."""

from collections.abc import Sequence
from typing import cast

import attrs

LONGEST = 500
"""The characters of a name."""
MOST = 20
"""The payloads that are shown at once."""
LARGEST = 1_000_000_000
"""The tokens of a budget."""


@attrs.frozen
class Choices:
    """What is shown instead of what the command line says; ``None`` is as the command line says."""

    prompt: str | None = None
    budget: int | None = None
    model: str | None = None
    targets: Sequence[str] = ()

    @classmethod
    def from_data(cls, data: object) -> "Choices":
        """Return the choices in JSON data. Raises :class:`ValueError` for anything else."""
        if not isinstance(data, dict) or {*cast("dict[str, object]", data)} != {*_NAMES}:
            raise ValueError(f"an object with {', '.join(_NAMES)} is needed")
        prompt, budget, model, targets = (cast("dict[str, object]", data)[name] for name in _NAMES)
        if not isinstance(targets, list) or len(cast("list[object]", targets)) > MOST:
            raise ValueError("targets is no list of names")
        names: list[object] = [*cast("list[object]", targets)]
        if budget is not None and (type(budget) is not int or not 1 <= budget <= LARGEST):
            raise ValueError("budget is no number of tokens")
        if not all(_is_name(name) for name in names):
            raise ValueError("targets has no names")
        if not all(name is None or _is_name(name) for name in (prompt, model)):
            raise ValueError("prompt or model is no name")
        return cls(
            cast("str | None", prompt),
            budget,
            cast("str | None", model),
            tuple(cast("list[str]", names)),
        )


_NAMES = ("prompt", "budget", "model", "targets")


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST
