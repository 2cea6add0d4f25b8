"""The tables of ``models.toml``: providers and their facts, models, families, token encodings."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def tables() -> Mapping[str, Any]:  # Any: the tables of a TOML file
    """Return all tables of the file."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "models.toml"), "rb") as file:
        return tomllib.load(file)
