"""The settings of ``[tool.promptdsl.check]``: which rules run, and on which files."""

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import attrs

from promptdsl import ConfigError
from promptdsl.checking.rules import RULES
from promptdsl.foundation.errors import nearest
from promptdsl.foundation.frozen import is_list, is_mapping

HINTS = "hints"
"""The name that selects all hints of a render; without it they are no findings."""


@attrs.frozen
class CheckSettings:
    """Which rules run, and on which files; all names are those of ``[tool.promptdsl.check]``.

    ``select`` and ``ignore`` are ids of rules, or the beginning of ids: ``PD1``. ``exclude``
    are names of files and folders to leave out. ``targets`` and ``models`` are used if a call has
    none.

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
        for prefix in (*self.select, *self.ignore):
            if not prefix or not any(id.startswith(prefix) for id in ids):
                raise ConfigError(f"there is no rule {prefix!r}", fix=nearest(prefix, ids))

    def selects(self, rule: str) -> bool:
        """Return whether a rule runs."""
        return rule.startswith(self.select) and not rule.startswith(self.ignore or ("-",))

    def changed(self, *, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Self:
        """Return settings with other selected rules, and with more ignored ones."""
        select, ignore = tuple(select) or self.select, (*self.ignore, *ignore)
        return attrs.evolve(self, select=select, ignore=ignore)

    @classmethod
    def near(cls, folder: str = ".") -> Self:
        """Return the settings of the nearest ``pyproject.toml`` in a folder or above it.

        Raises :class:`ConfigError` if the file cannot be read, or a setting is wrong.
        """
        above = [Path(folder).resolve(), *Path(folder).resolve().parents]
        path = next(
            (file for parent in above if (file := parent / "pyproject.toml").is_file()), None
        )
        try:
            toml: Any = tomllib.loads(path.read_text("utf-8")) if path else {}  # Any: TOML
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read: {error}", fix="correct it") from None
        for key in ("tool", "promptdsl", "check"):
            toml = toml.get(key, {}) if is_mapping(toml) else None
        if not is_mapping(toml):
            problem = f"{path}: [tool.promptdsl.check] is not a table"
            raise ConfigError(problem, fix='write its settings below it: select = ["PD"]')
        table: dict[str, Any] = {**toml}
        known = [field.name for field in attrs.fields(cls)]
        for key, value in table.items():
            if key not in known:
                problem = f"{path}: [tool.promptdsl.check] has no {key!r}"
                raise ConfigError(problem, fix=nearest(key, known))
            if not (is_list(value) and all(isinstance(text, str) for text in value)):
                problem = f"{path}: {key} in [tool.promptdsl.check] is not a list of strings"
                raise ConfigError(problem, fix=f'write {key} = ["..."]')
        settings = cls(**{key: tuple(value) for key, value in table.items()})
        root = os.path.relpath(path.parent, folder) if settings.targets and path else "."
        targets = (
            os.path.normpath(os.path.join(root, target)) if ".py:" in target else target
            for target in settings.targets
        )
        return attrs.evolve(settings, targets=tuple(targets))
