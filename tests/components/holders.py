"""Every component that holds others, by name, for the tests that go through all of them."""

from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *

CONTAINERS: dict[str, Callable[..., Any]] = {
    "Timeline": Timeline,
    "System": System,
    "Developer": Developer,
    "User": User,
    "Assistant": Assistant,
    "ToolMessage": lambda *content: ToolMessage("1", *content),
    "Tool": lambda *content: Turn("tool", *content),
    "Event": Event,
    "Ephemeral": Ephemeral,
    "Grounding": lambda *content: Grounding("g", *content),
    "Section": lambda *content: Section("s", *content),
    "Fragment": Fragment,
    "Note": Note,
    "ToolResult": lambda *content: ToolResult("1", *content),
}

every_holder = pytest.mark.parametrize("holder", CONTAINERS)
