"""Other agents, in an environment of their own: their files are loaded without what they need."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / ".venv-agents"


def agent_folder(package: str) -> Path:
    """Return the folder of an installed package; the tests that need it are skipped without one."""
    folders = [*FOLDER.glob(f"lib/python*/site-packages/{package}")]
    if not folders:
        reason = f"needs {package}: make .venv-agents/.test, with a package index"
        pytest.skip(reason, allow_module_level=True)
    return folders[0]
