"""Packages with libraries, as they are after an installation: in a folder on the path."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.internals import LOADED_LIBRARIES

SUPPORT = """
from promptdsl import Library, Section, component

@component
def tone(name: str, level: int = 3):
    '''How we speak.

    In three levels.'''
    return Section("tone", f"You are {name}, at {level}.")

@component
def card(title: str):
    with Section("card", title=title):
        yield

library = Library("surgery", sections=[tone, card])
"""

REFUNDS = """---
title: Refunds
description: How money is given back.
inputs:
  region: one of EU, US  # where the customer lives
  days: int = 30
  tags: list[str] = []
---
Refunds in {{ region }} within {{ days }} days.{% for tag in tags %} {{ tag }}.{% endfor %}
"""


def package(
    folder: Path,
    name: str,
    code: str,
    *,
    points: str | None = None,
    version: str = "1.0",
    templates: dict[str, str] | None = None,
) -> None:
    """Put a package into a folder, as an installer does; its library is called ``name``."""
    module = f"acme_{name}".replace("-", "_")
    root = folder / module
    root.mkdir(parents=True)
    (root / "__init__.py").write_text(code, "utf-8")
    for file, text in (templates or {}).items():
        path = root / "templates" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: acme-{name}\nVersion: {version}\n"
    )
    declared = f"{name} = {module}:library" if points is None else points
    (info / "entry_points.txt").write_text(f"[promptdsl.sections]\n{declared}\n")
    (info / "RECORD").write_text("")


@contextmanager
def installed(folder: Path) -> Iterator[Path]:
    """Let the packages in a folder be installed for a while, and be forgotten after it."""
    modules, loaded = {*sys.modules}, dict(LOADED_LIBRARIES)
    LOADED_LIBRARIES.clear()
    sys.path.insert(0, str(folder))
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        for module in {*sys.modules} - modules:
            if module.startswith("acme_"):
                del sys.modules[module]
        LOADED_LIBRARIES.clear()
        LOADED_LIBRARIES.update(loaded)
