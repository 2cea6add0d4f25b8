"""What a snapshot says of what a target does to a block: it is read from the place of the block."""

from typing import Any

from promptdsl import *
from tests.internals import prompt_file, serialise
from tests.providers.conversations import PNG, answer, call, media, say
from tests.providers.templates import TEMPLATES

CALLED = (User("Hi."), Assistant(ToolUse("look_up", {}, id="a")))


def entries(*turns: Node, **target: Any) -> list[str]:
    """Return the entries of the snapshot of a prompt, without its first two turns."""
    text = serialise(prompt_file(render(Timeline(*turns), **target)))
    return text.split("---\n\n")[1].strip().split("\n\n")[2:]


def test_calls_that_are_sent_as_text() -> None:
    """A call and a result that a template prints as text are sent, in their fences."""
    template = {"provider": "chat_template", "chat_template": TEMPLATES["gemma"]}
    assert entries(User("Hi."), *CALLED, ToolMessage("a", "rain"), User("So?"), **template) == [
        "──▶ assistant\n─■ call look_up a, in <tool_use>\n{}",
        "──▶ tool look_up a as user, in <tool_result>\nrain",
        "──▶ user, in the message above\nSo?",
    ]


def test_a_file_that_leaves_its_result() -> None:
    """The text in the place of a moved file stands after the texts that are before it."""
    picture = ImageBlock(media("base64", PNG, "image/png"))
    blocks = entries(*CALLED, ToolMessage("a", "rain", picture), provider="openai_compatible")
    assert blocks == [
        "──▶ tool look_up a\nrain\n─■ image image/png 1x1 67 B sha256:a4d4c0096193\n"
        "─■ added for the target\n[image 1 of tool result a: after the tool results]",
        "──▶ user, added for the target\n[image 1 of tool result a]",
    ]


def test_a_file_that_leaves_its_result_behind_an_event() -> None:
    """What is added after the last text of a message is no message of its own."""
    picture = ImageBlock(media("base64", PNG, "image/png"))
    event = Message("user", "Wait.", kind="event")
    messages = (say("assistant", call("a")), event, answer("a", "rain", picture))
    text = serialise(prompt_file(render(Prompt(messages), model="gemini-2.5-pro")))
    added = "──▶ user\nWait.\n─■ added for the target\n[image 1 of tool result a]\n\n──▶ tool"
    assert added in text


def test_a_speaker_before_the_text() -> None:
    """The name that a text begins with is added; the text itself is the one that was written."""
    blocks = entries(
        User("Hi."), Assistant("Yes."), User("So?", name="ada"), provider="chat_template"
    )
    assert blocks == [
        "──▶ user named ada, name not sent\n─■ added for the target\nada:⟦SP⟧\n─■ text\nSo?"
    ]
