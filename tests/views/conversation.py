"""A conversation with every kind of turn that a view shows in its own way."""

from promptdsl import Assistant, Image, System, Timeline, ToolMessage, ToolUse, User

CONVERSATION = Timeline(
    System("Be brief."),
    User("Look at this:", Image.from_url("https://example.com/a.png"), name="ada"),
    Assistant(
        "I will.",
        ToolUse("look", {"at": "it"}, id="call_1"),
        ToolUse("wait", '{"seconds":  2}', id="call_2"),
    ),
    ToolMessage("call_1", "Seen.\n\nTwice."),
    ToolMessage("call_2", "Too long.", is_error=True, error_type="timeout_error"),
    Assistant("It is a cat."),
)
