"""Chat templates, written and read."""

import json
from itertools import islice, pairwise
from typing import Any

import attrs
import pytest

from promptdsl import *
from tests.folding import failures, unequal
from tests.internals import read_chat_template as read
from tests.internals import read_response_chat_template as read_response
from tests.internals import render_template as render
from tests.internals import write_chat_template as write
from tests.providers.conversations import (
    ASK,
    CONVERSATIONS,
    PNG,
    WAV,
    answer,
    call,
    heard,
    media,
    say,
)
from tests.providers.laws import Prompts, unlawful
from tests.providers.templates import TEMPLATES

CAREFUL = ModelFacts(provider="chat_template")
FACTS = {
    "unknown": CAREFUL,
    **{name: attrs.evolve(CAREFUL, template=TEMPLATES[name]) for name in TEMPLATES},
}
LOOK_UP = ToolDefinition(
    "look_up", "Looks it up.", {"type": "object", "properties": {"q": {"type": "string"}}}
)
IMAGE = ImageBlock(media("base64", PNG, "image/png"))

every_target = pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
every_template = pytest.mark.parametrize("target", TEMPLATES)


def payload_messages(
    target: str, *messages: Message, tools: tuple[ToolDefinition, ...] = ()
) -> Any:
    """Return the messages of a payload, losses aside."""
    return write(Prompt(messages, tools), FACTS[target])[0]["messages"]


def lost(target: str, *messages: Message, **options: Any) -> list[tuple[str, str]]:
    """Return kind and subject of every loss."""
    return [(loss.kind, loss.what) for loss in write(Prompt(messages, **options), FACTS[target])[1]]


def prompted(target: str, *messages: Message) -> str:
    """Return the text of a payload."""
    return write(Prompt(messages), FACTS[target])[0]["prompt"]


def system(text: Any) -> dict[str, Any]:
    """Return a system message on the wire."""
    return {"role": "system", "content": text}


def user(text: Any) -> dict[str, Any]:
    """Return a user message on the wire."""
    return {"role": "user", "content": text}


def says(text: Any, *calls: Any, **keys: Any) -> dict[str, Any]:
    """Return an assistant message on the wire, with its calls of tools."""
    call_keys = {"tool_calls": list(calls)} if calls else {}
    return {"role": "assistant", "content": text, **call_keys, **keys}


def function(id: str, arguments: Any, name: str = "look_up") -> dict[str, Any]:
    """Return a call on the wire."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(id: str, text: str, name: str = "look_up") -> dict[str, Any]:
    """Return a result on the wire."""
    return {"role": "tool", "tool_call_id": id, "name": name, "content": text}


QUESTION = user("What is the weather in Paris?")
X = {"q": "x"}


# Every conversation.


EQUIPPED = {name: Prompt(messages, (LOOK_UP,)) for name, messages in CONVERSATIONS.items()}
"""Every conversation with a tool."""


@every_target
def test_law(facts: ModelFacts) -> None:
    """What is written with a tool, read and written again is the same bytes."""
    assert [] == unlawful(EQUIPPED, facts, json.dumps)


def vanished(target: str) -> list[str]:
    """Return the texts of conversations that are not in the text that a template makes."""

    def wrong(name: str) -> list[str]:
        prompt = prompted(target, *CONVERSATIONS[name])
        return [text for text in texts_of_conversation(name) if text not in prompt]

    return failures(CONVERSATIONS, wrong)


def texts_of_conversation(name: str) -> list[str]:
    """Return every text of a conversation."""
    blocks = [block for message in CONVERSATIONS[name] for block in message.content]
    inner = [text for block in blocks for text in getattr(block, "content", ())]
    texts = [block.text.strip() for block in (*blocks, *inner) if isinstance(block, TextBlock)]
    return [text for text in texts if "</developer>" not in text]


@every_template
def test_nothing_vanishes(target: str) -> None:
    """Every text of every conversation is in the text that a template makes."""
    assert [] == vanished(target)


def unlike_transformers(target: str) -> list[str]:
    """Return where the library of open models makes another text of a payload's messages."""
    from transformers.utils.chat_template_utils import render_jinja_template

    source = TEMPLATES[target].source.replace("strftime_now is defined", "false")

    def wrong(name: str) -> str:
        payload, _ = write(Prompt(CONVERSATIONS[name], (LOOK_UP,)), FACTS[target])
        last = payload["messages"][-1]
        open_end = last["role"] == "assistant" and "tool_calls" not in last
        (printed,), _ = render_jinja_template(
            [payload["messages"]],
            tools=payload.get("tools"),
            chat_template=source,
            add_generation_prompt=not open_end,
            continue_final_message=open_end,
            bos_token="<bos>",
            eos_token="<eos>",
        )
        return unequal(printed, payload["prompt"])

    return failures(CONVERSATIONS, wrong)


@pytest.mark.sdk("transformers")
@every_template
def test_as_transformers(target: str) -> None:
    """The library of open models makes the same text of the messages of every payload."""
    assert [] == unlike_transformers(target)


def possible_ends(turns: tuple[Message, ...]) -> list[int]:
    """Return where a conversation may end: a user spoke last, or a model without a call."""
    are_spoken = (turn.role in ("user", "assistant") for turn in turns)
    calling = (any(isinstance(block, ToolUseBlock) for block in turn.content) for turn in turns)
    ends = enumerate(zip(are_spoken, calling, strict=True), start=1)
    return [end for end, (speaks, calls) in ends if speaks and not calls]


def changed_conversations(facts: ModelFacts) -> list[str]:
    """Return where a turn that is added changes what stands before the last turn."""

    def wrong(name: str) -> str:
        turns = CONVERSATIONS[name]
        payloads = [
            write(Prompt(turns[:end]), facts)[0]["messages"] for end in possible_ends(turns)
        ]
        beginnings = [after[: len(before) - 1] for before, after in pairwise(payloads)]
        return unequal(beginnings, [before[:-1] for before in payloads[:-1]])

    return failures(CONVERSATIONS, wrong)


@every_target
def test_growth(facts: ModelFacts) -> None:
    """A turn that is added changes nothing before the last turn of those that stood there."""
    assert [] == changed_conversations(facts)


@pytest.mark.parametrize("target", ["chatml", "gemma", "mistral"])
def test_growing_text(target: str) -> None:
    """The text of a conversation begins with that of its beginning, up to where a model answers."""
    turns = (say("system", "Be brief."), *CONVERSATIONS["developer in the middle"])
    ends = [n for n, turn in enumerate(turns) if turn.role == "assistant"]
    prompts = [prompted(target, *turns[:end]) for end in (*ends, len(turns))]
    answered = [prompted(target, *turns[: end + 1]) for end in ends]
    pairs = [*zip(prompts, answered, strict=False), *zip(answered, prompts[1:], strict=True)]
    assert [True] * len(pairs) == [after.startswith(before) for before, after in pairs]


@every_target
def test_recorded(facts: ModelFacts, recordings: Prompts) -> None:
    """Recorded conversations are taken by every template, and the law holds for them."""
    first = dict(islice(recordings.items(), 5))
    assert [] == unlawful(first, facts, json.dumps)


# What messages are folded to.


def test_unknown_template() -> None:
    """Without a template there are messages and no text."""
    assert {"messages": [QUESTION]} == write(Prompt((ASK,)), CAREFUL)[0]


@pytest.mark.parametrize("target", ["gemma", "mistral"])
def test_no_system(target: str) -> None:
    """Where system text has no place, or moves, it stands before what the user says first."""
    turns = (say("system", "Be brief."), ASK)
    expected = [user(f"Be brief.\n\n{QUESTION['content']}")]
    assert (expected, [("role", "system message")]) == (
        payload_messages(target, *turns),
        lost(target, *turns),
    )


@pytest.mark.parametrize("target", ["chatml", "gemma"])
def test_model_first(target: str) -> None:
    """Before a model that speaks first, a user says next to nothing."""
    assert [user("."), says("Hello!"), user("Hi.")] == payload_messages(
        target, say("assistant", "Hello!"), say("user", "Hi.")
    )


@pytest.mark.parametrize(("target", "expected"), [("chatml", []), ("gemma", [user(".")])])
def test_nothing(target: str, expected: list[Any]) -> None:
    """No messages are a user's who says next to nothing, where a template needs one."""
    assert expected == payload_messages(target)


def test_tools_need_a_user() -> None:
    """With tools a user speaks first, as some templates show them there."""
    assert [system("Be brief."), user(".")] == payload_messages(
        "llama", say("system", "Be brief."), tools=(LOOK_UP,)
    )


@every_template
def test_neighbours(target: str) -> None:
    """Neighbours of one role are joined by a blank line."""
    turns = (say("user", "A."), say("user", "B."), say("assistant", "C."), say("assistant", "D."))
    payload = payload_messages(target, *turns, say("user", "E."))
    parts = {"vision": lambda text: [{"type": "text", "text": text}]}.get(target, str)
    assert [user(parts("A.\n\nB.")), says(parts("C.\n\nD.")), user(parts("E."))] == payload


def test_instructions() -> None:
    """A later instruction stays in its place, in a fence; what is fenced already stays as it is."""
    event = '<event type="user_action">\nUser left\n</event>'
    said_last = say("user", event, kind="event")
    turns = (ASK, say("assistant", "Rain."), say("developer", "A</developer>"), said_last)
    expected = user(f"<developer>\nA&lt;/developer>\n</developer>\n\n{event}")
    assert (expected, [("role", "developer message")]) == (
        payload_messages("chatml", *turns)[-1],
        lost("chatml", *turns),
    )


BOTH = CONVERSATIONS["parallel calls"][:4]


def test_parallel_calls() -> None:
    """Calls of one turn stay in it where a template shows them all."""
    calls = (function("a", X), function("b", X, "look_down"))
    results = (result("a", "rain"), result("b", "mud", "look_down"))
    assert [QUESTION, says("Both.", *calls), *results] == payload_messages("chatml", *BOTH)


def test_rounds() -> None:
    """Where a template shows one call in a turn, each has a turn, its result behind it."""
    first = (says("Both."), says("", function("a", X)), result("a", "rain"))
    second = (says("", function("b", X, "look_down")), result("b", "mud", "look_down"))
    expected = ([QUESTION, *first, *second], [("hint", "parallel calls")])
    assert expected == (payload_messages("llama", *BOTH), lost("llama", *BOTH))
    assert [(1, 2)] == [loss.at for loss in write(Prompt(BOTH), FACTS["llama"])[1]]


def test_order_of_results() -> None:
    """Results stand in the order of their calls."""
    turns = CONVERSATIONS["results in another order"]
    assert [result("a", "rain"), result("b", "mud")] == payload_messages("chatml", *turns)[2:4]


def test_short_ids() -> None:
    """Ids are nine letters and digits where a template asks for them, and never two the same."""
    turns = payload_messages("mistral", *CONVERSATIONS["foreign ids"])
    payload_ids = [call["id"] for turn in turns for call in turn.get("tool_calls", ())]
    answered = [turn["tool_call_id"] for turn in turns if turn["role"] == "tool"]
    assert ({9}, len(payload_ids), True) == (
        {*map(len, payload_ids)},
        len({*payload_ids}),
        {*payload_ids} == {*answered},
    )


def test_kept_ids() -> None:
    """An id of nine letters and digits stays as it is."""
    turns = (ASK, say("assistant", call("abcdefgh1")), answer("abcdefgh1", "rain"))
    assert [says("", function("abcdefgh1", X)), result("abcdefgh1", "rain")] == payload_messages(
        "mistral", *turns
    )[1:]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (("functions.look_up:0", "functions.look_up:0"), ["functions.look_up:0"] * 4),
        (("a" * 99, "é b"), ["a" * 99] * 2 + ["é b"] * 2),
    ],
)
def test_given_ids(ids: tuple[str, str], expected: list[str]) -> None:
    """Where a template takes any id, each is sent as it was given."""
    first, second = ((say("assistant", call(id)), answer(id, "rain")) for id in ids)
    turns = payload_messages("chatml", ASK, *first, *second)[1:]
    payload_ids = [turn.get("tool_call_id") or turn["tool_calls"][0]["id"] for turn in turns]
    assert expected == payload_ids


def test_ids_of_one_turn() -> None:
    """Calls of one turn never have the same id."""
    turns = (say("assistant", call("a"), call("a")), answer("a", "rain"), answer("a", "mud"))
    messages = payload_messages("chatml", ASK, *turns)
    ids = [param["id"] for param in messages[1]["tool_calls"]]
    assert (["a", "a_2"], [result("a", "rain"), result("a_2", "mud")]) == (ids, messages[2:])


@pytest.mark.parametrize(
    ("target", "arguments", "expected"),
    [
        ("chatml", '{ "b":1,"a" : "\\u00e9" }', {"b": 1, "a": "é"}),
        ("chatml", "[1]", {"arguments": "[1]"}),
        ("functionary", '{ "b":1,"a" : "\\u00e9" }', '{ "b":1,"a" : "\\u00e9" }'),
        ("functionary", "[1]", "[1]"),
        *(("chatml", text, {}) for text in ("", " ")),
        *(("functionary", text, "{}") for text in ("", " ")),
    ],
)
def test_arguments(target: str, arguments: str, expected: object) -> None:
    """Arguments are a mapping, or text to the byte where a template prints text."""
    turns = (ASK, say("assistant", call("a", arguments=arguments)), answer("a", "rain"))
    assert expected == payload_messages(target, *turns)[1]["tool_calls"][0]["function"]["arguments"]


@pytest.mark.parametrize("target", ["chatml", "functionary"])
def test_no_arguments(target: str) -> None:
    """A blank text of arguments is a hint, also where a template prints text."""
    turns = (ASK, say("assistant", call("a", arguments="")), answer("a", "rain"))
    assert ("hint", "arguments of a call") in lost(target, *turns)


def test_text_beside_a_call() -> None:
    """Text beside a call that a template drops is a turn of its own before it."""
    turns = (*CONVERSATIONS["text beside a call"], say("assistant", "Rain."))
    id = payload_messages("mistral", *turns)[2]["tool_calls"][0]["id"]
    messages = [says("Let me see."), says("", function(id, X)), result(id, "rain")]
    assert [QUESTION, *messages, user("."), says("Rain.")] == payload_messages("mistral", *turns)


def test_user_behind_a_result() -> None:
    """Where turns alternate, calls aside, the model says next to nothing before the user does."""
    turns = (ASK, say("assistant", call("abcdefgh1")), answer("abcdefgh1", "rain"), ASK)
    expected = ([result("abcdefgh1", "rain"), says("."), QUESTION], [("hint", "turns alternate")])
    assert expected == (payload_messages("mistral", *turns)[2:], lost("mistral", *turns))


def test_calls_as_text() -> None:
    """Calls and results that a template drops are text, in fences that they cannot leave."""
    turns = (ASK, say("assistant", call("a")), answer("a", "rain</tool_result>"))
    call_text = '<tool_use name="look_up">\n{"q": "x"}\n</tool_use>'
    text = "<tool_result>\nrain&lt;/tool_result>\n</tool_result>"
    expected = [("role", "tool_use block"), ("role", "tool_result block")]
    assert ([QUESTION, says(call_text), user(text)], expected) == (
        payload_messages("gemma", *turns),
        lost("gemma", *turns),
    )


def test_result_without_call() -> None:
    """A result whose call is not there is text."""
    block = ToolResultBlock("a", (TextBlock("rain"),), name='"look"')
    text = '<tool_result name="&quot;look&quot;">\nrain\n</tool_result>'
    assert [user(text)] == payload_messages("chatml", say("tool", block))


def test_call_without_result() -> None:
    """A call that got no result before the conversation went on is text."""
    turns = (ASK, say("assistant", call("a"), call("b")), answer("b", "rain"), ASK)
    expected = says('<tool_use name="look_up">\n{"q": "x"}\n</tool_use>', function("b", X))
    assert (
        [QUESTION, expected, result("b", "rain"), QUESTION],
        [("role", "the call of 'look_up'")],
    ) == (
        payload_messages("chatml", *turns),
        lost("chatml", *turns),
    )


def test_open_calls() -> None:
    """Calls that are the last thing said have no result yet, and are calls."""
    turns = (ASK, say("assistant", call("a"), call("b")), answer("b", "rain"))
    expected = says("", function("a", X), function("b", X))
    assert [QUESTION, expected, result("b", "rain")] == payload_messages("chatml", *turns)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (ToolResultBlock("a", (TextBlock("no"),), is_error=True), "Error: no"),
        (ToolResultBlock("a", (TextBlock("ERROR: no"),), is_error=True), "ERROR: no"),
        (
            ToolResultBlock("a", (), is_error=True, error_type="timeout_error"),
            "Error: timeout_error",
        ),
        (ToolResultBlock("a", (), is_error=True), "Error: unknown"),
        (ToolResultBlock("a", (TextBlock("a"), TextBlock(""), TextBlock("b"))), "a\n\nb"),
        (ToolResultBlock("a"), ""),
    ],
)
def test_results(block: ToolResultBlock, text: str) -> None:
    """A result is one text, and the text says that it is an error."""
    turns = (ASK, say("assistant", call("a")), say("tool", block))
    assert result("a", text) == payload_messages("chatml", *turns)[2]


THOUGHT = ReasoningBlock("Hm.", origin="chat_template")


@pytest.mark.parametrize(
    ("target", "expected"),
    [("chatml", {"reasoning_content": "Hm."}), ("llama", {})],
)
def test_reasoning(target: str, expected: dict[str, str]) -> None:
    """What was thought stands apart from the text, where a template shows it."""
    assert (
        says("Rain.", **expected)
        == payload_messages(target, ASK, say("assistant", THOUGHT, "Rain."))[1]
    )


@pytest.mark.parametrize(
    "block",
    [
        ReasoningBlock("Hm.", origin="anthropic"),
        ReasoningBlock("", encrypted="x", origin="chat_template"),
    ],
)
def test_foreign_reasoning(block: ReasoningBlock) -> None:
    """Reasoning of another provider, or without a text, is not replayed."""
    turns = (ASK, say("assistant", block, "Rain."))
    assert ([QUESTION, says("Rain.")], [("hint", "reasoning")]) == (
        payload_messages("chatml", *turns),
        lost("chatml", *turns),
    )


def test_reasoning_beside() -> None:
    """A thought goes where a template takes none beside a text and a call."""
    refusal = "{{ raise_exception('!') if message.reasoning_content and message.content }}"
    source = TEMPLATES["chatml"].source.replace(
        "{{- '<|im_start|>' + message.role", refusal + "{{- '<|im_start|>' + message.role"
    )
    facts = attrs.evolve(CAREFUL, template=ChatTemplate(source))
    turns = (ASK, say("assistant", THOUGHT, "A.", call("a")), answer("a", "rain"))
    payload, losses = write(Prompt((*turns, say("assistant", THOUGHT, call("b")))), facts)
    expected = ([False, True], ["reasoning"])
    has_reasoning = ["reasoning_content" in payload["messages"][n] for n in (1, 3)]
    assert expected == (has_reasoning, [loss.what for loss in losses])


KEPT_LAST = (
    "{% set found = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set found.last = loop.index0 %}{% endif %}{% endfor %}"
) + TEMPLATES["chatml"].source.replace(
    "if message.reasoning_content", "if message.reasoning_content and loop.index0 > found.last"
)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((say("assistant", THOUGHT, "A."), ASK), 1),
        ((say("assistant", THOUGHT, call("a")), answer("a", "rain"), ASK), 1),
        ((say("assistant", THOUGHT, "A."), ASK, say("assistant", THOUGHT, "B.")), 1),
        ((say("assistant", THOUGHT, "A."),), 0),
    ],
)
def test_closed_reasoning(turns: tuple[Message, ...], expected: int) -> None:
    """A hint says of each turn that a template drops what was thought once a user spoke again."""
    template = ChatTemplate(KEPT_LAST)
    _, losses = write(Prompt((ASK, *turns)), attrs.evolve(CAREFUL, template=template))
    assert expected == [loss.what for loss in losses].count("reasoning")


def test_only_reasoning() -> None:
    """A turn of nothing but a thought is a turn."""
    assert (
        says("", reasoning_content="Hm.")
        == payload_messages("chatml", ASK, say("assistant", THOUGHT))[1]
    )


def test_white_space_before_reasoning() -> None:
    """White space ends a last answer, whatever reasoning is written after it: it is not sent.

    A template prints the reasoning of a turn before its text.
    """
    payload, losses = write(Prompt((ASK, say("assistant", "Rain. ", THOUGHT))), CAREFUL)
    expected = (says("Rain.", reasoning_content="Hm."), [("trailing white space", (1, 0))])
    assert expected == (payload["messages"][1], [(loss.what, loss.at) for loss in losses])


def test_names() -> None:
    """A speaker's name stands before what is said, on one line."""
    turns = (
        say("system", "Be brief.", name="boss"),
        say("user", "Hello.", name="Ada\nL."),
        say("assistant", "Hi.", name="robot"),
        say("user", IMAGE, name="Bob"),
    )
    expected = [system("Be brief."), user("Ada&#10;L.: Hello."), says("robot: Hi.")]
    assert expected == payload_messages("chatml", *turns)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            say("user", "Hello.", name="Ada"),
            ("name of a speaker", "templates leave it out: the text begins with it"),
        ),
        (
            say("system", "Be brief.", name="boss"),
            ("name of a speaker", "the message has no text that could begin with the name"),
        ),
        (
            say("user", IMAGE, name="Bob"),
            ("name of a speaker", "the message has no text that could begin with the name"),
        ),
    ],
    ids=["a text", "a system text", "a picture alone"],
)
def test_lost_names(message: Message, expected: tuple[str, str]) -> None:
    """A speaker's name is a hint, which says whether a text begins with it."""
    losses = write(Prompt((message, ASK)), FACTS["vision"])[1]
    assert [("hint", *expected)] == [(loss.kind, loss.what, loss.why) for loss in losses]


# Attachments.

TEXT = {"type": "text", "text": "Look:"}
WEB = media("url", "https://example.org/a.png")


@pytest.mark.parametrize(
    ("source", "part"),
    [
        (media("base64", PNG, "image/png"), {"type": "image", "base64": PNG}),
        (
            media("url", "https://example.org/a.png"),
            {"type": "image", "url": "https://example.org/a.png"},
        ),
    ],
)
def test_images(source: Any, part: dict[str, str]) -> None:
    """A picture is a part among parts, with the keys that transformers reads."""
    turns = say("user", "Look:", ImageBlock(source), "A", "B")
    after = {"type": "text", "text": "A\n\nB"}
    assert [user([TEXT, part, after])] == payload_messages("vision", turns)


@pytest.mark.parametrize(
    ("source", "url"),
    [
        (media("base64", PNG, "image/png"), f"data:image/png;base64,{PNG}"),
        (media("base64", PNG), f"data:image/png;base64,{PNG}"),
        (media("url", "https://example.org/a.png"), "https://example.org/a.png"),
    ],
)
def test_image_addresses(source: Any, url: str) -> None:
    """Where a template knows addresses of pictures alone, a picture is one."""
    template = ChatTemplate(TEMPLATES["vision"].source.replace("'image'", "'image_url'"))
    facts = attrs.evolve(CAREFUL, template=template)
    payload, _ = write(Prompt((say("user", "Look:", ImageBlock(source)),)), facts)
    part = {"type": "image_url", "image_url": {"url": url}}
    assert [user([TEXT, part])] == payload["messages"]
    assert payload == write(read(payload), facts)[0]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (IMAGE, []),
        (ImageBlock(media("file_id", "f")), [("content", "image block")]),
        (ImageBlock(WEB, title="T"), [("hint", "title")]),
        (ImageBlock(WEB, detail="low"), [("hint", "detail")]),
        (ImageBlock(WEB, cache="5m"), [("hint", "cache mark")]),
        (ImageBlock(WEB, extra={"a": "b", "size": 9}), [("hint", "key 'a'")]),
        (ImageBlock(WEB, extra={"base64": 9}), [("hint", "key 'base64'")]),
        (ImageBlock(media("base64", PNG), extra={"base64": 9}), [("hint", "key 'base64'")]),
        (
            ImageBlock(WEB, extra=dict.fromkeys("fbdaec", "x")),
            [("hint", f"key {key!r}") for key in "fbdaec"],
        ),
        (ImageBlock(WEB, extra={"item": {"id": "msg_1"}, "a": None}), []),
        (ImageBlock(media("url", "file:///etc/passwd")), [("content", "image block")]),
        (ImageBlock(media("url", "/etc/passwd")), [("content", "image block")]),
        (ImageBlock(media("url", "https://a/<image>")), [("content", "image block")]),
        (
            UnknownBlock({"type": "image", "image": "/etc/passwd"}, "chat_template"),
            [("content", "image block")],
        ),
        (UnknownBlock({"type": "image"}, "gemini"), [("content", "image block")]),
        (AudioBlock(media("base64", WAV)), [("content", "audio block")]),
        (VideoBlock(media("url", "u")), [("content", "video block")]),
        (DocumentBlock(media("url", "u")), [("content", "document block")]),
        (UnknownBlock({"type": "hologram"}, "chat_template"), [("content", "hologram block")]),
        (UnknownBlock({"type": "image"}, "chat_template"), []),
    ],
)
def test_lost_media(block: Block, expected: list[tuple[str, str]]) -> None:
    """An attachment that a template does not show, and what a part has no key for, is a loss."""
    assert expected == lost("vision", say("user", "Look:", block))


QWEN = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.content is string %}{{ m.content }}{% else %}
{%- for p in m.content %}{{ '<|image_pad|>' if p.type == 'image' else p.text }}{% endfor %}
{%- endif %}
{%- for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}
{#- -#} <|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
MADE = {"type": "image", "base64": PNG}


def qwen(*messages: Message) -> tuple[Any, Any]:
    """Return the payload of messages for a template that shows pictures in any turn."""
    facts = attrs.evolve(CAREFUL, template=ChatTemplate(QWEN))
    payload, losses = write(Prompt(messages), facts)
    assert [] == [loss for loss in losses if loss.kind == "content"]
    assert payload == write(read(payload), facts)[0]
    return payload["messages"], payload["prompt"]


def test_pictures_of_the_model() -> None:
    """A template that shows pictures in the model's turn gets them there."""
    messages, prompt = qwen(ASK, say("assistant", "Here:", IMAGE), say("user", "Thanks."))
    assert [{"type": "text", "text": "Here:"}, MADE] == messages[1]["content"]
    assert "<|im_start|>assistant\nHere:<|image_pad|><|im_end|>" in prompt


def test_a_last_picture_of_the_model_is_continued() -> None:
    """The prompt ends after a picture that the model goes on from."""
    assert True is qwen(ASK, say("assistant", IMAGE))[1].endswith("assistant\n<|image_pad|>")


def test_pictures_beside_calls_have_a_turn() -> None:
    """A picture beside a call stands in a turn before it: only text is known to be shown there."""
    turn = say("assistant", "Here:", IMAGE, call("a"))
    messages, _ = qwen(ASK, turn, answer("a", "4"), say("user", "Thanks."))
    assert [{"type": "text", "text": "Here:"}, MADE] == messages[1]["content"]
    assert ("assistant", "") == (messages[2]["role"], messages[2]["content"])


def test_a_template_that_shows_pictures_of_the_user_alone() -> None:
    """Where the model's turn shows no picture, one in it is a loss."""
    source = QWEN.replace("p.type == 'image'", "p.type == 'image' and m.role == 'user'")
    source = source.replace("else p.text", "else p.text or ''")
    facts = attrs.evolve(CAREFUL, template=ChatTemplate(source))
    turns = (say("user", "Look:", IMAGE), say("assistant", "Here:", IMAGE), ASK)
    losses = write(Prompt(turns), facts)[1]
    assert [("content", "image block")] == [(loss.kind, loss.what) for loss in losses]


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (say("user", IMAGE), "image block"),
        (say("assistant", IMAGE), "image block"),
        (say("user", call("a")), "tool_use block"),
        (say("assistant", ToolResultBlock("a")), "tool_result block"),
        (say("user", UnknownBlock({"type": "image"}, "chat_template")), "image block"),
    ],
)
def test_unsaid(message: Message, what: str) -> None:
    """A block that has no form where it stands is a loss."""
    assert [("content", what)] == lost("chatml", ASK, message)


@pytest.mark.parametrize(
    ("block", "kind", "what"),
    [
        (IMAGE, "content", "image block"),
        (UnknownBlock({"type": "map"}, "chat_template"), "content", "map block"),
        (ReasoningBlock("Hm."), "hint", "reasoning block"),
    ],
)
def test_a_block_in_a_result(block: Block, kind: str, what: str) -> None:
    """A result is text alone."""
    turns = (ASK, say("assistant", call("a")), answer("a", block))
    assert [(kind, what)] == lost("chatml", *turns)


@every_template
def test_lone_surrogates(target: str) -> None:
    """No text that is sent holds a lone surrogate."""
    turns = (say("system", "\ud800"), say("user", "a\ud800"))
    assert "\ud800" not in str(payload_messages(target, *turns))


# Tools, and what no template can say.


def test_tools() -> None:
    """Tools are written as templates walk through them: no key is missing."""
    ping = ToolDefinition("ping", extra={"return": {"type": "string"}}, origin="chat_template")
    payload, losses = write(Prompt((ASK,), (LOOK_UP, ping)), FACTS["chatml"])
    first = {
        "name": "look_up",
        "description": "Looks it up.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    }
    second = {
        "name": "ping",
        "description": "",
        "parameters": {"type": "object", "properties": {}},
        "return": {"type": "string"},
    }
    expected = [{"type": "function", "function": tool} for tool in (first, second)]
    assert (expected, ()) == (payload["tools"], losses)


@pytest.mark.parametrize(
    ("target", "tool", "expected"),
    [
        ("chatml", ToolDefinition("a", cache="5m"), ("hint", "cache mark")),
        ("chatml", ToolDefinition("a", extra={"x": 1}, origin="openai"), ("hint", "key 'x'")),
        (
            "chatml",
            ToolDefinition("a", raw={"type": "a"}, origin="openai"),
            ("content", "tool 'a'"),
        ),
        ("gemma", ToolDefinition("a"), ("content", "tool 'a'")),
    ],
)
def test_lost_tools(target: str, tool: ToolDefinition, expected: tuple[str, str]) -> None:
    """What a template does not show of a tool is a loss."""
    assert [expected] == lost(target, ASK, tools=(tool,))


TAGS = ChatTemplate(
    "{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}"
    "{% for message in messages %}{{ message.content }}{% for call in message.tool_calls or [] %}"
    "<function={{ call.function.name }}>{{ call.function.arguments | tojson }}"
    "{% endfor %} {% endfor %}"
)
"""A template that prints the names of tools in tags."""


@pytest.mark.parametrize("tool", ["a_b", "a/b"])
def test_a_tool_takes_its_name_before_a_call(tool: str) -> None:
    """A call whose name has to be mended does not get the name of another tool."""
    turns = (ASK, say("assistant", call("1", "a b")), answer("1", "x"))
    prompt = Prompt(turns, (ToolDefinition(tool, "Says it."),))
    payload = write(prompt, attrs.evolve(CAREFUL, template=TAGS))[0]
    functions = [payload["tools"][0], payload["messages"][1]["tool_calls"][0]]
    assert ["a_b", "a_b_2"] == [function["function"]["name"] for function in functions]


def test_tool_template() -> None:
    """A prompt with tools is written with the template for tools."""
    template = attrs.evolve(TEMPLATES["gemma"], tool_source=TEMPLATES["chatml"].source)
    facts = attrs.evolve(CAREFUL, template=template)
    texts = [write(Prompt((ASK,), tools), facts)[0]["prompt"] for tools in ((), (LOOK_UP,))]
    assert [True, False] == ["<start_of_turn>" in text for text in texts]


def test_described() -> None:
    """Arguments without a description have an empty one where a template asks for it."""
    described = (
        "{% for t in tools or [] %}{{ t.function.name ~ t.function.description }}"
        "{% for p in t.function.parameters.properties.values() %}{{ '' + p.description }}"
        "{% endfor %}{% endfor %}"
    )
    template = ChatTemplate(described + TEMPLATES["chatml"].source)
    payload, _ = write(Prompt((ASK,), (LOOK_UP,)), attrs.evolve(CAREFUL, template=template))
    properties = payload["tools"][0]["function"]["parameters"]["properties"]
    assert {"q": {"type": "string", "description": ""}} == properties


# The text.


def test_prompt() -> None:
    """The text is what the template makes of the messages, up to where the model answers."""
    expected = (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert expected == prompted("chatml", say("system", "Be brief."), say("user", "Hi."))


def test_last_turn() -> None:
    """A last turn of the model is open, for the model to go on, without white space at its end."""
    expected = "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\nIt is"
    assert expected == prompted("chatml", say("user", "Hi."), say("assistant", "It is "))


def test_last_call() -> None:
    """Behind a call that is not answered the model answers anew."""
    text = prompted("chatml", say("user", "Hi."), say("assistant", "So", call("a")))
    assert text.endswith("</tool_call><|im_end|>\n<|im_start|>assistant\n")


def test_not_continued() -> None:
    """A last turn that a template changes is printed, and a hint says that it is closed."""
    source = TEMPLATES["chatml"].source.replace(
        "{{- message.content }}", "{{- message.content[:9] }}"
    )
    facts = attrs.evolve(CAREFUL, template=ChatTemplate(source))
    payload, losses = write(Prompt((say("user", "Qzasked"), say("assistant", "Qzsaid"))), facts)
    assert ("<|im_end|>\n<|im_start|>assistant\n", ["ended_conversation"]) == (
        payload["prompt"][-33:],
        [loss.name for loss in losses],
    )


def test_list_of_no_tools() -> None:
    """A template that walks through tools without asking is given none."""
    template = ChatTemplate("{% for tool in tools %}{% endfor %}" + TEMPLATES["chatml"].source)
    payload, _ = write(Prompt((ASK,)), attrs.evolve(CAREFUL, template=template))
    assert render(template, payload["messages"], []) == payload["prompt"]


def test_refused() -> None:
    """What a template refuses although it took the like is an error with what it says."""
    source = "{% if messages | length > 6 %}{{ raise_exception('Too long!') }}{% endif %}"
    template = ChatTemplate(source + TEMPLATES["chatml"].source)
    turns = (say("user", "A."), say("assistant", "B.")) * 4
    with pytest.raises(TemplateError, match="the chat template: Too long!"):
        write(Prompt(turns), attrs.evolve(CAREFUL, template=template))


@pytest.mark.parametrize("depth", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_deep_arguments(depth: int) -> None:
    """Arguments of any depth are written and read."""
    text = '{"a": ' * depth + "1" + "}" * depth
    turns = (ASK, say("assistant", call("a", arguments=text)), answer("a", "rain"))
    payload, _ = write(Prompt(turns), FACTS["functionary"])
    assert text == payload["messages"][1]["tool_calls"][0]["function"]["arguments"]


# Reading.


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (user("Hi."), heard("user", "Hi.")),
        (user(None), heard("user")),
        (user(["Hi.", {"text": "B"}]), heard("user", "Hi.", "B")),
        ({**user("Hi."), "name": "Ada"}, heard("user", "Hi.", name="Ada")),
        ({**says("Hi."), "name": "bot"}, heard("assistant", "Hi.", name="bot")),
        ({"role": "model", "content": "Hi."}, heard("assistant", "Hi.")),
        (says("A", thinking="Hm."), heard("assistant", THOUGHT, "A")),
        (says("A", reasoning="Hm."), heard("assistant", THOUGHT, "A")),
        (
            says("", function("a", X)),
            heard("assistant", ToolUseBlock("a", "look_up", '{"q": "x"}')),
        ),
        (
            says("", {"id": "b", "call_id": "a", "name": "look_up", "arguments": '{"q":1}'}),
            heard("assistant", ToolUseBlock("a", "look_up", '{"q":1}')),
        ),
        (
            says("", {"name": "ping"}),
            heard("assistant", ToolUseBlock("call_0", "ping", "{}")),
        ),
        (
            {"role": "ipython", "content": "rain"},
            heard("tool", ToolResultBlock("call_0", (TextBlock("rain"),))),
        ),
        (
            user([{"type": "image", "url": "u"}]),
            heard("user", ImageBlock(media("url", "u"))),
        ),
        (
            user([{"type": "audio", "base64": WAV}]),
            heard("user", AudioBlock(media("base64", WAV))),
        ),
        (
            user([{"type": "video", "path": "a.mp4"}]),
            heard("user", VideoBlock(media("path", "a.mp4"))),
        ),
        (
            user([{"type": "image"}]),
            heard("user", UnknownBlock({"type": "image"}, "chat_template")),
        ),
        (
            user([{"type": "image", "url": "u", "min_pixels": 9, "path": "x", "cache": 1}]),
            heard("user", ImageBlock(media("url", "u"), extra={"min_pixels": 9})),
        ),
        (
            user([{"type": "image_url", "image_url": {"url": "u", "detail": "low"}}]),
            heard("user", ImageBlock(media("url", "u"), detail="low")),
        ),
        (
            user([{"type": "image", "image": "https://a"}]),
            heard("user", ImageBlock(media("url", "https://a"))),
        ),
        (
            says(None, refusal="No."),
            heard("assistant", TextBlock("No.", extra={"refusal": True})),
        ),
        (
            says("A", reasoning_content="Hm.", reasoning="Hm.", thinking="So."),
            heard("assistant", THOUGHT, ReasoningBlock("So.", origin="chat_template"), "A"),
        ),
    ],
)
def test_read(entry: dict[str, Any], expected: Message) -> None:
    """Each form in which templates take a message is read."""
    assert Prompt((expected,)) == read([entry])


def test_later_system() -> None:
    """A system message behind the beginning becomes a developer's that remembers what it was."""
    prompt_messages = read([system("A"), system("B"), user("C"), system("D")]).messages
    expected = [("system", "recorded")] * 2 + [
        ("user", "recorded"),
        ("developer", "recorded_system"),
    ]
    assert expected == [(message.role, message.kind) for message in prompt_messages]


@pytest.mark.parametrize(("call", "answer"), [({}, {}), ({"id": ""}, {"tool_call_id": ""})])
def test_paired_by_place(call: dict[str, Any], answer: dict[str, Any]) -> None:
    """Calls and results without ids, or with empty ones, are paired in their order."""
    flat_call = {"name": "f", "arguments": {}, **call}
    results = [{"role": "tool", "content": text, **answer} for text in "ab"]
    paired = read([says("", flat_call, flat_call), *results, says("", flat_call)]).messages
    ids = [getattr(block, "id", None) or block.tool_use_id for m in paired for block in m.content]  # type: ignore[union-attr]
    assert ["call_0", "call_1", "call_0", "call_1", "call_2"] == ids


def test_read_tools() -> None:
    """Definitions of tools are read, bare or under their function."""
    function = {"name": "a", "parameters": {"type": "object"}, "return": 1}
    tool = ToolDefinition(
        "a", None, {"type": "object"}, extra={"return": 1}, origin="chat_template"
    )
    data = [{"type": "function", "function": function}, {"type": "function", **function}]
    assert (tool, tool) == read({"messages": [], "tools": data}).tools


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "'messages' must be a list, not NoneType"),
        ({}, "'messages' is needed"),
        ([1], r"messages\[0\]: a dictionary is needed, not int"),
        ([{"content": "x"}], r"messages\[0\]: 'role' is needed"),
        ([{"role": "usr"}], r"messages\[0\]: unknown role 'usr'\n  did you mean 'user'\?"),
        ([user(1)], r"messages\[0\]: 'content' must be a list, not int"),
        ([user([{"type": "text"}])], r"messages\[0\]: content\[0\]: 'text' is needed"),
        ([says("", {"id": "a"})], r"messages\[0\]: tool_calls\[0\]: 'name' is needed"),
        (
            [says("", function("a", X), {"id": 1, "name": "f"})],
            r"tool_calls\[1\]: 'id' must be a string",
        ),
        ([{**user("x"), "name": 1}], r"messages\[0\]: 'name' must be a string"),
        ({"messages": [], "tools": [{}]}, r"tools\[0\]: 'name' is needed"),
    ],
)
def test_cannot_be_read(data: object, message: str) -> None:
    """What cannot be read is refused, with its place."""
    with pytest.raises(DataError, match=message):
        read(data)


# Responses.

USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (says("Hi."), heard("assistant", "Hi.")),
        ({"content": "Hi."}, heard("assistant", "Hi.")),
        (
            {"choices": [{"text": "Hi.", "finish_reason": "eos_token"}]},
            heard("assistant", "Hi.").replace(finish_reason="stop", raw_finish_reason="eos_token"),
        ),
        (
            {"choices": [{"message": says(None, function("a", "{}"), reasoning_content="Hm.")}]},
            heard("assistant", THOUGHT, call("a", arguments="{}")),
        ),
        (
            {"choices": [{"message": says("Hi."), "finish_reason": "tool_calls"}], "usage": USAGE},
            heard("assistant", "Hi.").replace(
                finish_reason="tool_use",
                raw_finish_reason="tool_calls",
                token_usage={"input": 9, "output": 4, "cache_read": 8, "reasoning": 2, "total": 13},
            ),
        ),
    ],
    ids=["message", "without role", "completion", "calls", "counted"],
)
def test_responses(data: object, expected: Message) -> None:
    """A response is a message, with why the model stopped and what was counted, in tokens."""
    assert expected == read_response(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "a dictionary is needed, not NoneType"),
        ({"choices": []}, "a dictionary is needed, not NoneType"),
        ({"choices": 1}, "'choices' must be a list, not int"),
        ({"choices": [{}]}, "'text' is needed"),
        (
            {"role": "user", "content": "x"},
            "a response is a message of the model, not of the role 'user'",
        ),
    ],
)
def test_no_response(data: object, message: str) -> None:
    """What is no response is refused."""
    with pytest.raises(DataError, match=message):
        read_response(data)
