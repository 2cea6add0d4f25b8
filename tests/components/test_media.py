"""Attachments: how they are written, and what becomes of them."""

import base64
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import reported

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
URL = "https://example.com/x.png"
DATA = "iVBORw0KGgoAAAAAAAAAAA=="


def blocks(tree: Node, **options: Any) -> tuple[Any, ...]:
    """Return the blocks of the last message."""
    return render(tree, **options).messages[-1].content


def test_a_picture_at_an_address() -> None:
    """An address is passed on."""
    assert (ImageBlock(MediaSource("url", URL)),) == blocks(User(Image.from_url(URL)))


def test_a_picture_of_bytes() -> None:
    """Bytes are sent in base64, with the type they tell."""
    expected = ImageBlock(MediaSource("base64", DATA, "image/png"))
    assert (expected,) == blocks(User(Image.from_bytes(PNG)))


@pytest.mark.parametrize("form", [str, Path])
def test_a_picture_in_a_file(tmp_path: Path, form: type) -> None:
    """A file is read when the prompt is rendered, and sent like bytes."""
    (tmp_path / "x.png").write_bytes(PNG)
    expected = ImageBlock(MediaSource("base64", DATA, "image/png"))
    assert (expected,) == blocks(User(Image.from_path(form(tmp_path / "x.png"))))


def test_the_type_may_be_said(tmp_path: Path) -> None:
    """The type of bytes that do not tell it is said, by position or by name."""
    (tmp_path / "x.svg").write_bytes(b"<svg/>")
    tree = User(
        Image.from_bytes(b"<svg/>", "image/svg+xml"),
        Image.from_bytes(b"<svg/>", media_type="image/svg+xml"),
        Image.from_path(tmp_path / "x.svg", media_type="image/svg+xml"),
    )
    assert ["image/svg+xml"] * 3 == [block.source.media_type for block in blocks(tree)]


def test_title_and_detail_survive(tmp_path: Path) -> None:
    """Title and detail are the block's, however the picture is passed."""
    (tmp_path / "x.png").write_bytes(PNG)
    tree = User(
        Image.from_url(URL, title="T", detail="low"),
        Image.from_bytes(PNG, title="T", detail="low"),
        Image.from_path(tmp_path / "x.png", title="T", detail="low"),
        Image.from_base64(DATA, title="T", detail="low"),
        Image.from_file_id("file-1", title="T", detail="low"),
    )
    assert [("T", "low")] * 5 == [(block.title, block.detail) for block in blocks(tree)]


def test_pictures_stand_where_they_are_written() -> None:
    """A picture between texts is a block between theirs."""
    with User() as turn:
        Text("a")
        Image.from_url(URL)
        Text("b")
    assert (TextBlock("a"), ImageBlock(MediaSource("url", URL)), TextBlock("b")) == blocks(turn)


def test_a_tool_answers_with_a_picture() -> None:
    """A picture is content of a tool's answer."""
    tree = Timeline(
        User("q"), Assistant(ToolUse("t", {}, id="1")), ToolMessage("1", Image.from_bytes(PNG))
    )
    (result,) = blocks(tree)
    assert (ImageBlock(MediaSource("base64", DATA, "image/png")),) == result.content


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}),
        (
            "anthropic",
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": DATA},
            },
        ),
    ],
)
def test_pictures_reach_providers(provider: str, expected: Any) -> None:
    """A picture of bytes is in the payload of each provider."""
    payload = render(User("a", Image.from_bytes(PNG)), provider=provider).payload()
    assert expected == payload["messages"][-1]["content"][-1]


@pytest.mark.parametrize("args", [(), ("x.png",), (PNG,)])
def test_an_image_is_made_by_its_methods(args: Any) -> None:
    """Calling ``Image`` itself is an error at the line that names the methods."""

    def write() -> None:
        Image(*args)

    error = raised(ContentError, write)
    assert lines_of(write, 1) == error.at
    assert error.fix.startswith("write Image.from_path(path), Image.from_url(url), ")


def test_a_picture_is_a_part() -> None:
    """A picture written outside of any block serves many turns."""
    image = Image.from_url(URL)
    assert blocks(User(image)) == blocks(User(image))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Image.from_url(None),  # type: ignore[arg-type]
        lambda: Image.from_path([1]),  # type: ignore[arg-type]
        lambda: Image.from_path(b"/x.png"),  # type: ignore[arg-type]
        lambda: Image.from_bytes("x", "image/png"),  # type: ignore[arg-type]
        lambda: Image.from_bytes(7),  # type: ignore[arg-type]
        lambda: Image.from_base64(7),  # type: ignore[arg-type]
        lambda: Image.from_file_id(7),  # type: ignore[arg-type]
    ],
)
def test_a_picture_of_something_else_is_refused(make: Any) -> None:
    """What is no address, path or bytes is an error at its line that says what to write."""
    error = raised(ContentError, make)
    assert (lines_of(make, 0), True) == (error.at, "Image.from_bytes(data)" in error.fix)


# The four kinds.

WAV = b"RIFF\x04\x00\x00\x00WAVE"
PDF = b"%PDF-1.7"
MP4 = b"\x00\x00\x00\x10ftypmp42\x00\x00\x00\x00"


class Kind(NamedTuple):
    """A component, its block, bytes of its kind and what they are."""

    cls: Any
    block: Any
    data: bytes
    type: str


KINDS = {
    "Image": Kind(Image, ImageBlock, PNG, "image/png"),
    "Audio": Kind(Audio, AudioBlock, WAV, "audio/wav"),
    "Document": Kind(Document, DocumentBlock, PDF, "application/pdf"),
    "Video": Kind(Video, VideoBlock, MP4, "video/mp4"),
}
WAYS = ("path", "url", "bytes", "base64", "file_id")
GIVEN: dict[str, Any] = dict.fromkeys(WAYS, "file-1") | {
    "bytes": b"?",
    "url": URL,
    "base64": "Pz8=",
}

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@every_kind
def test_every_kind_in_every_way(tmp_path: Path, kind: Kind) -> None:
    """Each kind is made of a file, bytes, base64, a data address; all come to the same block."""
    cls, block, data, type = kind
    (tmp_path / "x").write_bytes(data)
    encoded = base64.b64encode(data).decode()
    tree = User(
        cls.from_path(tmp_path / "x", title="T"),
        cls.from_bytes(data, title="T"),
        cls.from_bytes(bytearray(data), type, title="T"),
        cls.from_bytes(memoryview(data), media_type=type, title="T"),
        cls.from_base64(encoded, title="T"),
        cls.from_base64(encoded.encode(), type, title="T"),
        cls.from_url(f"data:{type};base64,{encoded}", title="T"),
    )
    assert (block(MediaSource("base64", encoded, type), "T"),) * 7 == blocks(tree)


@every_kind
def test_every_kind_elsewhere(kind: Kind) -> None:
    """Each kind is passed on as an address or a file id, with the type it is said to have."""
    cls, block, _, type = kind
    tree = User(
        cls.from_url(URL),
        cls.from_url("s3://b/x", media_type=type),
        cls.from_url("gs://b/x"),
        cls.from_file_id("file-1", media_type=type),
    )
    assert (
        block(MediaSource("url", URL)),
        block(MediaSource("s3", "s3://b/x", type)),
        block(MediaSource("gcs", "gs://b/x")),
        block(MediaSource("file_id", "file-1", type)),
    ) == blocks(tree)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cls", [Audio, Document, Video])
def test_detail_is_of_pictures_only(cls: Any, way: str) -> None:
    """Only a picture is looked at in detail."""

    def write() -> None:
        getattr(cls, f"from_{way}")(GIVEN[way], detail="low")

    error = raised(OptionError, write)
    assert f"{cls.__name__}() takes no 'detail'" == error.what
    assert lines_of(write, 1) == error.at


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cls", [Image, Audio, Document, Video])
def test_a_misspelled_keyword_names_the_nearest(cls: Any, way: str) -> None:
    """An unknown keyword is an error at its line that suggests a known one, in every way."""

    def write() -> None:
        getattr(cls, f"from_{way}")(GIVEN[way], titel="T")

    error = raised(OptionError, write)
    assert ("did you mean 'title'?", lines_of(write, 1)) == (error.fix, error.at)


@pytest.mark.parametrize(
    "write",
    [
        lambda: Image.from_url(URL, title=5),  # type: ignore[arg-type]
        lambda: Image.from_file_id("f", title=b"low"),  # type: ignore[arg-type]
        lambda: Document.from_bytes(PDF, media_type=5),  # type: ignore[arg-type]
        lambda: Document.from_path("a", media_type=["text/csv"]),  # type: ignore[arg-type]
    ],
)
def test_keywords_are_strings(write: Any) -> None:
    """A keyword that is not a string is an error at its line that says to write one."""
    error = raised(OptionError, write)
    assert (lines_of(write, 0), True) == (error.at, "write" in error.fix)


@pytest.mark.parametrize("detail", ["full", "", 5])
def test_the_detail_of_an_image_is_one_of_three(detail: Any) -> None:
    """Another detail is an error at its line that names the known ones."""

    def write() -> None:
        Image.from_url(URL, detail=detail)

    error = raised(OptionError, write)
    assert ("known: auto, high, low", lines_of(write, 1)) == (error.fix, error.at)


@every_kind
@pytest.mark.parametrize("args", [(), ("x",)])
def test_every_kind_is_made_by_its_methods(kind: Kind, args: Any) -> None:
    """Calling a kind itself is an error that names all its methods."""
    error = raised(ContentError, lambda: kind.cls(*args))
    assert [True] * 5 == [f"{kind.cls.__name__}.from_{way}(" in error.fix for way in WAYS]


@pytest.mark.parametrize(
    ("cls", "data", "what", "fix"),
    [
        (Image, PDF, "an Image cannot be application/pdf", "make it a Document"),
        (Audio, PNG, "an Audio cannot be image/png", "make it an Image"),
        (Document, MP4, "a Document cannot be video/mp4", "make it a Video"),
        (Video, WAV, "a Video cannot be audio/wav", "make it an Audio"),
    ],
)
def test_bytes_of_another_kind_are_refused(cls: Any, data: bytes, what: str, fix: str) -> None:
    """Bytes of another kind are an error at their line that names the right component."""

    def write() -> None:
        cls.from_bytes(data)

    error = raised(MediaError, write)
    assert (what, fix, lines_of(write, 1)) == (error.what, error.fix, error.at)


def test_one_container_holds_sound_or_a_film() -> None:
    """Bytes of a container of both are what the component says."""
    tree = User(Audio.from_bytes(MP4), Video.from_bytes(MP4))
    assert ["audio/mp4", "video/mp4"] == [block.source.media_type for block in blocks(tree)]


def test_a_text_is_a_document() -> None:
    """A document of UTF-8 text is plain text, or what it is declared to be."""
    tree = User(Document.from_bytes(b"# A"), Document.from_bytes(b"# A", "text/markdown"))
    assert ["text/plain", "text/markdown"] == [block.source.media_type for block in blocks(tree)]


def test_a_path_may_be_of_any_class() -> None:
    """A path is what its object says it is, as text."""
    assert "a/b" == Document.from_path(PurePosixPath("a/b")).block.source.value  # type: ignore[arg-type]


@every_kind
def test_no_kind_stands_in_system_content(kind: Kind) -> None:
    """No attachment is an instruction."""
    error = raised(PlacementError, lambda: System(kind.cls.from_bytes(kind.data)))
    assert kind.cls.__name__ in error.what


@every_kind
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("url", ["s3://b/x", "gs://b/x"])
def test_what_no_provider_fetches_is_told(kind: Kind, provider: str, url: str) -> None:
    """An address in a store is a loss of content for every kind, never silence."""
    tree = User("see", kind.cls.from_url(url))
    assert ["content"] == [loss.kind for loss in render(tree, provider=provider).losses]


def test_kinds_nobody_takes_are_told() -> None:
    """Sound and films are losses of content where they are not taken, each with its line."""

    def write() -> Any:
        return User("see", Audio.from_bytes(WAV), Video.from_bytes(MP4))

    told = render(write(), provider="anthropic").losses
    assert [("content", lines_of(write, 1))] * 2 == [(x.kind, (str(x.source),)) for x in told]


@pytest.mark.parametrize(
    ("provider", "content"),
    [
        (
            "openai_responses",
            {
                "type": "input_file",
                "file_data": "data:text/csv;base64,YSxi",
                "filename": "T",
            },
        ),
        (
            "anthropic",
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "a,b"},
                "title": "T",
            },
        ),
    ],
)
def test_documents_of_text_reach_providers(provider: str, content: Any) -> None:
    """A text with a title is in the payload of each provider, whole."""
    tree = User(Document.from_bytes(b"a,b", "text/csv", title="T"))
    rendered = render(tree, provider=provider)
    payload = rendered.payload()
    entries = payload.get("messages") or payload["input"]
    assert ([content], ()) == (entries[0]["content"], reported(rendered))


@pytest.mark.parametrize(
    "provider", ["openai", "openai_compatible", "openai_responses", "anthropic", "bedrock"]
)
def test_pictures_of_the_model_are_told(provider: str) -> None:
    """A picture in a turn of the model is a loss of content where only the user sends pictures."""

    def write() -> Timeline:
        return Timeline(User("Draw."), Assistant("Here:", Image.from_bytes(PNG)), User("Thanks."))

    (loss,) = render(write(), provider=provider).losses
    why = "the target takes no such block in an assistant message"
    assert ("content", why, lines_of(write, 1)[0]) == (loss.kind, loss.why, str(loss.source))


def test_pictures_of_the_model_are_sent_where_they_are_taken() -> None:
    """Gemini gets the picture that its model made, written or recorded."""
    reply = Assistant("Here:", Image.from_bytes(PNG))
    recorded = History([Message("assistant", render(reply).messages[0].content)])
    data = {"mime_type": "image/png", "data": base64.b64encode(PNG).decode()}
    expected = {"role": "model", "parts": [{"text": "Here:"}, {"inline_data": data}]}
    for turn in (reply, recorded):
        rendered = render(Timeline(User("Draw."), turn, User("Thanks.")), provider="gemini")
        assert (expected, ()) == (rendered.to_gemini()["contents"][1], reported(rendered))
