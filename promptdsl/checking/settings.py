"""The settings of ``[tool.promptdsl.check]``: which rules look, and at what."""

import os
import tomllib
from collections.abc import Iterable
from typing import Any, Self

import attrs

from promptdsl import ConfigError
from promptdsl.checking.rules import RULES
from promptdsl.foundation.errors import nearest

HINTS = "hints"
"""The name by which all hints of a render are selected; none is a finding without it."""
_KEYS = ("select", "ignore", "exclude", "targets", "models")


@attrs.frozen
class CheckSettings:
    """Which rules look, and at what; all names are those of ``[tool.promptdsl.check]``.

    ``select`` and ``ignore`` are ids of rules, or the beginning of several: ``PD1``. ``exclude``
    are names of files and folders to pass over. ``targets`` and ``models`` are those of a call
    without any.

    >>> from promptdsl.checking import CheckSettings
    >>> CheckSettings(select=("PD1",)).selects("PD101")
    True
    """

    select: tuple[str, ...] = ("PD",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        ids = [HINTS, *RULES]
        for it in (*self.select, *self.ignore):
            if not it or not any(id.startswith(it) for id in ids):
                raise ConfigError(f"there is no rule {it!r}", fix=nearest(it, ids))

    def selects(self, rule: str) -> bool:
        """Return whether a rule looks."""
        return rule.startswith(self.select) and not rule.startswith(self.ignore or ("-",))

    def changed(self, *, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Self:
        """Return settings with other rules; those that are ignored are added."""
        select, ignore = tuple(select) or self.select, (*self.ignore, *ignore)
        return attrs.evolve(self, select=select, ignore=ignore)

    @classmethod
    def near(cls, folder: str = ".") -> Self:
        """Return the settings of the nearest ``pyproject.toml`` in a folder or above it.

        Raises :class:`ConfigError` for a file that cannot be read and a setting that is wrong.
        """
        folder = os.path.abspath(folder)
        while not os.path.isfile(path := os.path.join(folder, "pyproject.toml")):
            if folder == os.path.dirname(folder):
                return cls()
            folder = os.path.dirname(folder)
        try:
            with open(path, "rb") as file:
                tool: Any = tomllib.load(file).get("tool", {})  # Any: TOML
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read: {error}", fix="correct it") from None
        table = tool.get("promptdsl", {}).get("check", {})
        for key, value in table.items():
            if key not in _KEYS:
                problem = f"{path}: [tool.promptdsl.check] has no {key!r}"
                raise ConfigError(problem, fix=nearest(key, _KEYS))
            if not isinstance(value, list) or not all(isinstance(it, str) for it in value):
                problem = f"{path}: {key} in [tool.promptdsl.check] is no list of texts"
                raise ConfigError(problem, fix=f'write {key} = ["..."]')
        return cls(**{key: tuple(value) for key, value in table.items()})
