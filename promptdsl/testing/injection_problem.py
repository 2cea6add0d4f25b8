"""The problem that a hostile text causes, and the text of the failed assertion."""

import attrs

from promptdsl import Origin, Span
from promptdsl.testing.hostile import HostileText


@attrs.frozen
class InjectionProblem:
    """What a hostile text does, and what is sent; ``span`` is the location, if it is known."""

    what: str
    sent: str
    span: Span | Origin | None = None
    provider: str | None = None
    location: tuple[str, str] | None = None
    """The name of the location, and the advice, if they do not follow from the span's kind."""

    def failure(self, argument: str, hostile: HostileText) -> str:
        """Return the text of the failure."""
        lines = [f"the argument {argument!r} is not safe: a {hostile} {self.what}"]
        if self.provider:
            lines.append(f"  for: {self.provider}")
        lines.append(f"  sent: {self.sent}")
        if self.span is not None:
            kind = self.span.kind if isinstance(self.span, Span) else ""
            name, advice = self.location or KINDS[kind]
            lines.append(f"  {self.span.source}: wrote it, in {self.span.address}, as {name}")
            lines.append(f"  {advice}")
        return "\n".join(lines)


_AUTHOR = (
    "author text: an f-string, format(), trusted() or format_block",
    "write Value(...), Untrusted(...) or a t-string: these are encoded",
)
_VALUE = ("a value", "a value is encoded: does the prompt function change it after that?")
KINDS = {
    "author": _AUTHOR,
    "section": _AUTHOR,
    "value": _VALUE,
    "volatile": _VALUE,
    "conversation": (
        "text of the conversation",
        "it is sent as it is; with guard_conversation it forges no tag",
    ),
}
"""The name of each kind of span, and the advice."""

IN_CODE = "write Code(Value(...)): its fence is longer than any in the value"
OUTSIDE = ("another part", "does the prompt function write other parts for this text?")
TEMPLATE = (
    "the text of a template",
    "pass it as a variable: Template.from_string('Plan: {{ plan }}', plan=plan)",
)
DEFINITION = (
    "text of a tool or of the output schema",
    "it is not encoded: keep it constant, and write what differs in a message",
)
CALL = (
    "the input of a call",
    "pass a mapping, not JSON text with the argument in it: ToolUse('find', {'q': q}, id)",
)
"""The constants above are the names of other locations, with the advice."""
