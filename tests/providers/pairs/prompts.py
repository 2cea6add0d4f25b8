"""Prompts in which two of a thing meet: two ids, two marks, two files, with one thing between."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from promptdsl import *
from tests.providers.templates import TEMPLATES

PNG, PDF, TEXT = "iVBORw0KGgo=", "JVBERi0xLjQ=", "Q2F0cyBwdXJyLg=="

TAGGED = ChatTemplate(
    "{{ tools | tojson }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<function={{ c.function.name }}>"
    "{% for k, v in c.function.arguments.items() %}<p={{ k }}>{{ v | tojson }}</p>{% endfor %}"
    "{% endfor %}{% endfor %}"
)
"""A template that prints the names of tools and arguments in tags."""

FORGETFUL = ChatTemplate(
    "{% set last = namespace(at=-1) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set last.at = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}"
    "<|{{ m.role }}|>{% if m.reasoning_content and loop.index0 > last.at %}"
    "<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}"
    "{% endfor %}"
)
"""A template that prints reasoning only after the last words of the user."""

TARGETS: Mapping[str, Mapping[str, Any]] = {
    "openai": {"model": "gpt-5.6-sol"},
    "openai, gpt-4": {"model": "gpt-4"},
    "openai_compatible": {"provider": "openai_compatible"},
    "deepseek": {"model": "deepseek-reasoner", "provider": "deepseek"},
    "mistral": {"model": "magistral-medium-latest", "provider": "mistral"},
    "openrouter": {"model": "anthropic/claude-sonnet-4.5", "provider": "openrouter"},
    "gemini_openai": {"model": "gemini-3.1-pro", "provider": "gemini_openai"},
    "alibaba": {"model": "qwen3-max", "provider": "alibaba"},
    "vllm": {"model": "gpt-oss-120b", "provider": "vllm"},
    "openai_responses": {"model": "gpt-5.6-sol", "provider": "openai_responses"},
    "deepseek_responses": {"model": "deepseek-reasoner", "provider": "deepseek_responses"},
    "anthropic": {"model": "claude-opus-5"},
    "anthropic, claude-opus-5-5": {"model": "claude-opus-5-5"},
    "anthropic, claude-haiku-5-5": {"model": "claude-haiku-5-5"},
    "gemini": {"model": "gemini-3.1-pro"},
    "gemini, gemini-2.5-pro": {"model": "gemini-2.5-pro"},
    "bedrock": {
        "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "provider": "bedrock",
    },
    "bedrock, claude-opus-5-5": {
        "model": "us.anthropic.claude-opus-5-5-v1:0",
        "provider": "bedrock",
    },
    "bedrock, amazon.nova-lite": {"model": "amazon.nova-lite-v1:0"},
    "bedrock, llama": {"model": "us.meta.llama3-3-70b-instruct-v1:0", "provider": "bedrock"},
    "chat_template": {"provider": "chat_template"},
    **{
        f"chat_template, {name}": {"provider": "chat_template", "chat_template": template}
        for name, template in TEMPLATES.items()
    },
    "chat_template, tagged": {"provider": "chat_template", "chat_template": TAGGED},
    "chat_template, forgetful": {"provider": "chat_template", "chat_template": FORGETFUL},
}
"""By name, which begins with that of the provider, what a prompt is rendered for."""

FOUR = ("openai", "openai_responses", "anthropic", "gemini", "bedrock")
"""One target of each service."""
CHAT = ("openai", "openai_compatible", "mistral", "openrouter")
"""Servers of Chat that differ."""


KEEP: Mapping[str, Any] = {"transformation": {"tool_pairing": "keep"}}
"""Calls and results that do not fit stay as they are."""


class Pair(NamedTuple):
    """A prompt, what it is rendered with, and for which targets."""

    prompt: Callable[[], Any]
    targets: tuple[str, ...] = FOUR
    options: Mapping[str, Any] = {}


def use(id: str, name: str = "find", arguments: str = "{}", **extra: Any) -> ToolUseBlock:
    """Return a call."""
    return ToolUseBlock(id, name, arguments, extra=extra)


def answer(*blocks: Any, **details: Any) -> Message:
    """Return a message of the model."""
    return Message("assistant", blocks, **details)


def result(id: str, *content: Any, **fields: Any) -> Message:
    """Return a message with one result."""
    blocks = tuple(text(part) if isinstance(part, str) else part for part in content)
    return Message("tool", (ToolResultBlock(id, blocks, **fields),))


def media(kind: type, source: str, value: str, media_type: str | None = None, **more: Any) -> Any:
    """Return a block of an attachment."""
    return kind(MediaSource(source, value, media_type), **more)  # type: ignore[arg-type]


def picture(**options: Any) -> ImageBlock:
    """Return a picture."""
    block: ImageBlock = media(ImageBlock, "base64", PNG, "image/png", **options)
    return block


def document(title: str | None = None, **options: Any) -> DocumentBlock:
    """Return a document."""
    block: DocumentBlock = media(
        DocumentBlock, "base64", PDF, "application/pdf", title=title, **options
    )
    return block


_SIGNED = "c2lnbmVk"


def thought(words: str, origin: str | None, signature: str | None = None, **extra: Any) -> Any:
    """Return reasoning."""
    encrypted = extra.pop("encrypted", None)
    return ReasoningBlock(words, signature, encrypted, origin, extra)


def text(words: str, cache: str | None = None, **extra: Any) -> TextBlock:
    """Return a text."""
    return TextBlock(words, cache, extra)  # type: ignore[arg-type]


def prompt(*messages: Message, **fields: Any) -> Callable[[], Prompt]:
    """Return a prompt factory."""
    return lambda: Prompt(messages, **fields)


def recorded(role: Any, *blocks: Any, **details: Any) -> Message:
    """Return a recorded message."""
    return Message(role, blocks, kind="recorded", **details)


LONG = "ab" * 40
USER, GO_ON = Message("user", "Hi"), Message("user", "Go on")
FIND, READ = ToolDefinition("find", "Find.", {}), ToolDefinition("read", "Read.", {})
CLOSED = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}

IDS: Mapping[str, Pair] = {
    "one id in three answers in a row": Pair(
        prompt(
            USER,
            answer(use("x", arguments='{"n": 1}')),
            answer(use("x", arguments='{"n": 2}'), use("y")),
            answer(use("x", arguments='{"n": 3}')),
            result("x", "One"),
            result("y", "Other"),
            result("x", "Two"),
            result("x", "Three"),
            GO_ON,
        ),
        (*FOUR, "mistral", "chat_template"),
        KEEP,
    ),
    "ids that look like numbered ones": Pair(
        prompt(
            USER,
            answer(use("x"), use("x_2"), use("x_3")),
            result("x", "1"),
            result("x_2", "2"),
            result("x_3", "3"),
            answer(use("x", "read")),
            result("x", "4"),
            answer(use("x"), use("x_2", "read")),
            result("x_2", "6"),
            result("x", "5"),
            GO_ON,
        ),
        FOUR,
    ),
    "ids that are mended alike": Pair(
        prompt(
            USER,
            answer(use("a b"), use("a_b", "read"), use("a.b"), use("ab" * 40), use(LONG + "c")),
            result("a.b", "3"),
            result(LONG + "c", "5"),
            result("a b", "1"),
            result(LONG, "4"),
            result("a_b", "2"),
            answer(use("a b"), use("ü")),
            result("ü", "7"),
            result("a b", "6"),
            GO_ON,
        ),
        (*FOUR, "mistral", "bedrock, amazon.nova-lite"),
    ),
    "results of no call, and of a call of an earlier turn": Pair(
        prompt(
            USER,
            answer(use("a"), use("b", "read")),
            result("b", "B"),
            answer("Wait."),
            result("a", "A"),
            result("c", "C", name="read"),
            answer(use("d")),
            Message("user", "Stop"),
            answer(use("d", "read")),
            result("d", "D"),
        ),
        FOUR,
        KEEP,
    ),
    "names that are mended alike": Pair(
        prompt(
            USER,
            answer(
                use("1", "web.find"), use("2", "web_find"), use("3", "web find"), use("4", "old")
            ),
            result("1", "1"),
            result("2", "2"),
            result("3", "3"),
            result("4", "4"),
            answer(use("5", "old!"), use("6", "n" * 70)),
            result("5", "5"),
            result("6", "6"),
            GO_ON,
            tools=(
                ToolDefinition("web find", "Spaced."),
                ToolDefinition("web.find", "Dotted."),
                ToolDefinition("web_find", "Legal."),
                ToolDefinition("n" * 69, "Long."),
                ToolDefinition("n" * 70, "Longer."),
            ),
            tool_choice="web.find",
        ),
        (*FOUR, "mistral"),
    ),
    "ids and names as long as they may be": Pair(
        prompt(
            USER,
            answer(*(use("i" * n, "n" * n) for n in (40, 41, 64, 65, 128, 129))),
            *(result("i" * n, f"{n}") for n in (129, 128, 65, 64, 41, 40)),
            answer(use("abcdefghi"), use("abcdefgh-"), use("a" * 62 + "_2"), use("a" * 64 + "b")),
            answer(use("a" * 64), use("a" * 64 + "c")),
            result("a" * 64 + "c", "6"),
            result("a" * 64, "5"),
            result("a" * 64 + "b", "4"),
            result("abcdefgh-", "2"),
            result("abcdefghi", "1"),
            result("a" * 62 + "_2", "3"),
        ),
        (*FOUR, "mistral"),
        KEEP,
    ),
    "a blank answer behind calls": Pair(
        prompt(
            USER,
            answer(use("a"), use("b", "read")),
            Message("user", "Stop"),
            answer(" "),
            result("a", "A"),
            Message("user", "Now"),
            answer("Yes"),
            answer(use("a", "read")),
            result("b", "B"),
            result("a", "AA"),
        ),
        FOUR,
        KEEP,
    ),
    "texts between calls and results": Pair(
        prompt(
            USER,
            answer(use("a"), use("b", "read")),
            Message("user", "One"),
            result("b", "B"),
            Message("user", "Two"),
            Message("user", (ToolResultBlock("a", (text("A"),)), "Three")),
            Message("user", "Four"),
            answer("Five"),
        ),
        (*FOUR, "bedrock, llama", "anthropic, claude-opus-5-5"),
        KEEP,
    ),
    "a blank answer behind a call whose id was used": Pair(
        prompt(
            USER,
            answer(use("x")),
            result("x", "1"),
            answer(use("x"), use("y")),
            Message("user", "Stop"),
            answer(" "),
            result("x", "2"),
            answer(use("x")),
            Message("user", "Stop"),
            answer("Yes"),
            result("x", "of no call"),
        ),
        FOUR,
        KEEP,
    ),
}

MARKS: Mapping[str, Pair] = {
    "more marks than are kept": Pair(
        prompt(
            Message("system", (text("One", "default"), text("Two"), text("Three", "5m"))),
            Message("user", (text("Four", "1h"), text("Five", "default"))),
            answer(text("Six", "5m"), use("c")),
            result("c", text("Seven", "5m"), text("Eight", "1h")),
            Message("user", (text("Nine", "default"), text("Ten"))),
            tools=(
                ToolDefinition("find", "Find.", cache="default"),
                ToolDefinition("read", "Read.", cache="1h"),
                ToolDefinition("list", "List."),
            ),
        ),
        ("openai", "openrouter", "openai_responses", "anthropic", "bedrock"),
    ),
    "an hour, five minutes, an hour, five minutes": Pair(
        prompt(
            Message("user", (text("One", "1h"), text("Two", "5m"), text("Three", "1h"))),
            answer("Four"),
            Message("user", (text("Five", "5m"), text("Six"))),
        ),
        ("openai", "openrouter", "anthropic", "bedrock"),
    ),
    "five minutes twice before an hour, and too many": Pair(
        prompt(
            Message("user", (text("One", "5m"), text("Two", "default"), text("Three", "1h"))),
            answer("Four"),
            Message("user", (text("Five", "1h"), text("Six", "5m"), text("Seven", "5m"))),
        ),
        ("anthropic", "bedrock", "openrouter"),
    ),
    "marks on what is not sent, and around request-only text": Pair(
        prompt(
            Message("user", (text(" ", "default"), text("One", "default"))),
            answer(ReasoningBlock("Hm."), text("Two"), text("\n", "1h")),
            Message("user", (text("Now", "default"),), kind="request"),
            Message("user", (text("Three", "default"),)),
            answer(text("Four", "default")),
            Message("user", (text("Five", "default"), document(cache="default"))),
            Message("user", (text("Later", "1h"),), kind="request"),
            Message("user", (text("Six", "default"),)),
        ),
        ("openai", "openrouter", "openai_responses", "anthropic", "bedrock", "gemini"),
    ),
    "marks of results and of files in them": Pair(
        prompt(
            USER,
            answer(use("a"), use("b"), use("c")),
            Message(
                "tool",
                (ToolResultBlock("a", (text("A", "5m"), picture(cache="1h")), cache="default"),),
            ),
            Message("tool", (ToolResultBlock("b", (text("B", "default"), text("BB", "5m"))),)),
            Message("tool", (ToolResultBlock("c", (text("C"),), cache="1h"),)),
            Message("user", (document("One", cache="default"), picture(cache="5m"), text("Go"))),
            tools=(FIND,),
        ),
        ("openai", "openrouter", "openai_responses", "anthropic", "bedrock"),
    ),
    "marks that are placed": Pair(
        prompt(
            Message("system", (text("One"), text("Two"))),
            Message("developer", "Three"),
            Message("user", ("Four", "Five")),
            answer("Six", use("c")),
            result("c", "Seven"),
            Message("user", "Now", kind="request"),
            answer("Eight"),
            Message("user", ("Nine", picture(), text(" "))),
            Message("user", "Later", kind="request"),
            Message("user", "Ten"),
            tools=(FIND, READ),
        ),
        ("openai", "openrouter", "anthropic", "bedrock", "openai_compatible"),
        {"cache": "auto"},
    ),
    "marks that are placed beside those of an author": Pair(
        prompt(
            Message("system", (text("One"), text("Two"))),
            Message("user", (text("Three", "5m"), text("Four", "5m"))),
            answer("Five"),
            Message("user", (text("Six"), text("Seven"))),
            tools=(FIND, READ),
        ),
        ("openai", "anthropic", "bedrock"),
        {"cache": "auto"},
    ),
    "marks that are placed after an hour": Pair(
        prompt(
            Message("system", "One"),
            Message("user", (text("Two", "1h"), text("Three"))),
            answer("Four"),
            Message("user", "Five"),
            tools=(FIND, READ),
        ),
        ("anthropic", "bedrock"),
        {"cache": "auto"},
    ),
    "marks on texts that change": Pair(
        prompt(
            Message("user", (text("Zero", "5m"),)),
            answer("One"),
            Message("developer", (text("Two", "default"), text("Three", "5m"))),
            Message("user", "Four"),
            answer(text("Five", "default"), text("Six \n", "5m")),
        ),
        ("anthropic", "bedrock", "openai", "openrouter"),
    ),
    "marks that are placed beside one on a tool": Pair(
        prompt(
            Message("system", "One"),
            Message("user", (text("Two", "5m"), text("Three", "5m"))),
            answer("Four"),
            Message("user", ("Five", " ")),
            tools=(ToolDefinition("find", cache="5m"), READ),
        ),
        ("anthropic", "bedrock"),
        {"cache": "auto"},
    ),
    "marks that are placed where one is, and before what takes none": Pair(
        prompt(
            Message("system", (text("One", "default"), text(" "))),
            Message("user", "Two"),
            answer(use("a"), use("b")),
            result("a", "A"),
            result("b"),
            tools=(READ, ToolDefinition("find", cache="default")),
        ),
        ("anthropic", "bedrock", "openai"),
        {"cache": "auto"},
    ),
    "marks that are placed beside an hour on a tool": Pair(
        prompt(
            Message("system", "One"),
            Message("developer", "Two"),
            Message("user", ("Three", text("Four", "default"))),
            answer(thought("Hm.", "anthropic", "aG0="), use("a")),
            result("a", picture(), "A"),
            tools=(ToolDefinition("find", cache="1h"), READ),
        ),
        ("anthropic", "bedrock", "openrouter"),
        {"cache": "auto"},
    ),
    "marks that are placed between two hours": Pair(
        prompt(
            Message("system", "One"),
            Message("user", (text("Two", "1h"),)),
            answer("Three"),
            Message("user", "Four"),
            Message("user", (text("Five", "1h"),), kind="request"),
            tools=(FIND,),
        ),
        ("anthropic", "bedrock"),
        {"cache": "auto"},
    ),
    "lone texts with marks that are not sent": Pair(
        prompt(
            *(
                Message(role, (text(f"{role} {number}", "default"),))
                for number in range(3)
                for role in ("user", "assistant")
            ),
        ),
        ("anthropic",),
        {"transformation": {"lone_text": "string"}},
    ),
}

ROLES: Mapping[str, Pair] = {
    "instructions at every place": Pair(
        prompt(
            Message("system", "Be kind."),
            Message("developer", ("Be brief.", "Be exact.")),
            USER,
            Message("developer", "One"),
            Message("developer", ("Two", " ", "Three")),
            answer("Hello", use("a"), use("b", "read")),
            Message("developer", "Four"),
            result("a", "A"),
            Message("developer", "Five"),
            result("b", "B"),
            Message("developer", "Six"),
            answer("Seven"),
            Message("developer", "Eight"),
            Message("user", "Nine"),
            Message("event", "Ten", kind="event"),
            Message("user", "Now", kind="request"),
            Message("developer", "Last"),
        ),
        (
            *(*FOUR, "openai, gpt-4", "openai_compatible", "mistral"),
            *("anthropic, claude-opus-5-5", "anthropic, claude-haiku-5-5"),
        ),
        KEEP,
    ),
    "recorded instructions after two answers": Pair(
        prompt(
            recorded("system", "One"),
            recorded("system", "Two"),
            recorded("user", "Three"),
            Message("developer", "Four", kind="recorded_system"),
            Message("developer", "Five", kind="recorded_system"),
            recorded("assistant", "Six"),
            recorded("assistant", "Seven"),
            recorded("user", "Eight"),
            recorded("user", "Nine"),
            Message("developer", "Ten", kind="recorded_system"),
        ),
        (*FOUR, "mistral", "openrouter", "anthropic, claude-opus-5-5", "chat_template"),
    ),
    "the model speaks first, and two speakers": Pair(
        prompt(
            Message("system", "Be kind.", name="boss"),
            answer("Hello", name="bot"),
            Message("user", "One", name="Ada"),
            Message("user", "Two", name="Ada L."),
            answer("Three", " ", "Four \n"),
        ),
        (*FOUR, "openai_compatible", "chat_template"),
    ),
    "blank texts around others": Pair(
        prompt(
            Message("system", ("", "One", " ")),
            Message("user", ("\n", "Two", "", "Three", " ")),
            answer("", " "),
            Message("user", (" ",)),
            answer(" ", "Four ", ReasoningBlock("Hm."), "\n"),
        ),
        FOUR,
    ),
    "a request whose texts stay apart": Pair(
        prompt(
            Message("system", ("One", "Two")),
            Message("user", ("Three", "Four", picture(), "Five", "Six")),
            answer("Seven", "Eight", use("c")),
            result("c", "Nine", "Ten"),
            join_texts=False,
        ),
        (*FOUR, "openai_compatible", "mistral"),
    ),
    "lone texts as lists": Pair(
        prompt(
            Message("system", "One"),
            Message("user", "Two"),
            answer("Three", use("c")),
            result("c", "Four"),
            Message("user", (text("Five", "default"),)),
            answer("Six "),
        ),
        ("openai", "mistral", "anthropic", "bedrock"),
        {"transformation": {"lone_text": "list"}},
    ),
    "lone texts as strings": Pair(
        prompt(
            Message("system", "One"),
            Message("user", "Two"),
            answer("Three", use("c"), use("d")),
            result("c", "Four"),
            result("d", text("Five", "default")),
            Message("user", (text("Six", "default"),)),
            answer("Seven"),
            Message("user", (text("Eight", "default"),)),
            answer(text("Nine"), text("Ten ")),
        ),
        ("openai", "anthropic"),
        {"transformation": {"lone_text": "string"}},
    ),
    "turns that are not merged": Pair(
        prompt(
            recorded("user", "One"),
            recorded("user", "Two"),
            Message("user", "Three"),
            answer("Four"),
            answer("Five", use("c"), use("d")),
            result("c", "Six"),
            Message("user", "Seven"),
            result("d", "Eight"),
            Message("user", "Nine"),
            Message("user", "Ten"),
        ),
        (*FOUR, "anthropic, claude-opus-5-5"),
        {"transformation": {"merge_consecutive": False, "tool_pairing": "keep"}},
    ),
    "events before and between the first instructions": Pair(
        prompt(
            Message("system", "One"),
            Message("event", "Two", kind="event"),
            Message("developer", "Three"),
            Message("user", "Now", kind="request"),
            Message("developer", "Four"),
            Message("system", "Five"),
            Message("user", "Six"),
            Message("developer", "Seven"),
            answer("Eight"),
        ),
        (*FOUR, "mistral", "openrouter", "chat_template"),
    ),
    "merged turns with a separator of their own": Pair(
        lambda: Timeline(
            System("One"),
            System("Two"),
            User("Three"),
            User("Four"),
            User("Five"),
            Assistant("Six"),
            Assistant("Seven", ToolUse("find", {}, id="a")),
            ToolMessage("a", "Eight"),
            User("Nine"),
            User("Ten"),
        ),
        (*FOUR, "openrouter", "mistral", "chat_template"),
        {"transformation": {"merge_separator": "\n"}},
    ),
    "the model calls first": Pair(
        prompt(
            Message("system", "One"),
            Message("developer", "Two"),
            answer(
                thought("Three", "openai_responses", id="rs_1"),
                use("a", "grep", "x", custom=True, item={"id": "ctc_1", "reasoning": "rs_1"}),
                use("b"),
            ),
            result("b", "B"),
            result("a", "A"),
            answer("Four "),
            answer(" "),
        ),
        (*FOUR, "chat_template"),
    ),
    "changes of tools between instructions": Pair(
        prompt(
            USER,
            Message(
                "developer",
                (
                    UnknownBlock({"type": "tool_addition", "name": "a"}, "anthropic"),
                    "One",
                    UnknownBlock({"type": "tool_removal", "name": "b"}, "anthropic"),
                ),
            ),
            answer("Two"),
            Message(
                "developer",
                ("Three", UnknownBlock({"type": "tool_addition", "name": "c"}, "anthropic")),
            ),
            Message("user", "Four"),
            Message("developer", (UnknownBlock({"type": "tool_removal"}, "anthropic"),)),
        ),
        ("anthropic", "anthropic, claude-opus-5-5", "bedrock"),
    ),
    "the model speaks before an instruction": Pair(
        prompt(
            Message("system", "One"),
            answer("Two"),
            Message("developer", "Three"),
            Message("user", "Four"),
            Message("system", "Five"),
        ),
        (*FOUR, "mistral", "openrouter", "openai_compatible"),
    ),
}

NAMED = picture(title="One")
ERRORS: Mapping[str, Pair] = {
    "results of every form": Pair(
        prompt(
            USER,
            answer(*(use(id) for id in "abcdefghi")),
            result("i", '{"n": 1}', is_error=True, error_type="timeout"),
            result("h", is_error=True, error_type="denied"),
            result("g", is_error=True),
            result("f", "error: no", "such file", is_error=True),
            result("e", picture(), "Two", is_error=True),
            result("d", "Three", " ", "Four"),
            result("c"),
            result("b", text('{"n": 2}', json=True), cache="default"),
            result("a", text("[3]", json=True), text("Five")),
            GO_ON,
        ),
        (*FOUR, "mistral", "chat_template"),
    ),
    "results of JSON, and of files": Pair(
        prompt(
            USER,
            answer(use("a"), use("b", "read"), use("c"), use("d"), use("e")),
            result("a", text('{"error": "no"}', json=True), is_error=True),
            result("b", text('{"error": "no"}', json=True)),
            result("c", text('"text"', json=True)),
            result(
                "d",
                text('{"a": [{"$ref": "One"}, {"$ref": "Two"}]}', json=True),
                picture(title="One"),
            ),
            result(
                "e", text('{"$ref": "One"}', json=True), picture(title="One"), picture(title="Two")
            ),
            GO_ON,
        ),
        ("gemini", "gemini, gemini-2.5-pro", "bedrock", "anthropic"),
    ),
}

_SIX = tuple(document(f"Page {number}.pdf") for number in range(6))

MEDIA: Mapping[str, Pair] = {
    "files of results": Pair(
        prompt(
            USER,
            answer(use("a"), use("b", "read"), use("c")),
            result("b", picture(), "One", document("One.pdf"), picture(title="Two")),
            result("a", document(), media(AudioBlock, "base64", "UklGRg==", "audio/wav")),
            result("c", "Three"),
            answer("Seen", use("d")),
            result("d", picture()),
            Message("user", (picture(detail="high"), "Go on")),
            tools=(FIND,),
        ),
        (*FOUR, "openai_compatible", "mistral", "gemini, gemini-2.5-pro", "bedrock, llama"),
    ),
    "documents of one title": Pair(
        prompt(
            Message("user", (document("a/b.pdf"), document("a b.pdf"), document("a b 2"))),
            answer("Seen"),
            Message("user", (document("a b"), document(), document(), document(" "))),
            answer("Seen"),
            Message("user", ("Read", *_SIX, document("Page 7"), picture())),
        ),
        (*FOUR, "mistral"),
    ),
    "files of many sources": Pair(
        prompt(
            Message(
                "user",
                (
                    media(ImageBlock, "url", "https://example.com/a.png", detail="low"),
                    media(ImageBlock, "url", "http://example.com/a.png?b=c.gif", title="Cat"),
                    media(ImageBlock, "url", f"data:image/gif;base64,{PNG}", detail="odd"),
                    media(ImageBlock, "file_id", "file_1", detail="auto"),
                    media(ImageBlock, "gcs", "gs://cats/a.heic"),
                    media(ImageBlock, "s3", "s3://cats/a.JPG", extra={"bucketOwner": "1"}),
                    media(ImageBlock, "base64", PNG, "image/heic"),
                    "Look",
                ),
            ),
            answer("Seen"),
            Message(
                "user",
                (
                    media(DocumentBlock, "base64", TEXT, "text/plain", title="a.txt"),
                    media(DocumentBlock, "base64", TEXT, "text/markdown", title="b.md"),
                    media(DocumentBlock, "base64", TEXT, "application/json", detail="low"),
                    media(DocumentBlock, "url", "https://example.com/a.pdf", title="c.pdf"),
                    media(DocumentBlock, "url", "https://example.com/a.txt", "text/plain"),
                    media(DocumentBlock, "file_id", "file_2", title="d.pdf"),
                    media(DocumentBlock, "s3", "s3://cats/a.csv"),
                    media(DocumentBlock, "base64", "not base64", "application/pdf"),
                    "Read",
                ),
            ),
            answer("Read"),
            Message(
                "user",
                (
                    media(AudioBlock, "base64", "UklGRg==", "audio/x-wav"),
                    media(AudioBlock, "base64", "UklGRg==", "audio/mpeg"),
                    media(AudioBlock, "base64", "UklGRg==", "audio/ogg"),
                    media(VideoBlock, "base64", "AAAA", "video/quicktime", title="Film"),
                    media(VideoBlock, "url", "https://youtu.be/abc"),
                    media(VideoBlock, "s3", "s3://cats/a.3gp"),
                ),
            ),
        ),
        (*FOUR, "openai_compatible", "mistral", "openrouter", "bedrock, amazon.nova-lite"),
    ),
    "documents beside results, in messages of their own": Pair(
        prompt(
            USER,
            answer(use("a"), use("b")),
            result("a", "A"),
            result("b", "B"),
            Message("user", "One"),
            Message("user", ("Two", document("First"))),
            Message("user", "Three"),
            Message("user", (document("Second"),)),
            answer("Four", use("c")),
            result("c", "C"),
            Message("user", (picture(), "Five")),
            answer(use("d")),
            result("d", "D"),
            Message("user", "Six"),
            Message("user", (picture(),)),
            Message("user", (document("Third"),)),
        ),
        ("bedrock", "bedrock, llama", "bedrock, amazon.nova-lite", "bedrock, claude-opus-5-5"),
    ),
    "names of documents that look like numbered ones": Pair(
        prompt(
            Message("user", (document("c"), document("c 2"), document("c"), document("c"))),
            answer("Seen"),
            Message("user", (document("c 2.PDF"), document("d.md"), document("." * 3), "Read")),
            answer("Seen"),
            Message("user", (document("e" * 201), document("e" * 202), document("e" * 200))),
        ),
        ("bedrock", "anthropic"),
    ),
}

THOUGHTS: Mapping[str, Pair] = {
    "reasoning of each provider, twice": Pair(
        prompt(
            USER,
            answer(
                *(thought(f"One of {origin}", origin, _SIGNED) for origin in FOUR),
                thought("", "anthropic", encrypted="b25l"),
                thought("", "bedrock", encrypted="dHdv"),
                "Hello",
                thought("Behind", "anthropic", "YmVoaW5k"),
                use("a", thought_signature=_SIGNED),
                use("b", "read"),
            ),
            result("a", "A"),
            result("b", "B"),
            answer(
                *(thought(f"Two of {origin}", origin, "dHdv") for origin in reversed(FOUR)),
                thought("Unsigned", "anthropic"),
                thought("", "gemini", _SIGNED),
                use("c"),
                use("d", "read", thought_signature="ZA=="),
            ),
            result("c", "C"),
            result("d", "D"),
            answer(text("Done", thought_signature="ZG9uZQ=="), text(" ", thought_signature="YQ==")),
            GO_ON,
        ),
        (*FOUR, "openai_compatible", "gemini_openai", "gemini, gemini-2.5-pro", "bedrock, llama"),
    ),
    "reasoning before and after request-only text": Pair(
        prompt(
            USER,
            answer(thought("One", "anthropic", "b25l"), "Two"),
            Message("user", "Now", kind="request"),
            Message("user", "Three"),
            answer(thought("Four", "anthropic", "Zm91cg=="), use("a")),
            result("a", "A"),
            answer(thought("Five", "anthropic", "Zml2ZQ=="), use("b", "read")),
            result("b", "B"),
        ),
        ("anthropic", "anthropic, claude-opus-5-5", "bedrock"),
    ),
    "reasoning of servers of Chat": Pair(
        prompt(
            USER,
            answer(
                thought("One", "deepseek"),
                thought("Two", "deepseek"),
                thought(
                    "Three",
                    "openrouter",
                    reasoning_details=[{"type": "reasoning.text", "text": "Three"}],
                    origin_of_keys="openrouter",
                ),
                thought(
                    "Four",
                    "openrouter",
                    reasoning_details=[{"type": "reasoning.text", "text": "Four"}],
                    origin_of_keys="openrouter",
                ),
                thought("Five", "mistral"),
                thought("Six", "vllm"),
                thought("Seven", "alibaba"),
                "Hello",
            ),
            GO_ON,
            answer(
                thought("Eight", "deepseek"),
                thought("Nine", "vllm"),
                thought("Ten", "alibaba"),
                use("a"),
                use("b", "read"),
            ),
            result("a", "A"),
            result("b", "B"),
            answer("Look", thought("Eleven", "deepseek"), use("c")),
            result("c", "C"),
        ),
        ("openai_compatible", "deepseek", "mistral", "openrouter", "alibaba", "vllm"),
    ),
    "items of Responses": Pair(
        prompt(
            USER,
            answer(
                thought("One", "openai_responses", encrypted="b25l", id="rs_1"),
                thought("Two", "openai_responses", encrypted="dHdv", id="rs_2"),
                text("Three", item={"id": "msg_1", "reasoning": "rs_2"}),
                text("Four", item={"id": "msg_1", "reasoning": "rs_2"}, annotations=[{"n": 1}]),
                text("Five", item={"id": "msg_2"}),
                text("Six", annotations=[{"n": 2}]),
                text("Seven", refusal=True),
                thought("Eight", "openai_responses", id="rs_1"),
                thought("Nine", "openai_responses", id="rs_3"),
                use("a", item={"id": "fc_1", "reasoning": "rs_3"}),
                use("b", "grep", "cats", custom=True, item={"id": "ctc_1", "reasoning": "rs_9"}),
                use("c", item={"id": "fc_1", "caller": {"type": "program"}}),
                thought("Ten", "openai_responses", id="rs_4"),
            ),
            result("b", "B"),
            result("c", "C"),
            result("a", "A", picture()),
            answer(
                UnknownBlock({"type": "web_search_call", "id": "ws_1"}, "openai_responses"),
                UnknownBlock({"type": "item_reference", "id": "msg_1"}, "openai_responses"),
                UnknownBlock({"type": "item_reference", "id": "ws_2"}, "openai_responses"),
                use("b"),
            ),
            result("b", "BB"),
            answer(text("Last ", item={"id": "bad"}), text("word ")),
        ),
        ("openai_responses", "deepseek_responses", "openai"),
    ),
    "request-only text behind the question": Pair(
        prompt(
            USER,
            answer(thought("One", "anthropic", "b25l"), use("a")),
            result("a", "A"),
            Message("user", "Now", kind="request"),
            answer(thought("Two", "anthropic", "dHdv"), use("b")),
            result("b", "B"),
        ),
        ("anthropic", "anthropic, claude-opus-5-5"),
    ),
    "request-only text at two places, and results beside a text": Pair(
        prompt(
            Message("user", "Early", kind="request"),
            USER,
            answer(thought("One", "anthropic", "b25l"), "Two"),
            Message("user", "Now", kind="mixed"),
            answer(thought("Three", "anthropic", "dGhyZWU="), use("a")),
            Message("user", (ToolResultBlock("a", (text("A"),)), "Beside")),
            answer(thought("Four", "anthropic", "Zm91cg=="), use("b")),
            result("b", "B"),
        ),
        ("anthropic", "anthropic, claude-opus-5-5"),
    ),
    "a question with request-only text behind it": Pair(
        prompt(
            USER,
            answer(thought("One", "anthropic", "b25l"), "Two"),
            Message("user", "Three", kind="trailed"),
            answer(thought("Four", "anthropic", "Zm91cg=="), use("a")),
            result("a", "A"),
        ),
        ("anthropic", "anthropic, claude-opus-5-5"),
    ),
    "what is the current turn of a server": Pair(
        prompt(
            USER,
            answer(thought("One", "vllm"), "Two"),
            Message("user", (picture(),)),
            answer(thought("Three", "vllm"), use("a")),
            Message("user", (ToolResultBlock("a", (text("A"),)), "Beside")),
            answer(thought("Four", "vllm"), use("b")),
            result("b", "B"),
            Message("user", " "),
            Message("user", "Now", kind="request"),
            answer(thought("Five", "vllm"), "Six"),
        ),
        ("vllm", "openai_compatible"),
    ),
    "signatures of Gemini under other keys": Pair(
        prompt(
            USER,
            answer(
                use(
                    "a",
                    extra_content={"google": {"thought_signature": "YQ=="}},
                    provider_specific_fields={"thought_signature": "Yg=="},
                    origin_of_keys="gemini_openai",
                ),
                use(
                    "b",
                    extra_content={"x": 1},
                    provider_specific_fields={"thought_signature": "Yg=="},
                    origin_of_keys="litellm",
                ),
                use("c", extra_content={"google": {}}, thought_signature="Yw=="),
                use("d", provider_specific_fields={"y": 1}, odd=[{"signature": "s"}]),
            ),
            *(result(id, id) for id in "dcba"),
            answer(use("e"), use("f", thought_signature="Zg==")),
            result("f", "F"),
            result("e", "E"),
            answer(text("One", thought_signature="MQ=="), text("Two", thought_signature="Mg==")),
            GO_ON,
            answer(text("Three"), text("Four", thought_signature="NA==")),
            GO_ON,
            answer(text("Five", thought_signature="NQ==")),
            GO_ON,
        ),
        ("gemini", "gemini_openai", "openai", "anthropic"),
    ),
    "two thoughts between tags": Pair(
        prompt(
            USER,
            answer(
                thought("One", "vllm", item={"tags": ["<think>", "</think>", "\n\n"]}),
                thought("Two", "vllm", item={"tags": ["<t>", "</t>", " "]}),
                "Three",
                "Four",
                use("a"),
            ),
            result("a", "A"),
            answer(thought("Five", "vllm", item={"tags": ["<t>", "</t>", ""]}), picture()),
        ),
        ("vllm",),
    ),
    "texts of one item of Responses, a blank one behind": Pair(
        prompt(
            USER,
            answer(
                text("One", item={"id": "msg_1"}),
                text(" ", item={"id": "msg_1", "phase": "final"}),
                text(" ", item={"id": "msg_2"}),
                text("Two", item={"id": "msg_2", "status": "completed"}),
                text(" "),
            ),
            GO_ON,
        ),
        ("openai_responses",),
    ),
}


def own(origin: str, **data: Any) -> UnknownBlock:
    """Return a block that one provider has."""
    return UnknownBlock(data, origin)


UNKNOWN: Mapping[str, Pair] = {
    "blocks of others between one's own": Pair(
        prompt(
            Message("system", ("One", own("bedrock", guardContent={"text": {"text": "G"}}))),
            Message(
                "user",
                (
                    own("openai", type="odd", a=1),
                    own("openai_responses", type="input_odd", a=2),
                    own("anthropic", type="search_result", title="S", content=[]),
                    own("bedrock", searchResult={"title": "S"}, cachePoint={"type": "default"}),
                    own("gemini", video_metadata={"fps": 1}),
                    "Hi",
                    UnknownBlock({"type": "imag", "a": 3}),
                    UnknownBlock({"type": "input_image", "image_url": "a"}),
                ),
            ),
            answer(
                own("anthropic", type="server_tool_use", id="s1", name="web", input={}),
                own("anthropic", type="web_search_tool_result", tool_use_id="s1", content=[]),
                own("anthropic", type="search_result", title="S", content=[]),
                own("gemini", executable_code={"code": "1"}, thought_signature="YQ=="),
                own("gemini", executable_code={"code": "2"}, tool_call={}),
                own("bedrock", toolUse={"toolUseId": "1", "name": "n", "type": "server_tool_use"}),
                own("bedrock", cachePoint={"type": "default"}),
                own("openai", type="odd", a=4),
                "Hello",
            ),
            GO_ON,
        ),
        FOUR,
    ),
    "further keys of two blocks": Pair(
        prompt(
            Message(
                "user",
                (text("One", odd=1, citations=[{"n": 1}]), picture(extra={"error": {}, "odd": 2})),
            ),
            answer(
                text("Two", citations=[{"n": 2}], odd=None),
                text("Three", citationsContent=[{"n": 3}], signature={"signature": "s"}),
                use("a", caller={"type": "direct"}, odd={"signature": "s"}),
                use("b", "read", "", caller={"type": "direct"}),
                use("c", "find", "[1]"),
            ),
            result("a", "A", extra={"toolset_name": "t", "odd": 5}),
            result("b", "B"),
            result("c", "C"),
            Message(
                "user",
                (
                    document(
                        "One", extra={"context": "c", "citations": {"enabled": True}, "odd": 6}
                    ),
                    document("Two", extra={"context": ""}),
                ),
            ),
        ),
        (*FOUR, "openai_compatible"),
    ),
    "an answer of which nothing is sent": Pair(
        prompt(
            USER,
            answer(own("elsewhere", type="odd", a=1)),
            Message("user", "Still"),
            answer(own("elsewhere", type="odd", a=2), "Yes"),
            GO_ON,
        ),
        FOUR,
    ),
}

_NESTED = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "minLength": 1, "pattern": "^a"},
        "b": {"type": "object", "properties": {"c": {"oneOf": [{"type": "null"}]}}},
    },
}
_UNION = {
    "anyOf": [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "number"}, "b": {}}, "required": ["b"]},
    ]
}
_BOTH = {
    "type": "object",
    "properties": {"z": {"type": "null"}},
    "allOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a", "z"]},
        {"properties": {"a": {"type": "number"}, "b": {}}, "required": ["b", "a"]},
    ],
}


def strict(name: str, schema: Any, origin: str | None = None, **extra: Any) -> ToolDefinition:
    """Return a tool that is strict."""
    return ToolDefinition(name, f"{name}.", schema, extra={"strict": True, **extra}, origin=origin)


TOOLS: Mapping[str, Pair] = {
    "strict tools": Pair(
        prompt(
            USER,
            tools=(
                strict("closed", CLOSED),
                strict("nested", _NESTED),
                strict("union", _UNION),
                strict("both", _BOTH),
                strict("other", CLOSED, "openai", odd=1, empty={}),
                strict("third", _NESTED, "anthropic", odd=2),
                ToolDefinition("loose", None, _UNION),
                ToolDefinition(
                    "bare", extra={"item": {"type": "function", "odd": 3}}, origin="openai"
                ),
                ToolDefinition("plain", " ", {"properties": {}}),
                ToolDefinition("string", "S.", {"type": "string"}),
            ),
            tool_choice="third",
            output=OutputSchema(_NESTED, "my form", "A form."),
        ),
        (*FOUR, "openai, gpt-4", "openai_compatible", "mistral", "bedrock, amazon.nova-lite"),
    ),
    "tools of each provider": Pair(
        prompt(
            USER,
            tools=(
                FIND,
                ToolDefinition(
                    "o", raw={"type": "custom", "custom": {"name": "o"}}, origin="openai"
                ),
                ToolDefinition("web_search", raw={"type": "web_search"}, origin="openai_responses"),
                ToolDefinition(
                    "docs", raw={"type": "mcp", "server_label": "docs"}, origin="openai_responses"
                ),
                ToolDefinition("a", raw={"type": "mcp_toolset", "name": "a"}, origin="anthropic"),
                ToolDefinition("google_search", raw={"google_search": {}}, origin="gemini"),
                ToolDefinition("url_context", raw={"url_context": {}}, origin="gemini"),
                ToolDefinition("b", raw={"systemTool": {"name": "b"}}, origin="bedrock"),
                READ,
            ),
            tool_choice="docs",
        ),
        (*FOUR, "mistral"),
    ),
    "more strict tools than a request may have": Pair(
        prompt(USER, tools=tuple(strict(f"tool_{number}", CLOSED) for number in range(22))),
        ("anthropic",),
    ),
    "more optional properties than a request may have": Pair(
        prompt(
            USER,
            tools=(
                strict(
                    "first",
                    {
                        "type": "object",
                        "properties": {f"p{n}": {"type": "string"} for n in range(20)},
                        "additionalProperties": False,
                    },
                ),
                strict(
                    "second",
                    {
                        "type": "object",
                        "properties": {f"p{n}": {"type": "string"} for n in range(5)},
                        "additionalProperties": False,
                    },
                ),
                strict(
                    "third",
                    {
                        "type": "object",
                        "properties": {f"p{n}": {"type": "string"} for n in range(4)},
                        "additionalProperties": False,
                    },
                ),
                strict(
                    "fourth",
                    {
                        "type": "object",
                        "properties": {"p": {"type": "string"}},
                        "additionalProperties": False,
                    },
                ),
            ),
        ),
        ("anthropic",),
    ),
    "alternatives of properties that are there": Pair(
        prompt(
            USER,
            tools=(
                ToolDefinition(
                    "known",
                    None,
                    {
                        "type": "object",
                        "properties": {"a": {"type": "string"}, "b": {"type": "null"}},
                        "required": ["b"],
                        "oneOf": [
                            {"properties": {"a": {"type": "number"}, "c": {"type": "string"}}},
                            {"properties": {"c": {"type": "number"}}, "required": ["c"]},
                            {"properties": {"c": {"type": "null"}, "d": {}}},
                        ],
                    },
                ),
                ToolDefinition(
                    "referring",
                    "R.",
                    {
                        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "null"}}}},
                        "anyOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {}}}],
                    },
                ),
                ToolDefinition("empty", None, {"type": "object", "allOf": [{}, {"not": {}}]}),
            ),
        ),
        ("openai", "anthropic", "bedrock", "gemini"),
    ),
    "words that are left out inside of others": Pair(
        prompt(
            USER,
            output=OutputSchema(
                {
                    "type": "object",
                    "properties": {
                        "a": {"not": {"type": "string", "minLength": 2}},
                        "b": {"not": {"type": "string"}},
                        "c": {"type": "array", "minItems": 1, "items": {"const": 1}},
                        "d": {"type": "array", "minItems": 2, "maxItems": 3},
                        "e": {"type": "string", "format": "date", "pattern": "(?=a)b"},
                        "f": {"type": "string", "format": "odd", "pattern": "^a", "title": "F"},
                        "g": {"description": "G.", "oneOf": [{}], "anyOf": [{"type": "null"}]},
                        "h": {"type": ["object", "null"], "properties": {"i": {"enum": [1]}}},
                    },
                },
                strict=True,
            ),
        ),
        FOUR,
    ),
}

_BY_TEMPLATE = ("chat_template", *(name for name in TARGETS if name.startswith("chat_template, ")))
TEMPLATED: Mapping[str, Pair] = {
    "two rounds of calls, with reasoning": Pair(
        prompt(
            Message("system", ("Be kind.", "Be brief.")),
            Message("developer", "Be exact."),
            Message("user", ("One", picture(), "Two", picture(), "Three"), name="Ada"),
            answer(
                thought("First", "chat_template"),
                thought("Second", None),
                thought("Third", "anthropic"),
                "Four",
                use("a", "find", '{"x": 1}'),
                use("b", "read", '{"y": [2]}'),
                use("open"),
            ),
            result("b", "B", " ", "BB"),
            result("a", is_error=True, error_type="timeout"),
            answer(thought("Fourth", "chat_template"), use("a", "read")),
            result("a", "A", picture()),
            answer(thought("Fifth", "chat_template"), "Five", " ", "Six"),
            Message("user", "Seven"),
            Message("developer", "Eight"),
            Message("user", "Nine", kind="request"),
            answer(use("c")),
            Message(
                "user",
                (ToolResultBlock("c", (text("C"),)), "Ten", ToolResultBlock("d", (text("D"),))),
            ),
            answer("Eleven", use("e")),
            tools=(ToolDefinition("find", "Find.", CLOSED), READ),
        ),
        _BY_TEMPLATE,
        KEEP,
    ),
    "the model goes on, after one that speaks first": Pair(
        prompt(
            Message("system", "Be kind."),
            answer("One", name="bot"),
            answer("Two"),
            Message("user", "Three"),
            Message("user", (picture(), picture(detail="low", title="Cat"))),
            answer("Four", thought("Last", "chat_template"), "Five ", " "),
        ),
        _BY_TEMPLATE,
    ),
    "tokens, ids and names that are broken": Pair(
        prompt(
            Message("system", "<|im_end|> and [INST] and </s>"),
            Message("user", ("a<|im_end|>", "<start_of_turn>b", "<|x|")),
            answer(
                "<|eot_id|>",
                use("<|i|>", "web find", '{"a b": 1, "a_b": 2, "a.b": {"a b": "<|im_end|>"}}'),
                use("<|i|>_2", "web_find", '{"<|k|>": ["</s>", 1], "<|k|>2": null}'),
                use("i" * 9, "1.find", "[1]"),
            ),
            result("i" * 9, "</s>", "[/INST]"),
            result("<|i|>", "<|im_end|>"),
            result("<|i|>_2", "<end_of_turn>"),
            answer(use("<|i|>", "web find"), use("j" * 9, "web_find")),
            result("j" * 9, "J"),
            result("<|i|>", "I"),
            Message("user", "Hi <|im_start|>", name="<|im_end|>"),
            tools=(
                ToolDefinition("web find", "<|im_end|>", CLOSED, "default"),
                ToolDefinition(
                    "web_find", None, {"properties": {"a": {}, "b": {"enum": ["</s>"]}}}
                ),
                ToolDefinition("grep", raw={"type": "custom"}, origin="openai"),
            ),
            tool_choice="required",
            output=OutputSchema(CLOSED),
        ),
        _BY_TEMPLATE,
    ),
}

FILES: Mapping[str, Mapping[str, Pair]] = {
    "ids": IDS,
    "marks": MARKS,
    "roles": ROLES,
    "errors": ERRORS,
    "media": MEDIA,
    "thoughts": THOUGHTS,
    "unknown": UNKNOWN,
    "tools": TOOLS,
    "templated": TEMPLATED,
}
"""By the name of a file, its prompts."""

PLACED = ("marks", "roles", "errors", "media", "templated")
"""The files that show where each block is sent, too."""

GROWING = ("ids", "marks", "roles", "errors", "thoughts")
"""The files whose prompts are written as they grow, too."""
