"""A prompt that render() refuses is reported as a finding with the text of the error. So one such
prompt does not hide the findings of others. In the example, two sections have the same id.
"""

from promptdsl.checking.finding import CheckRule

# The rule has no function: ``checking/checker.py`` renders each prompt and reports its error.
# So its ``source``, where the rule comes from, is this library and no publication.
RULE = CheckRule(
    name="prompt that cannot be rendered",
    source="The exceptions that render() raises (2026).",
    wrong='prompt = Timeline(System(Section("a", "One.")), Section("a", "Two."))\n',
    right='prompt = Timeline(System(Section("a", "One.")), Section("b", "Two."))\n',
)
