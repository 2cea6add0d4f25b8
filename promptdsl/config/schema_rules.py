"""What targets do with the words of a JSON schema, from ``schema_rules.toml``."""

import os
import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Literal, TypeAlias

import attrs

from promptdsl.foundation.frozen import EMPTY

Treatment: TypeAlias = Literal["sent", "described", "any_of", "enum", "open"]
"""What happens to a word; the data file explains each."""
RULE_NAMES = (
    *("claude_tools", "claude_strict", "bedrock_claude_strict", "bedrock_strict", "nova_tools"),
    *("openai_tools", "openai_strict", "servers_strict", "gemini_all"),
)
"""The names of all rules: the file is read when one is needed."""
OTHERS = "*"
"""The word that stands for all others."""


@attrs.frozen(eq=False)
class WordRow:
    """What happens to a word, but for some values; ``source`` says who found it out."""

    treatment: Treatment
    sent_values: tuple[object, ...] = ()
    look_around: bool = False
    references: bool = False
    source: str = ""


@attrs.frozen(eq=False, slots=False)
class SchemaRules:
    """The rules of a target for any tool, or for what is held to its schema."""

    name: str
    title: str
    words: Mapping[str, WordRow]
    """The row of each word, at the root too where ``root`` has none."""
    root: Mapping[str, WordRow] = EMPTY
    closes: bool = False
    """Whether each object is sent as one that takes no other properties."""
    inlines: bool = False
    """Whether definitions stand in the place of the references to them."""
    recursion: bool = True
    """Whether a definition may be inside itself."""
    pointers: bool = True
    """Whether a reference may lead to another part than a definition."""
    limits: Mapping[str, int] = EMPTY
    """The most levels (``nesting``), ``properties``, ``optional`` properties and ``unions``.

    The last two are for all strict schemas of a request together, as ``tools`` is: strict ones."""
    only_strict: bool = False
    """Whether the target holds each answer to its schema, and refuses one that it cannot."""
    source: str = ""

    def may_change(self, text: str) -> bool:
        """Return whether a schema in a JSON text may change, but for the words of its root."""
        if self._mark is None:
            return True
        return bool(self.words) and self._mark.search(text) is not None

    @cached_property
    def _mark(self) -> re.Pattern[str] | None:
        """A word that is not sent as it is, as a key; ``None`` where any schema may change."""
        if OTHERS in {*self.words, *self.root} or self.closes or self.inlines or self.limits:
            return None
        words = "|".join(map(re.escape, sorted(self.words)))
        return re.compile(rf'"(?:{words})"\s*:')


_LIMITS = ("nesting", "properties", "optional", "unions", "tools")


@cache
def all_rules() -> Mapping[str, SchemaRules]:
    """Return all rules by name."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "schema_rules.toml"), "rb") as file:
        tables = tomllib.load(file)
    return {name: _rules(name, table, tables) for name, table in tables.items()}


def rules_of(name: str | None) -> SchemaRules | None:
    """Return the rules of a name; ``None`` without a name: all words are sent."""
    return None if name is None else all_rules()[name]


def _rules(name: str, table: Mapping[str, Any], tables: Mapping[str, Any]) -> SchemaRules:
    """Return the rules of a table, behind those of its base: later rows count."""
    base = tables.get(table.get("base", ""), {})
    whole: dict[str, Any] = {**base, **table}
    rows: list[dict[str, Any]] = [*base.get("rows", ()), *table.get("rows", ())]
    words: dict[str, WordRow] = {}
    root: dict[str, WordRow] = {}
    for row in rows:
        values = tuple(row.get("sent_values", ()))
        patterns = (row.get("look_around", False), row.get("references", False))
        made = WordRow(row["is"], values, *patterns, row["source"])
        (root if row.get("at_root") else words).update(dict.fromkeys(row["words"], made))
    return SchemaRules(
        name,
        whole["title"],
        words,
        root,
        closes=whole.get("closes", False),
        inlines=whole.get("inlines", False),
        recursion=whole.get("recursion", True),
        pointers=whole.get("pointers", True),
        limits={key: whole[key] for key in _LIMITS if key in whole},
        only_strict=whole.get("only_strict", False),
        source=whole.get("source", ""),
    )
