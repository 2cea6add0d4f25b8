"""The table of servers on their page: python -m tests.wire.servers_page writes it."""

from collections.abc import Iterator
from pathlib import Path

from promptdsl import ModelFacts
from tests.internals import Server, facts_for, servers

PAGE = Path(__file__).parents[2] / "docs" / "providers" / "servers.md"
BEGIN, END = "<!-- made from servers.toml -->\n", "<!-- end -->\n"
HEAD = """\
| `provider=` | interface | reasoning that goes back | later instruction | `Output` | takes | also |
|---|---|---|---|---|---|---|
"""
INTERFACES = {"openai_compatible": "Chat", "openai_responses": "Responses"}
WHEN = {"always": "", "turn": ", since the last user's turn"}


def table() -> str:
    """Return the table of the servers that come with promptdsl, a line for each."""
    # Those of users have no source.
    rows = (row(server) for server in servers() if "source" in server.facts)
    return HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def row(server: Server) -> tuple[str, ...]:
    """Return the cells of a server."""
    facts = facts_for(None, server.name)
    return (
        f"`{server.name}`",
        f"{INTERFACES[server.adapter]}, {server.host}".removesuffix(", "),
        reasoning(facts),
        "as a system message" if facts.later_system else "in a fence, in a user's turn",
        "yes" if facts.schema_output else "no",
        ", ".join(["text", *facts.media]),
        "; ".join(also(facts, len(server.families))),
    )


def reasoning(facts: ModelFacts) -> str:
    """Return which reasoning goes back, and under which keys."""
    keys = [facts.reasoning_key] if facts.reasoning_key else []
    key_names = ", ".join(f"`{key}`" for key in [*keys, *facts.kept_keys])
    if facts.reasoning_back == "never":
        return key_names or "none"
    return (key_names or "its items") + WHEN[facts.reasoning_back]


def also(facts: ModelFacts, families: int) -> Iterator[str]:
    """Yield what is special of a server."""
    if facts.missing_reasoning is not None:
        yield f"calls of another model get {facts.missing_reasoning!r} as reasoning"
    if facts.signatures:
        yield "calls of another model get a substitute for their signature"
    if facts.exact_id:
        yield f"ids of {facts.exact_id} letters and digits"
    if not facts.several_systems:
        yield "leading instructions are one message"
    if not facts.user_after_results:
        yield "an answer `.` is put between a result and a user's turn"
    if facts.result_names:
        yield "results carry the name of their tool"
    if facts.thinking_tags:
        yield f"reasoning between `{facts.thinking_tags[0]}` tags is read"
    if "user" not in facts.list_roles:
        yield "contents are texts, never lists"
    if facts.file_addresses:
        yield "documents by address"
    if not facts.forced_tools:
        yield "no tool can be forced"
    if not facts.strict_tools:
        yield "`strict` is left out of tools"
    if families:
        yield "more by model"


def page(text: str) -> str:
    """Return the text of the page with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
