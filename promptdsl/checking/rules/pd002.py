"""An error of render() is a finding, so that one prompt does not hide the findings of others."""

from promptdsl.checking.finding import CheckRule

RULE = CheckRule(
    name="prompt that cannot be rendered",
    source="The errors of promptdsl (2026).",
    wrong='prompt = Timeline(System(Section("a", "One.")), Section("a", "Two."))\n',
    right='prompt = Timeline(System(Section("a", "One.")), Section("b", "Two."))\n',
)
