"""A model chooses a tool by its description. Where strict is asked for, a schema that allows other
keys is sent without it, and the answer may have any form.
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
