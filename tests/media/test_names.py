"""The names and the types of files: what is sent, and what becomes of odd ones."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import losses_of, reported

PDF = b"%PDF-1.7\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
ZIP = b"PK\x03\x04" + bytes(8)
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

PLACES = {
    "openai": lambda part: part["file"]["filename"],
    "openai_responses": lambda part: part["filename"],
    "anthropic": lambda part: part["title"],
    "bedrock": lambda part: part["document"]["name"],
}
"""By target, the place for the name of a document in its part."""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Return a PDF with a name."""
    path = tmp_path / "report.pdf"
    path.write_bytes(PDF)
    return path


def parts(tree: Node, provider: str) -> list[Any]:
    """Return the parts of the last message, turn or item of a payload."""
    payload = render(tree, provider=provider).payload()
    entry = payload.get("messages", payload.get("input", payload.get("contents")))[-1]
    found: list[Any] = entry.get("content") or entry["parts"]
    return found


def names(tree: Node, provider: str) -> list[str]:
    """Return the names of the documents in the last message of a payload, texts left out."""
    documents = (part for part in parts(tree, provider) if "text" not in part)
    return [PLACES[provider](part) for part in documents if part.get("type") != "input_text"]


def attachment(part: Node) -> Any:
    """Return the block of a part, as it is rendered in a user turn."""
    return render(User(part)).messages[0].content[0]


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", "report.pdf"),
        ("openai_responses", "report.pdf"),
        ("anthropic", "report.pdf"),
        ("bedrock", "report"),
    ],
)
def test_a_file_is_sent_under_its_name(report: Path, provider: str, expected: str) -> None:
    """A document has the name of its file; where the format says it, without its extension."""
    tree = User("Sum it up.", Document.from_path(report))
    assert ([expected], []) == (names(tree, provider), losses_of(tree, provider=provider))


def test_a_target_without_names_tells_it(report: Path) -> None:
    """A file's name that has no place is a hint with its line."""

    def write() -> Any:
        return User("Sum it up.", Document.from_path(report))

    (hint,) = render(write(), provider="gemini").hints
    assert ("hint", "title", "document parts have no title") == (hint.kind, hint.what, hint.why)
    assert lines_of(write, 1) == (str(hint.source),)


def test_a_result_has_its_name_in_gemini(report: Path) -> None:
    """Gemini takes names in results, from the models on that take attachments there."""
    tree = Timeline(
        User("Find it."),
        Assistant(ToolUse("find", {}, id="1")),
        ToolMessage("1", Document.from_path(report)),
    )
    rendered = render(tree, model="gemini-3.8-flash")
    (response,) = (
        part["function_response"]
        for content in rendered.payload()["contents"]
        for part in content["parts"]
        if "function_response" in part
    )
    assert "report.pdf" == response["parts"][0]["inline_data"]["display_name"]
    assert () == tuple(hint for hint in rendered.hints if hint.what == "title")


@pytest.mark.parametrize("provider", PLACES)
def test_a_title_wins(report: Path, provider: str) -> None:
    """A title of the author's is sent instead of the name of the file."""
    tree = User("Sum it up.", Document.from_path(report, title="Terms"))
    assert (["Terms"], []) == (names(tree, provider), losses_of(tree, provider=provider))


@pytest.mark.parametrize("provider", PLACES)
def test_a_picture_has_no_name(tmp_path: Path, provider: str) -> None:
    """The name of a picture's file is no part of the request, and no loss."""
    (tmp_path / "x.png").write_bytes(PNG)
    tree = User("See.", Image.from_path(tmp_path / "x.png"))
    assert ("x.png" in str(parts(tree, provider)), []) == (
        False,
        losses_of(tree, provider=provider),
    )


@pytest.mark.parametrize("provider", PLACES)
def test_a_recorded_path_keeps_its_name(report: Path, provider: str) -> None:
    """A path in data gives its document the name of the file, and nothing of its folder."""
    tree = History(
        [{"role": "user", "content": ["See.", {"type": "document", "path": str(report)}]}]
    )
    payload = render(tree, provider=provider, media_roots=[report.parent]).payload()
    assert ("report" in str(payload), report.parent.name in str(payload)) == (True, False)


@pytest.mark.parametrize("provider", PLACES)
def test_a_name_survives_the_way_back(report: Path, provider: str) -> None:
    """What was read from a payload is sent under the same name again."""
    payload = render(User("See.", Document.from_path(report)), provider=provider).payload()
    again = render(read_payload(payload, provider), provider=provider)
    assert (payload, ()) == (again.payload(), reported(again))


def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Bedrock takes a name once: the second file has a number, and a hint says so."""
    paths = [tmp_path / folder / "a_b.pdf" for folder in ("x", "y")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(PDF)
    tree = User("See.", *map(Document.from_path, paths))
    assert ["a b", "a b 2"] == names(tree, "bedrock")
    assert [("hint", "title of a document")] * 2 == [
        (hint.kind, hint.what) for hint in render(tree, provider="bedrock").hints
    ]


# Odd names.


@pytest.mark.parametrize(
    ("title", "file", "title_sent"),
    [
        ("../x", ".._x", "../x"),
        ("C:\\a\\b.pdf", "C:_a_b.pdf", "C:\\a\\b.pdf"),
        ("a\nb\x00.pdf", "a_b_.pdf", "a_b_.pdf"),
        ("x" * 600, "x" * 255, "x" * 500),
        (" ", "document.pdf", None),
        (
            "\u8cc7\u6599 & </document>.pdf",
            "\u8cc7\u6599 & <_document>.pdf",
            "\u8cc7\u6599 & </document>.pdf",
        ),
    ],
)
def test_odd_titles_are_mended(title: str, file: str, title_sent: str | None) -> None:
    """A file's name has no folders, a title is one line of 500 characters; a change is a hint."""
    tree = User("See.", Document.from_bytes(PDF, title=title))
    chat, claude = (render(tree, provider=provider) for provider in ("openai", "anthropic"))
    sent = parts(tree, "openai")[1]["file"]["filename"], parts(tree, "anthropic")[1].get("title")
    assert (file, title_sent) == sent
    assert [file != title, title_sent != title] == [len(x.hints) == 1 for x in (chat, claude)]
    assert {"hint"} == {loss.kind for loss in (*chat.hints, *claude.hints)}


DATA = {"data": "JVBERi0=", "media_type": "application/pdf", "filename": "terms.pdf"}
CONTAINERS: dict[str, Any] = {
    "of a component": lambda: User("See.", {"type": "document", **DATA}),
    "recorded": lambda: History([Message("user", ["See.", {"type": "document", **DATA}])]),
    "recorded, without a type": lambda: History([Message("user", ["See.", DATA])]),
    "among files": lambda: History([{"role": "user", "content": "See.", "files": [DATA]}]),
}


@pytest.mark.parametrize("provider", PLACES)
@pytest.mark.parametrize("holder", CONTAINERS)
def test_the_name_in_data_is_sent(holder: str, provider: str) -> None:
    """The ``filename`` of an attachment that is data is sent as a title is."""
    tree = Timeline(CONTAINERS[holder]())
    sent = PLACES[provider](parts(tree, provider)[1])
    assert ("terms" if provider == "bedrock" else "terms.pdf") == sent
    assert () == reported(render(tree, provider=provider))


def test_a_name_beside_a_title() -> None:
    """Of a title and a ``filename`` the title is sent, and the other is told."""
    tree = User("See.", {"type": "document", "title": "Terms", **DATA})
    assert "Terms" == parts(tree, "openai")[1]["file"]["filename"]
    assert [("hint", "key 'filename'")] == losses_of(tree, provider="openai")


def test_a_file_without_a_type_is_no_content() -> None:
    """As content of a component data needs its type; the error names the component to write."""
    error = raised(ContentError, lambda: User("See.", DATA))
    assert error.fix.startswith("for an attachment write Document.from_")


@pytest.mark.parametrize("provider", PLACES)
@given(title=st.text())
def test_any_title_is_settled_once(provider: str, title: str) -> None:
    """Whatever a title holds, what was sent is read and sent again as the same bytes."""
    block = DocumentBlock(MediaSource("base64", "JVBERi0=", "application/pdf"), title)
    prompt = Prompt((Message("user", ("See.", block)),))
    payload = render(prompt, provider=provider).payload()
    assert payload == render(read_payload(payload, provider), provider=provider).payload()


# Types.


@pytest.mark.parametrize(
    ("name", "media_type", "form"),
    [
        ("a.csv", "text/csv", "csv"),
        ("a.html", "text/html", "html"),
        ("a.HTM", "text/html", "html"),
        ("a.md", "text/markdown", "md"),
        ("a.markdown", "text/markdown", "md"),
        ("a.txt", "text/plain", "txt"),
        ("a.json", "text/plain", "txt"),
        ("a.pdf", "text/plain", "txt"),
        ("csv", "text/plain", "txt"),
    ],
)
def test_the_extension_of_a_text_is_its_type(
    tmp_path: Path, name: str, media_type: str, form: str
) -> None:
    """A text of a file is of the type that its extension tells, or else plain text."""
    (tmp_path / name).write_bytes(b"a,b\n")
    document = Document.from_path(tmp_path / name)
    tree = User("See.", document)
    assert media_type == attachment(document).source.media_type
    assert form == parts(tree, "bedrock")[1]["document"]["format"]
    data = parts(tree, "openai_responses")[1]["file_data"]
    assert data == f"data:{media_type};base64,YSxiCg=="


def test_the_extension_of_an_office_document_is_its_type(tmp_path: Path) -> None:
    """An office document needs no declared type where its file is named after it."""
    (tmp_path / "a.docx").write_bytes(ZIP)
    document = Document.from_path(tmp_path / "a.docx")
    assert DOCX == attachment(document).source.media_type
    assert "docx" == parts(User("See.", document), "bedrock")[1]["document"]["format"]


def test_a_declared_type_wins(tmp_path: Path) -> None:
    """A declared type of a text is sent, whatever its file is called."""
    (tmp_path / "a.csv").write_bytes(b"# A")
    tree = User("See.", Document.from_path(tmp_path / "a.csv", media_type="text/markdown"))
    assert "md" == parts(tree, "bedrock")[1]["document"]["format"]


def test_bytes_win_over_an_extension(tmp_path: Path) -> None:
    """A PDF that is called a text is a PDF."""
    (tmp_path / "a.csv").write_bytes(PDF)
    block = attachment(Document.from_path(tmp_path / "a.csv"))
    assert "application/pdf" == block.source.media_type


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a.csv", b"\xff\xfea\x00", "declared text/csv, but its bytes are not UTF-8 text"),
        ("a.csv", ZIP, "the bytes are application/zip, which documents of several types are"),
        ("a.pdf", ZIP, "the bytes are application/zip, which documents of several types are"),
        ("a.md", PNG, "a Document cannot be image/png"),
    ],
)
def test_an_extension_that_lies_is_an_error(
    tmp_path: Path, name: str, data: bytes, what: str
) -> None:
    """Bytes that are not what the file is called are an error at the line of the document."""
    (tmp_path / name).write_bytes(data)

    def write() -> Any:
        return User(Document.from_path(tmp_path / name))

    tree = write()
    error = raised(MediaError, lambda: render(tree))
    assert (True, lines_of(write, 1)) == (what in error.what, error.at)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://e.org/a.png", "image/png"),
        ("https://e.org/a.JPG?size=1.gif#b.webp", "image/jpeg"),
        ("https://e.org/a%20b.webp", "image/webp"),
        ("s3://b/a.gif", "image/gif"),
        ("https://e.org/png", None),
        ("https://e.png", None),
        ("https://e.org/a.png/", None),
        ("https://e.org/a.exe", None),
    ],
)
def test_an_address_tells_its_type(address: str, expected: str | None) -> None:
    """The type of an attachment at an address is the one of its extension."""
    block = attachment(Image.from_url(address))
    assert (expected, None) == (block.media_type, block.source.media_type)


def test_a_declared_type_of_an_address_wins() -> None:
    """A declared type is the type, whatever the address ends in."""
    image = Image.from_url("https://e.org/a.png", media_type="image/webp")
    assert "image/webp" == attachment(image).media_type


@pytest.mark.parametrize(
    ("address", "expected"),
    [("https://e.org/a.md", "text/plain"), ("https://e.org/a.csv?x", "text/plain")],
)
def test_gemini_gets_the_type_of_a_text_at_an_address(address: str, expected: str) -> None:
    """Gemini needs the type of an address: the extension of a text tells it."""
    (part,) = parts(User(Document.from_url(address)), "gemini")
    assert {"file_data": {"file_uri": address, "mime_type": expected}} == part


def test_gemini_gets_the_type_of_a_film_at_an_address() -> None:
    """An extension with another name than its type tells Gemini's name of the type."""
    (part,) = parts(User(Video.from_url("https://e.org/a.mov")), "gemini")
    assert "video/mov" == part["file_data"]["mime_type"]
