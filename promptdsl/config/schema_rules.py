"""The rules of ``schema_rules.toml``: which keywords of a JSON schema a target takes."""

import os
import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Literal, TypeAlias

import attrs

from promptdsl.foundation.frozen import EMPTY

Treatment: TypeAlias = Literal["sent", "described", "any_of", "enum", "open"]
"""How a keyword of a schema is sent; the data file explains each way."""
RULE_NAMES = (
    *("claude_tools", "claude_strict", "bedrock_claude_strict", "bedrock_strict", "nova_tools"),
    *("openai_tools", "openai_strict", "servers_strict", "gemini_all"),
)
"""The names of all rules. They are listed here, so that the file is read only when needed."""
OTHERS = "*"
"""The row for all other keywords."""


@attrs.frozen(eq=False)
class WordRow:
    """How a keyword is sent; ``sent_values`` are sent unchanged. ``source`` is the evidence."""

    treatment: Treatment
    sent_values: tuple[object, ...] = ()
    look_around: bool = False
    references: bool = False
    source: str = ""


@attrs.frozen(eq=False, slots=False)
class SchemaRules:
    """The rules of a target for all tools, or for strict tools and the output schema."""

    name: str
    title: str
    words: Mapping[str, WordRow]
    """The row of each keyword, also at the root, unless ``root`` has a row for it."""
    root: Mapping[str, WordRow] = EMPTY
    closes: bool = False
    """Whether each object is sent with ``additionalProperties: false``."""
    inlines: bool = False
    """Whether each reference is replaced by its definition."""
    recursion: bool = True
    """Whether a definition may refer to itself."""
    pointers: bool = True
    """Whether a reference may refer to a part that is not a definition."""
    limits: Mapping[str, int] = EMPTY
    """The most ``nesting`` levels, ``properties``, ``optional`` properties, ``unions``, ``tools``.

    The last three are totals of a request: all its strict schemas, and all its strict tools."""
    only_strict: bool = False
    """Whether the target only takes output schemas that it can enforce."""
    source: str = ""

    def may_change(self, text: str) -> bool:
        """Return whether a schema, as JSON text, may change; keywords of its root do not count."""
        if self._changed_keys is None:
            return True
        return bool(self.words) and self._changed_keys.search(text) is not None

    @cached_property
    def _changed_keys(self) -> re.Pattern[str] | None:
        """A pattern for the keywords that may change; ``None`` if any schema may change."""
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


NO_RULES = SchemaRules("", "", EMPTY)
"""The rules of a target that takes all keywords."""


def rules_of(name: str | None) -> SchemaRules:
    """Return the rules with a name; without a name all keywords are sent."""
    return NO_RULES if name is None else all_rules()[name]


def _rules(name: str, table: Mapping[str, Any], tables: Mapping[str, Any]) -> SchemaRules:
    """Return the rules of a table and of its base; rows of the table override those of the base."""
    base = tables.get(table.get("base", ""), {})
    merged: dict[str, Any] = {**base, **table}
    rows: list[dict[str, Any]] = [*base.get("rows", ()), *table.get("rows", ())]
    words: dict[str, WordRow] = {}
    root: dict[str, WordRow] = {}
    for row in rows:
        values = tuple(row.get("sent_values", ()))
        patterns = (row.get("look_around", False), row.get("references", False))
        word_row = WordRow(row["is"], values, *patterns, row["source"])
        rows_by_word = root if row.get("at_root") else words
        rows_by_word.update(dict.fromkeys(row["words"], word_row))
    return SchemaRules(
        name,
        merged["title"],
        words,
        root,
        closes=merged.get("closes", False),
        inlines=merged.get("inlines", False),
        recursion=merged.get("recursion", True),
        pointers=merged.get("pointers", True),
        limits={key: merged[key] for key in _LIMITS if key in merged},
        only_strict=merged.get("only_strict", False),
        source=merged.get("source", ""),
    )
