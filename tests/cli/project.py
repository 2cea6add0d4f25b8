"""The project of a library, as ``promptdsl new library`` begins it, installed without pip."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from promptdsl.cli import main

METADATA = "Metadata-Version: 2.1\nName: promptdsl-{name}\nVersion: 0.1.0\n"
ENTRY_POINTS = "[promptdsl.sections]\n{name} = promptdsl_{name}.library:{name}\n"


@contextmanager
def installed_project(name: str, folder: Path) -> Generator[Path]:
    """Give the folder of a new library that is found while the block is open, and no other."""
    assert 0 == main(["new", "library", name, "--folder", str(folder)])
    info = folder / f"promptdsl_{name}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(name=name), "utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS.format(name=name), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PROMPTDSL_LIBRARIES", name)
        yield folder
    for module in [module for module in sys.modules if module.startswith(f"promptdsl_{name}")]:
        del sys.modules[module]
