"""Attachments at an address whose bytes a function of the author's loads: ``media_loader``."""

import asyncio
import base64
import inspect
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.internals import MAX_BYTES
from tests.providers.every_target import every_check_of
from tests.renders import lossy_payload, reported

WEB = "https://e.org/"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
JPEG = b"\xff\xd8\xff\xe0" + bytes(8)
PDF = b"%PDF-1.7\n"
WAV = b"RIFF\x04\x00\x00\x00WAVE"
FILES = {
    **{"a.png": PNG, "b.png": PNG, "c.jpg": JPEG, "report.pdf": PDF, "a.wav": WAV},
    **{"a.csv": b"a,b\n", "a.md": b"# A\n", "a": PNG, "wrong.png": JPEG},
}
LOADER = "a media_loader can give it the bytes: render(..., media_loader=...)"


@attrs.define
class Web:
    """Files by the last part of an address; ``asked`` are the addresses that were asked for."""

    files: dict[str, Any] = attrs.field(factory=lambda: dict(FILES))
    asked: list[str] = attrs.field(factory=list)

    def load(self, address: str) -> Any:
        """Return the bytes at an address."""
        self.asked.append(address)
        return self.files[address.partition("?")[0].rpartition("/")[2]]

    async def aload(self, address: str) -> Any:
        """Return the bytes at an address, after others had a chance to run."""
        await asyncio.sleep(0)
        return self.load(address)


def by_render(tree: Node, web: Web, **target: Any) -> Rendered:
    """Return a prompt rendered with a function."""
    return render(tree, media_loader=web.load, **target)


def by_arender(tree: Node, web: Web, **target: Any) -> Rendered:
    """Return a prompt rendered with an asynchronous function."""
    return asyncio.run(arender(tree, media_loader=web.aload, **target))


def mixed(tree: Node, web: Web, **target: Any) -> Rendered:
    """Return a prompt rendered asynchronously with a plain function."""
    return asyncio.run(arender(tree, media_loader=web.load, **target))


either_way = pytest.mark.parametrize("way", [by_render, by_arender, mixed])


def parts(rendered: Rendered, index: int = -1) -> list[Any]:
    """Return the parts of a message of a payload."""
    payload = rendered.payload()
    entry = payload.get("messages", payload.get("input", payload.get("contents")))[index]
    found: list[Any] = entry.get("content") or entry["parts"]
    return found


# Which addresses are loaded.


@either_way
@pytest.mark.parametrize(
    ("provider", "part", "sent"),
    [
        (
            "bedrock",
            Image.from_url(WEB + "a.png"),
            {"image": {"format": "png", "source": {"bytes": PNG}}},
        ),
        (
            "bedrock",
            Document.from_url(WEB + "a.csv"),
            {"document": {"name": "a", "format": "csv", "source": {"bytes": b"a,b\n"}}},
        ),
        (
            "bedrock",
            Image.from_url("gs://b/a.png"),
            {"image": {"format": "png", "source": {"bytes": PNG}}},
        ),
        (
            "openai",
            Document.from_url(WEB + "report.pdf?x=1#y"),
            {
                "type": "file",
                "file": {
                    "file_data": "data:application/pdf;base64,JVBERi0xLjcK",
                    "filename": "report.pdf",
                },
            },
        ),
        (
            "openai",
            Audio.from_url(WEB + "a.wav"),
            {
                "type": "input_audio",
                "input_audio": {"data": base64.b64encode(WAV).decode(), "format": "wav"},
            },
        ),
        (
            "openai_responses",
            Document.from_url("s3://b/report.pdf"),
            {
                "type": "input_file",
                "file_data": "data:application/pdf;base64,JVBERi0xLjcK",
                "filename": "report.pdf",
            },
        ),
        (
            "anthropic",
            Document.from_url(WEB + "a.csv"),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "a,b\n"},
                "title": "a.csv",
            },
        ),
        (
            "anthropic",
            Image.from_url("s3://b/a.png"),
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": base64.b64encode(PNG).decode(),
                },
            },
        ),
        (
            "gemini",
            Image.from_url(WEB + "a"),
            {
                "inline_data": {
                    "mime_type": "image/png",
                    "data": base64.b64encode(PNG).decode(),
                }
            },
        ),
    ],
)
def test_an_address_becomes_bytes(way: Any, provider: str, part: Node, sent: Any) -> None:
    """Where a target takes no address, the bytes are loaded and sent like those of a file."""
    web = Web()
    rendered = way(User("See.", part), web, provider=provider)
    assert (sent, 1) == (parts(rendered)[1], len(web.asked))
    assert () == rendered.losses


@either_way
@pytest.mark.parametrize(
    ("provider", "part"),
    [
        ("openai", Image.from_url(WEB + "a.png")),
        ("openai_responses", Document.from_url(WEB + "report.pdf")),
        ("anthropic", Image.from_url(WEB + "a.png")),
        ("anthropic", Document.from_url(WEB + "report.pdf")),
        ("gemini", Image.from_url(WEB + "a.png")),
        ("gemini", Document.from_url("gs://b/report.pdf")),
        ("bedrock", Image.from_url("s3://bucket/a.png")),
        ("bedrock", Image.from_bytes(PNG)),
        ("bedrock", Image.from_file_id("f")),
        ("bedrock", Audio.from_url(WEB + "a.wav")),
        ("anthropic", Video.from_url("s3://b/a.mp4")),
        ("chat_template", Image.from_url(WEB + "a.png")),
        (None, Image.from_url(WEB + "a.png")),
    ],
)
def test_nothing_else_is_loaded(way: Any, provider: str | None, part: Node) -> None:
    """An address that a target takes, or that it never takes, is not loaded."""
    web = Web()
    tree = User("See.", part)
    with_loader = way(tree, web, provider=provider)
    without = render(tree, provider=provider)
    assert [] == web.asked
    assert (without.messages, without.losses) == (with_loader.messages, with_loader.losses)


def test_an_address_in_s3_is_loaded_by_model() -> None:
    """On Bedrock only Nova takes an address in S3."""
    tree = User("See.", Image.from_url("s3://bucket/a.png"))
    claude, nova = Web(), Web()
    (_, loaded) = parts(by_render(tree, claude, provider="bedrock", model="claude-opus-5-5"))
    (_, sent) = parts(by_render(tree, nova, model="us.amazon.nova-pro-v1:0"))
    assert (PNG, "s3://bucket/a.png") == (
        loaded["image"]["source"]["bytes"],
        sent["image"]["source"]["s3Location"]["uri"],
    )
    assert (1, 0) == (len(claude.asked), len(nova.asked))


@either_way
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5-5"])
def test_an_address_in_a_result_is_loaded(way: Any, model: str) -> None:
    """A file that leaves its result is loaded like one that a user sends."""
    result = ToolMessage("a", Document.from_url(WEB + "report.pdf"), is_error=True)
    tree = Timeline(User("Q"), Assistant(ToolUse("t", {}, id="a")), result)
    web = Web()
    rendered = way(tree, web, model=model, provider=None if model == "gpt-5" else "bedrock")
    told = [hint.what for hint in rendered.hints if hint.name == "moved_file"]
    assert (["document in a tool result"], 1) == (told, len(web.asked))


@either_way
def test_a_text_at_an_address_is_sent_as_text(way: Any) -> None:
    """Chat gets the text of a file that it does not take, in a user's turn and in a result."""
    texts = [Document.from_url(WEB + name, title="T") for name in ("a.md", "a.csv")]
    turns = User("Q", texts[0]), Assistant(ToolUse("t", {}, id="a")), ToolMessage("a", texts[1])
    web = Web()
    rendered = way(Timeline(*turns), web, provider="openai")
    assert [
        'Q\n\n<document name="T" type="text/markdown">\n# A\n\n</document>',
        '<document name="T" type="text/csv">\na,b\n\n</document>',
    ] == [rendered.payload()["messages"][index]["content"] for index in (0, -1)]
    assert (2, {"hint"}) == (len(web.asked), {hint.kind for hint in rendered.hints})


def test_a_picture_of_a_model_is_loaded() -> None:
    """Gemini takes the pictures of an answer as bytes only."""
    answer = {"role": "assistant", "content": [{"url": WEB + "a.png"}]}
    tree = Timeline(User("Draw."), History([answer]), User("Again."))
    rendered = by_render(tree, Web(), provider="gemini")
    assert "image/png" == parts(rendered, 1)[0]["inline_data"]["mime_type"]


def test_a_function_may_write_prompts() -> None:
    """The function is called with no block open, so it can render another prompt."""

    def load(_: str) -> bytes:
        assert "Draw." == render(Timeline(User("Draw."))).messages[0].text
        return PNG

    part = User("See.", *pictures("a.png"))
    with Timeline():
        rendered = render(part, provider="bedrock", media_loader=load)
    assert "png" == parts(rendered)[1]["image"]["format"]


@every_check_of("openai", "openai_responses", "anthropic", "gemini", "bedrock")
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5-5", "gemini-3.8-flash"])
@pytest.mark.parametrize("provider", [None, "bedrock"])
def test_services_take_what_was_loaded(check: Any, model: str, provider: str | None) -> None:
    """What was loaded is sent in the form that the types of the SDK and the service take."""
    tree = User("See.", Image.from_url("s3://b/a.png"), Document.from_url("s3://b/report.pdf"))
    rendered = render(tree, model=model, provider=provider, media_loader=Web().load)
    check(lossy_payload(rendered), rendered.facts)


@pytest.mark.parametrize("provider", ["bedrock", "openai"])
@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "/etc/passwd", "ftp://e.org/a.png", "https://", "data:,x"]
)
def test_no_other_address_reaches_the_function(provider: str, url: str) -> None:
    """An address in data of another scheme is a loss, and never asked for."""
    web = Web()
    content = ["See.", {"type": "document", "url": url}]
    tree = History([{"role": "user", "content": content}])
    assert ["content"] == [loss.kind for loss in by_render(tree, web, provider=provider).losses]
    assert [] == web.asked


@pytest.mark.parametrize(
    ("provider", "part", "why"),
    [
        (
            "bedrock",
            Image.from_url(WEB + "a.png"),
            f"Converse takes only bytes and objects in S3; {LOADER}",
        ),
        ("openai", Document.from_url(WEB + "a.md"), f"Chat takes no address of one; {LOADER}"),
        (
            "anthropic",
            Image.from_url("gs://b/a"),
            f"its source or its media type is not taken; {LOADER}",
        ),
        ("bedrock", Image.from_file_id("f"), "Converse takes only bytes and objects in S3"),
        ("bedrock", Audio.from_url(WEB + "a.wav"), "this model takes no audio"),
    ],
)
def test_a_loss_says_that_a_function_would_help(provider: str, part: Node, why: str) -> None:
    """Without a function nothing is loaded, and the loss names it where it would help."""
    assert [why] == [loss.why for loss in render(User("See.", part), provider=provider).losses]


def test_strict_is_content_with_what_was_loaded() -> None:
    """With a function, an address is no loss of content."""
    tree = User("See.", Image.from_url(WEB + "a.png"))
    raised(LossError, lambda: render(tree, provider="bedrock", strict=True))
    assert () == reported(by_render(tree, Web(), provider="bedrock", strict=True))


def test_messages_keep_their_addresses() -> None:
    """The neutral messages have the address; only the payload has the bytes."""
    tree = User("See.", Image.from_url(WEB + "a.png", title="T"))
    assert render(tree).messages == by_render(tree, Web(), provider="bedrock").messages


# How often, and in which order.


def pictures(*names: str) -> list[Node]:
    """Return pictures at addresses."""
    return [Image.from_url(WEB + name) for name in names]


@either_way
def test_an_address_is_loaded_once(way: Any) -> None:
    """The function gets each address once, in the order of the prompt."""
    web = Web()
    tree = Timeline(
        User("See.", *pictures("b.png", "a.png", "b.png")),
        Assistant("Hm.", ToolUse("look", {}, id="1")),
        ToolMessage("1", *pictures("a.png", "c.jpg")),
    )
    rendered = way(tree, web, provider="bedrock")
    assert [WEB + "b.png", WEB + "a.png", WEB + "c.jpg"] == web.asked
    assert 3 == len([part for part in parts(rendered, 0) if "image" in part])
    result = parts(rendered)[0]["toolResult"]["content"]
    assert ["png", "jpeg"] == [part["image"]["format"] for part in result]


@either_way
def test_a_budget_loads_an_address_once(way: Any) -> None:
    """While a budget tries smaller prompts, nothing is loaded twice."""
    web = Web()
    with Timeline() as tree:
        System("Be brief.")
        for number in range(40):
            User(f"Question {number}. " * 20, *pictures("a.png"))
            Assistant("Answer. " * 20)
        User("Last.", *pictures("b.png"))
    history = render(tree).messages
    small = Timeline(History(history[:-1]), User("Last.", *pictures("b.png")))
    rendered = way(small, web, provider="bedrock", budget=8_000)
    assert [WEB + "a.png", WEB + "b.png"] == web.asked
    assert 0 < len(rendered.dropped)
    assert rendered.tokens.total <= 8_000


@pytest.mark.parametrize("first", [None, "bedrock"])
def test_another_target_shares_what_was_loaded(first: str | None) -> None:
    """Another target of one result gets the bytes that were loaded before."""
    web = Web()
    tree = User("See.", *pictures("a.png"), Document.from_url(WEB + "report.pdf"))
    rendered = by_render(tree, web, provider=first)
    there = [rendered.for_target(target) for target in ("bedrock", "openai", "bedrock")]
    assert [WEB + "a.png", WEB + "report.pdf"] == web.asked
    assert parts(there[0]) == parts(there[2])
    assert parts(there[0]) == parts(render(tree, provider="bedrock", media_loader=web.load))


def test_a_payload_loads_nothing_again() -> None:
    """Payloads and token counts are made of what was loaded."""
    web = Web()
    rendered = by_render(User("See.", *pictures("a.png")), web, provider="bedrock")
    payloads = [rendered.payload(), rendered.payload()]
    assert (payloads[0], [WEB + "a.png"]) == (payloads[1], web.asked)
    assert rendered.tokens.total > 0


def test_a_recorded_conversation_grows() -> None:
    """The recorded pictures of a long conversation are sent as bytes, each render once."""
    messages: list[Any] = [
        message
        for number in range(200)
        for message in (
            {"role": "user", "content": ["See.", {"url": f"{WEB}{number}/a.png"}]},
            {"role": "assistant", "content": "A dot."},
        )
    ]
    recorded = render(History(messages)).messages
    payloads = []
    for stop in (398, 400):
        web = Web()
        tree = Timeline(History(recorded[:stop]), User("And?"))
        payloads.append(by_render(tree, web, provider="bedrock").payload()["messages"])
        assert [f"{WEB}{number}/a.png" for number in range(stop // 2)] == web.asked
    assert payloads[0][:398] == payloads[1][:398]
    assert {"format": "png", "source": {"bytes": PNG}} == payloads[1][398]["content"][1]["image"]


LISTED = Document.from_url(WEB + "a.csv")


def long_talk(name: str) -> Node:
    """Return a recorded exchange of 1,000 tokens with a document at an address."""
    document = {"type": "document", "url": WEB + name}
    question = {"role": "user", "content": ["See.", document]}
    return History([question, {"role": "assistant", "content": "A list. " * 300}])


@pytest.mark.parametrize("budget", [None, 600, 100])
def test_all_addresses_are_awaited_at_once(budget: int | None) -> None:
    """An asynchronous function is called for all addresses before one of them is there."""
    together = asyncio.Barrier(3)

    async def load(address: str) -> bytes:
        await asyncio.wait_for(together.wait(), 10)
        return FILES[address.rpartition("/")[2]]

    asked = User(Lazy(lambda _: "See."), Document.from_url(WEB + "a.md"), LISTED)
    tree = Timeline(long_talk("report.pdf"), asked)
    rendered = asyncio.run(arender(tree, provider="bedrock", media_loader=load, budget=budget))
    assert ["md", "csv"] == [part["document"]["format"] for part in parts(rendered)[1:]]


@either_way
@pytest.mark.parametrize("budget", [600, 100])
def test_a_failure_in_a_dropped_part_is_none(way: Any, budget: int) -> None:
    """A budget asks once for every address, and raises the failures of those that are sent."""
    tree = Timeline(long_talk("x.pdf"), User("And?", LISTED))
    webs = [Web(), Web()]
    rendered = way(tree, webs[0], provider="bedrock", budget=budget)
    raised(MediaError, lambda: way(tree, webs[1], provider="bedrock", budget=5_000))
    assert ["history"] == [part.what for part in rendered.dropped]
    assert [[WEB + "x.pdf", WEB + "a.csv"]] * 2 == [web.asked for web in webs]


# What is wrong.


class _Called:
    async def __call__(self, address: str) -> bytes:
        return FILES[address.rpartition("/")[2]]


@pytest.mark.parametrize("load", [Web().aload, _Called(), lambda address: Web().aload(address)])
def test_render_does_not_wait(load: Any) -> None:
    """An asynchronous function under render is an error that names arender, and works there."""
    tree = User("See.", *pictures("a.png"))
    error = raised(
        (OptionError, MediaError),  # type: ignore[arg-type]
        lambda: render(tree, provider="bedrock", media_loader=load),
    )
    assert "this media_loader is asynchronous, and render() does not wait" == error.what
    assert (True, 1) == ("await arender(...)" in error.fix, len(error.at))
    rendered = asyncio.run(arender(tree, provider="bedrock", media_loader=load))
    assert {"format": "png", "source": {"bytes": PNG}} == parts(rendered)[1]["image"]


def test_another_target_does_not_wait() -> None:
    """A target that needs an address awaited after the render says how to render for it."""

    def write() -> Node:
        return User("See.", Image.from_url(WEB + "a.png"))

    rendered = by_arender(write(), Web())
    error = raised(MediaError, rendered.to_bedrock)
    assert ("use await arender(...) for this target", lines_of(write, 1)) == (error.fix, error.at)


@pytest.mark.parametrize("load", [3, "https://e.org", b"x", {}])
def test_a_loader_is_a_function(load: Any) -> None:
    """Anything but a function is an error at the line of the render."""

    def write() -> Rendered:
        return render(User("See."), media_loader=load)

    error = raised(OptionError, write)
    assert (f"media_loader={load!r}", lines_of(write, 1)) == (error.what, error.at)


WRONG: dict[str, tuple[Any, str, str]] = {
    "text": ("x", "media_loader returned str for 'https://e.org/x'", "return its bytes"),
    "nothing": (None, "media_loader returned NoneType for 'https://e.org/x'", "return its bytes"),
    "a view": (
        memoryview(PNG),
        "media_loader returned memoryview for 'https://e.org/x'",
        "return its bytes",
    ),
    "no bytes": (b"", "the attachment is empty: 'https://e.org/x'", "give its bytes"),
    "another kind": (PDF, "an Image cannot be application/pdf: 'https://e.org/x'", "Document"),
    "another type": (
        JPEG,
        "the attachment is declared image/png, but its bytes are image/jpeg: 'https://e.org/x'",
        'write media_type="image/jpeg", or leave it out',
    ),
    "too many bytes": (
        PNG + bytes(MAX_BYTES),
        "the attachment has 33,554,448 bytes, the limit is 33,554,432: 'https://e.org/x'",
        "make it smaller, or upload it and write from_file_id(id)",
    ),
}


@either_way
@pytest.mark.parametrize("name", WRONG)
def test_wrong_bytes_are_refused(way: Any, name: str) -> None:
    """What is no attachment of its kind and type is an error with its address and its line."""
    data, what, fix = WRONG[name]

    def write() -> Node:
        return User("See.", Image.from_url(WEB + "x", media_type="image/png"))

    tree = write()
    error = raised(MediaError, lambda: way(tree, Web({"x": data}), provider="bedrock"))
    assert (what, True, lines_of(write, 1)) == (error.what, fix in error.fix, error.at)


@pytest.mark.parametrize("data", [PNG, bytearray(PNG)])
def test_bytes_and_bytearrays_are_taken(data: Any) -> None:
    """The function returns bytes or a bytearray, which may change afterwards."""
    web = Web({"a.png": data})
    rendered = by_render(User("See.", *pictures("a.png")), web, provider="bedrock")
    assert {"format": "png", "source": {"bytes": PNG}} == parts(rendered)[1]["image"]


def test_an_extension_that_lies_is_no_error() -> None:
    """An extension in an address declares nothing: the bytes tell the type."""
    rendered = by_render(User("See.", *pictures("wrong.png")), Web(), provider="bedrock")
    assert "jpeg" == parts(rendered)[1]["image"]["format"]


@either_way
def test_what_the_function_raises_has_a_line(way: Any) -> None:
    """An exception of the function is the cause of an error with the address and its line."""

    def write() -> Node:
        return User(
            *pictures("a.png"),
            Text("and"),
            Document.from_url(WEB + "lost.pdf"),
        )

    tree = write()
    error = raised(MediaError, lambda: way(tree, Web(), provider="bedrock"))
    assert "media_loader failed for 'https://e.org/lost.pdf': KeyError: 'lost.pdf'" == error.what
    assert (KeyError, lines_of(write, 4)) == (type(error.__cause__), error.at)


class Mute(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise ValueError


@either_way
@pytest.mark.parametrize(
    ("exception", "said"),
    [
        (ValueError("\x1b[2J\n  all is well"), r"ValueError: \x1b[2J\n  all is well"),
        (KeyError("x" * 999), "KeyError: '" + "x" * 297),
        (Mute(), "Mute"),
    ],
)
def test_what_a_server_said_is_one_line(way: Any, exception: Exception, said: str) -> None:
    """The text of an exception, which may be a stranger's, is shown on one line, and not long."""

    class Down(Web):
        def load(self, address: str) -> Any:
            raise exception from KeyError(address)

    error = raised(MediaError, lambda: way(User(*pictures("a.png")), Down(), provider="bedrock"))
    assert f"media_loader failed for 'https://e.org/a.png': {said}" == error.what


@either_way
def test_a_failure_in_a_result_has_its_line(way: Any) -> None:
    """An attachment in the result of a tool, or in merged turns, has a line of its own."""

    def write() -> Node:
        return Timeline(
            User("See."),
            Assistant(ToolUse("look", {}, id="1")),
            ToolMessage("1", *pictures("a.png"), Image.from_url(WEB + "x.png")),
            User("And?"),
            User("This?", Image.from_url(WEB + "y.png")),
        )

    tree = write()
    web = Web()
    error = raised(MediaError, lambda: way(tree, web, provider="bedrock"))
    assert lines_of(write, 4) == error.at
    web.files["x.png"] = PNG
    error = raised(MediaError, lambda: way(tree, web, provider="bedrock"))
    assert lines_of(write, 6) == error.at


@either_way
def test_the_first_failure_is_raised(way: Any) -> None:
    """Of several failures, the first in the prompt is raised."""
    tree = User(*pictures("x.png", "a.png", "y.png"))
    error = raised(MediaError, lambda: way(tree, Web(), provider="bedrock"))
    assert "media_loader failed for 'https://e.org/x.png': KeyError: 'x.png'" == error.what


@either_way
def test_a_recorded_failure_has_the_line_of_its_history(way: Any) -> None:
    """A recorded attachment that fails has the line of its History, in a result, too."""

    def write() -> Node:
        return Timeline(
            User("Hi.", *pictures("a.png")),
            History(
                [
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "tool_use", "id": "1", "name": "look", "input": {}},
                        ],
                    },
                    {
                        "role": "tool",
                        "content": [
                            {
                                "type": "tool_result",
                                "tool_use_id": "1",
                                "content": [{"url": WEB + "x.png"}],
                            },
                        ],
                    },
                ]
            ),
        )

    tree = write()
    error = raised(MediaError, lambda: way(tree, Web(), provider="bedrock"))
    assert lines_of(write, 3) == error.at


def test_an_interrupt_is_no_failure() -> None:
    """What is no Exception comes out as it is."""

    def load(_: str) -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render(User(*pictures("a.png")), provider="bedrock", media_loader=load)


@pytest.mark.parametrize("function", [render, arender])
def test_the_parameter_is_an_option(function: Callable[..., object]) -> None:
    """Both functions that render list ``media_loader`` in their signature."""
    assert "media_loader" in inspect.signature(function).parameters
