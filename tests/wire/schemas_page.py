"""The table of schema words on their page: python -m tests.wire.schemas_page writes it."""

from collections.abc import Iterator
from pathlib import Path

from tests.internals import SchemaRules, WordRow, all_rules

PAGE = Path(__file__).parents[2] / "docs" / "providers" / "schemas.md"
BEGIN, END = "<!-- made from schema_rules.toml -->\n", "<!-- end -->\n"
SENT = {"sent": "as it is", "described": "described", "any_of": "as `anyOf`", "enum": "as `enum`"}
LIMITS = {"nesting": "levels of objects", "optional": "optional properties"}
OTHERS = "*"


def cell(row: WordRow) -> str:
    """Return what happens to a word."""
    text = SENT.get(row.treatment, "not strict")
    if row.sent_values:
        text += f", except {', '.join(f'`{value}`' for value in row.sent_values)}"
    if row.look_around:
        text += " if the pattern has look-around"
    if row.references:
        text += " or back references"
    return text


def rows_of(rules: SchemaRules) -> dict[WordRow, list[str]]:
    """Return the words of each row; those for the root alone say so."""
    rows: dict[WordRow, list[str]] = {}
    for words, suffix in ((rules.words, ""), (rules.root, " at the root")):
        for word, row in words.items():
            name = "all others" if word == OTHERS else f"`{word}`"
            rows.setdefault(row, []).append(f"{name}{suffix}")
    return rows


def also(rules: SchemaRules) -> Iterator[str]:
    """Yield what else is done to a schema."""
    if rules.closes:
        yield "each object gets `additionalProperties: false`"
    if rules.inlines:
        yield "each reference is replaced by its definition"
    if not rules.recursion:
        yield "a definition that contains itself is not strict"
    if rules.limits:
        limits = [f"{limit:,} {LIMITS.get(name, name)}" for name, limit in rules.limits.items()]
        yield f"not strict with more than {' or '.join(limits)}"
    if rules.only_strict:
        yield "an output schema that is not strict is sent as text"


def table() -> str:
    """Return the tables of all rules, with their sources."""
    parts: list[str] = []
    for rules in all_rules().values():
        notes = [f"Rules: `{rules.name}`.", *(f"{capital(note)}." for note in also(rules))]
        notes += [f"Source: {rules.source}."] if rules.source else []
        lines = [
            f"| {', '.join(words)} | {cell(row)} | {row.source} |"
            for row, words in rows_of(rules).items()
        ]
        head = ["| words | sent | source |", "|---|---|---|"]
        parts += [f"### {rules.title}", " ".join(notes), "\n".join([*head, *lines])]
    return "\n\n".join(parts) + "\n"


def capital(text: str) -> str:
    """Return a text as a sentence begins."""
    return text[:1].upper() + text[1:]


def page(text: str) -> str:
    """Return the text of the page with the tables as they are now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
