"""What a render came to, as reports need it: its tree, its messages and its payload."""

import os
from collections.abc import Mapping
from typing import Any

import attrs

from promptdsl.config import Resolved
from promptdsl.fitting.dropping import Dropped
from promptdsl.lower import lower
from promptdsl.messages import Message
from promptdsl.models import ModelFacts
from promptdsl.nodes import Root
from promptdsl.pipeline import FORMATS
from promptdsl.prompts import Prompt
from promptdsl.reports.writing import Writing
from promptdsl.tokens import Tokens


@attrs.frozen(eq=False)
class Outcome:
    """What a render came to.

    ``tree`` is the tree after all passes, ``messages`` what it was lowered to. ``sent`` is the
    prompt with the marks that were placed, ``payload`` what a provider gets of it, ``None`` where
    there is no target.
    """

    tree: Root
    messages: tuple[Message, ...]
    sent: Prompt
    payload: Mapping[str, Any] | None
    dropped: tuple[Dropped, ...]
    config: Resolved
    facts: ModelFacts
    tokens: Tokens
    roots: tuple[str | os.PathLike[str], ...]

    def written(self) -> Writing:
        """Return what became of every node, which is found by lowering the tree once more."""
        writing = Writing()
        lower(self.tree, forms=FORMATS, config=self.config, roots=self.roots, trace=writing)
        return writing


def on_one_line(text: str) -> str:
    """Return text whose line ends, control characters and the like are escapes that can be seen."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in text)
