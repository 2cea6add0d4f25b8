"""Tools that a model cannot choose, and schemas that are not strict where that was asked for."""

from promptdsl.checking.finding import CheckRule

RULE = CheckRule(
    id="PD201",
    name="tool without description, or schema that is not strict",
    why=(
        "A model chooses a tool by its description. Where strict is asked for, a schema that "
        "allows other keys is sent without it, and the answer may have any form."
    ),
    source="OpenAI, Function calling; Anthropic, How to implement tool use (2026).",
    wrong=(
        "def lookup(order: str) -> str: ...\n\n"
        'prompt = Timeline(Tool(lookup), User("Where is my order?"))\n'
    ),
    right=(
        'def lookup(order: str) -> str:\n    """Return where an order is."""\n\n'
        'prompt = Timeline(Tool(lookup), User("Where is my order?"))\n'
    ),
    hints=("undescribed_tool", "strict_schema"),
)
