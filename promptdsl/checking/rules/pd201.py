"""A model chooses a tool by its description. Where strict is asked for, a schema that allows other
keys is sent without it, and the answer may have any form.
"""

from promptdsl.checking.finding import CheckRule

RULE = CheckRule(
    name="tool without description, or schema that is not strict",
    source="OpenAI, Function calling; Anthropic, How to implement tool use (2026).",
    wrong="""\
def lookup(order: str) -> str: ...

prompt = Timeline(Tool(lookup), User("Where is my order?"))
""",
    right="""\
def lookup(order: str) -> str:
    '''Return where an order is.'''

prompt = Timeline(Tool(lookup), User("Where is my order?"))
""",
    hints=("undescribed_tool", "strict_schema"),
)
