"""A model chooses a tool by its description. If strict is demanded, a schema that allows other keys
is sent without strict, and the answer may break the schema.
"""

from promptdsl.checking.finding import CheckRule

RULE = CheckRule(
    name="tool without description, or schema that is not strict",
    source="OpenAI, Function calling; Anthropic, How to implement tool use (2026).",
    wrong='prompt = Timeline(Tool(lambda: "12:03", name="now"), User("Hi."))\n',
    right="""\
def now() -> str:
    '''Return the time.'''

prompt = Timeline(Tool(now), User("What time is it?"))
""",
    hints=("undescribed_tool", "strict_schema"),
)
