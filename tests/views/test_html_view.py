"""``_repr_html_``, ``_repr_markdown_`` and ``rich``: what they show, and what cannot leave them."""

import re
from base64 import b64encode
from collections import Counter
from html.parser import HTMLParser
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from promptdsl import *
from tests.hostile import HOSTILE
from tests.internals import all_visible, is_valid_unicode
from tests.searching import with_each
from tests.views.hostile_prompt import ATTACKS, LONG, hostile_prompt

SCHEMA = {"type": "object"}
SUPPORT = Timeline(
    Tool(name="find", description="Find <tea>.", input_schema=SCHEMA),
    System("Be brief & kind."),
    User("Look:", Image.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(10)), name="Ada"),
    Assistant(ToolUse("find", {"query": "tea"}, id="call_1")),
    ToolMessage("call_1", "None.", is_error=True),
)
BODIES = """\
<details class="tool definition"><summary><b>tool definition</b> find \
<small>39 tokens</small></summary><pre dir="auto">
Find &lt;tea&gt;.</pre><p class="label">input</p><pre dir="auto">
{&quot;type&quot;: &quot;object&quot;}</pre></details>
<details class="system" open><summary><b>system</b> <small>25 tokens</small></summary>\
<pre dir="auto">
Be brief &amp; kind.</pre></details>
<details class="user" open><summary><b>user</b> Ada <small>4,777 tokens</small></summary>\
<pre dir="auto">
Look:</pre><p class="label">image (base64) image/png</p><pre dir="auto">
18 bytes</pre></details>
<details class="assistant" open><summary><b>assistant</b> <small>32 tokens</small></summary>\
<p class="label">call find</p><pre dir="auto">
{&quot;query&quot;: &quot;tea&quot;}</pre></details>
<details class="tool" open><summary><b>tool</b> find failed <small>19 tokens</small></summary>\
<pre dir="auto">
None.</pre></details>
</div>"""
MARKDOWN = """\
<details>
<summary><b>tool definition</b> find</summary>

```text
Find <tea>.
```

<p>input</p>

```text
{"type": "object"}
```

</details>

<details open>
<summary><b>system</b></summary>

```text
Be brief & kind.
```

</details>

"""
RICH = """\
╭─ user Ada ───────────────────────────╮
│ Look:                                │
│                                      │
│ image (base64) image/png 18 bytes    │
╰──────────────────────────────────────╯
"""


class Seen(HTMLParser):
    """The tags of a page with the names of their attributes, and its texts by tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags[" ".join([tag, *(name for name, _ in attrs)])] += 1
        self.open.append(tag)
        self.texts.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        """Note that a tag was closed."""
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        """Note a text of the innermost tag."""
        if self.open:
            tag, text = self.texts[-1]
            self.texts[-1] = (tag, text + data)


def pages(rendered: Rendered) -> list[Seen]:
    """Return the views of a request as pages: the HTML, and the HTML of the Markdown."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    return [Seen(rendered._repr_html_()), Seen(markdown.render(rendered._repr_markdown_()))]


def printed(rendered: Rendered, width: int) -> str:
    """Return what ``rich`` prints on a terminal of this width."""
    console = Console(width=width, file=StringIO())
    console.print(rendered)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_html_view() -> None:
    """Every tool and message is a part that can be closed, with its tokens; tools are closed."""
    html = render(SUPPORT, counter=len)._repr_html_()
    assert BODIES == html[html.index('<details class="tool') :]
    assert '<div class="promptdsl mathjax_ignore tex2jax_ignore"><style>' == html[:60]
    assert "<p>Rendered for no target: 4 messages, " in html


def test_the_markdown_view() -> None:
    """Every tool and message is a part that can be closed, its texts are code blocks."""
    markdown = render(SUPPORT)._repr_markdown_()
    start = markdown.index("<details")
    assert MARKDOWN == markdown[start : start + len(MARKDOWN)]
    assert "<p>Rendered for no target: 4 messages, " == markdown[:39]


def test_the_rich_view() -> None:
    """Printed with ``rich``, every message is a box; its text is no markup."""
    assert RICH in printed(render(SUPPORT), 40)
    boxed = printed(render(User("[red]a[/red] \x1b[2J")), 24)
    assert "│ [red]a[/red] \\x1b[2J │" in boxed


def test_a_tool_has_a_table_of_its_fields() -> None:
    """Each field of a schema has a row: its name, its type, and its description; JSON is closed."""
    schema = {
        "type": "object",
        "properties": {
            "invoice": {"type": "integer", "description": "Its <number>."},
            "team": {"enum": ["billing", "legal"]},
            "note": {"type": ["string", "null"]},
            "any": {},
            "none": True,
            "day": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "who": {"oneOf": [{"$ref": "#/$defs/Person"}, {"anyOf": [{"type": "null"}, {}]}]},
            "to": {"$ref": "#/$defs/Team"},
            "kind": {"const": "a<b", "type": "string"},
            "level": {"enum": [1, None, True, "é"]},
            "empty": {"enum": [], "anyOf": [], "type": "string"},
        },
        "required": ["invoice", "team"],
    }
    tool = Tool(name="find", description="", input_schema=schema)
    html = render(Timeline(tool, User("Hi.")))._repr_html_()
    table = html[
        html.index('<table class="fields">') : html.index("<details><summary>JSON</summary>")
    ]
    assert [
        ["invoice", "integer", "Its &lt;number&gt;."],
        ["team", "billing | legal", ""],
        ["note", "string | null, optional", ""],
        ["any", "any, optional", ""],
        ["day", "integer | null, optional", ""],
        ["who", "Person | null | any, optional", ""],
        ["to", "Team, optional", ""],
        ["kind", "&quot;a&lt;b&quot;, optional", ""],
        ["level", "1 | null | true | é, optional", ""],
        ["empty", "string, optional", ""],
    ] == [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", table)]
    calm = render(SUPPORT, model="gpt-5")._repr_html_()
    assert '<table class="fields">' not in calm


@pytest.mark.parametrize(("count", "more"), [(20, 0), (21, 1), (50, 30)])
def test_a_long_table_of_fields_tells_of_the_rest(count: int, more: int) -> None:
    """Twenty fields are shown, and the number of the others."""
    schema = {"type": "object", "properties": {f"f{number}": {} for number in range(count)}}
    html = render(Timeline(Tool(name="t", input_schema=schema), User("Hi.")))._repr_html_()
    assert [str(more)] * (more > 0) == re.findall("… ([0-9]+) more</td></tr></table>", html)
    assert 20 == html.count("<td>any, optional</td>")


def test_a_line_counts_the_dropped_parts_of_messages_that_are_not_shown() -> None:
    """A card that stands for several dropped parts counts as so many."""
    with Timeline() as prompt:
        for number in range(60):
            with User(merge=False):
                Text("a")
                for part in range(25 if number == 30 else 0):
                    Section(f"s{part}", "word " * 9, priority=-1)
    rendered = render(prompt, counter=len, budget=600)
    assert 20 < len(rendered.dropped)
    shown = re.findall("more messages.*, and ([0-9]+) dropped", rendered._repr_html_())
    assert [str(len(rendered.dropped))] == shown


def test_a_block_cannot_look_like_a_label_of_the_view() -> None:
    """The name of a block of a provider is text: it is no cache mark, and it is sent."""
    names = "cache mark", "not sent: x"
    blocks = [UnknownBlock({"type": name}, origin="anthropic") for name in names]
    message = Message("user", (TextBlock("Hi."), *blocks))
    html = render(History([message]), provider="anthropic")._repr_html_()
    assert ["label", "label"] == re.findall(r'<p class="([^"]*)">(?:cache mark|not sent)', html)
    assert "cached up to here" not in html


def dropping() -> Rendered:
    """Return a request of which a document, and a section between others, are dropped."""
    prompt = Timeline(
        System(Section("role", "Be kind."), Section("a", "b " * 99, priority=1), Section("c", "d")),
        Grounding("doc", "Long. " * 60, priority=2),
        User("Hi.", name="A"),
    )
    return render(prompt, provider="gemini", budget=90, counter=len)


def test_dropped_parts_stand_where_they_were_written() -> None:
    """Each view shows hints first, and a dropped part in or before its message, with its reason."""
    rendered = dropping()
    assert ["section a", "grounding"] == [part.what for part in rendered.dropped]
    html, markdown = rendered._repr_html_().replace("&#x27;", "'"), rendered._repr_markdown_()
    boxed, text = printed(rendered, 200), str(rendered)
    words = ["hint: name of a speaker (user[0])", "Be kind.", "section a", "grounding doc", "Hi."]
    for view in (html, markdown, boxed, text):
        places = [view.rindex(word) for word in (words[1:] if view is text else words)]
        assert sorted(places) == places
    system = html[html.index('<details class="system"') : html.rindex("<s>grounding doc</s>")]
    assert "<b>dropped</b> <s>section a</s> <small>200 tokens · there is" in system
    assert "test_html_view.py" in system
    assert "b b b" in system


def test_text_shows_what_was_dropped() -> None:
    """A dropped part has a rule before the message that it stood before, or a line in it."""
    expected = """\
Be kind.

d

─ dropped section a, 200 tokens: there is no room for it, its priority is 1 \
(probably the next to come back, with about 143 tokens more)

── dropped grounding doc ───────────────────────────────────────────────
─ 388 tokens: there is no room for it, its priority is 2

── user A ──────────────────────────────────────────────────────────────
Hi."""
    assert expected == str(dropping()).partition("\n")[2]


def test_a_long_text_is_closed_at_first() -> None:
    """A message of more than 4,000 characters is closed until it is opened."""
    html = render(Timeline(User("a" * 4_000, merge=False), User("a" * 4_001)))._repr_html_()
    assert (1, 1) == (html.count('<details class="user" open>'), html.count('class="user">'))


TAGS = {
    "b",
    "details",
    "details class",
    "details class open",
    "div class",
    "div class role aria-label",
    "i class style",
    "p",
    "p class",
    "pre dir",
    "s",
    "small",
    "span class",
    "style",
    "summary",
    "table",
    "table class",
    "td",
    "td style",
    "tr",
}
MARKDOWN_TAGS = {"b", "code class", "details", "details open", "p", "pre", "summary"}


@pytest.mark.parametrize("target", [{"model": "claude-opus-4-5"}, {"model": "<script>"}, {}])
def test_a_hostile_prompt_adds_no_tag(target: dict[str, str]) -> None:
    """Texts, names, addresses and schemas add no tag, no attribute and no end of one."""
    html, markdown = pages(render(hostile_prompt("http://evil.example"), **target))  # type: ignore[arg-type]
    assert {*html.tags} <= TAGS
    assert {*markdown.tags} <= MARKDOWN_TAGS
    assert ([], []) == (html.open, markdown.open)
    long = {text.strip() for _, text in html.texts if "xxxx" in text}
    assert {f"{all_visible(LONG)[:2_000]}\n… 3,000 more characters"} == long


ANY_WHOLE = st.text(st.characters(exclude_categories=("Cs",)))


@with_each([text for text in (*HOSTILE[::25], *ATTACKS) if is_valid_unicode(text)])
@given(ANY_WHOLE)
def test_any_text_is_shown_as_text(text: str) -> None:
    """Whatever a message says, a view has the same tags, and shows it as text."""
    shown_as_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("text", [*filter(is_valid_unicode, HOSTILE)])
def test_a_hostile_text_is_shown_as_text(text: str) -> None:
    """So is each hostile text."""
    shown_as_text(text)


@pytest.mark.slow
@with_each([text for text in HOSTILE if is_valid_unicode(text)])
@given(ANY_WHOLE)
def test_every_hostile_text_is_shown_as_text(text: str) -> None:
    """So is every hostile text."""
    shown_as_text(text)


def shown_as_text(text: str) -> None:
    """Check that the views of a message have the tags of a calm one, and its text."""
    rendered = render(Timeline(System("x"), User(text or "-", name=text or "-")))
    calm = render(Timeline(System("x"), User("-" * len(text or "-"), name="-")))
    sent: str = rendered.messages[1].content[0].text  # type: ignore[union-attr]
    # A notebook shows the beginning of a long text.
    cut = f"{sent[:2_000]}\n… {len(sent) - 2_000:,} more characters" if sent[2_000:] else sent
    for page, other, expected in zip(pages(rendered), pages(calm), (cut, sent), strict=True):
        assert other.tags == page.tags
        assert all_visible(expected).strip() in [shown.strip() for _, shown in page.texts]


def test_a_long_conversation_is_short() -> None:
    """The first and the last 20 messages are shown, texts are cut, and a line tells of the rest."""
    messages = [
        {"role": role, "content": f"Message {number} {role}. " + "word " * 4_000}
        for number in range(1_500)
        for role in ("user", "assistant")
    ]
    page = render(Timeline(History(messages)), counter=len)._repr_html_()
    assert len(page) < 200_000
    assert "… 2,960 more messages, " in page
    assert 40 == page.count("more characters</pre>")
    assert ["Message 9 assistant", "Message 1490 user"] == re.findall(
        r"Message (?:9|10|1489|1490) \w+", page
    )[1:3]


def test_many_notes_are_short() -> None:
    """Of many dropped parts, 20 are listed."""
    parts = (Section(f"s{number}", "word " * 9, priority=-1) for number in range(300))
    page = render(
        Timeline(System("Help.", *parts), User("Hi.")), counter=len, budget=60
    )._repr_html_()
    assert "… 280 more dropped</p>" in page
    assert len(page) < 20_000


def png(width: int = 1, height: int = 1, size: int = 0) -> bytes:
    """Return the beginning of a PNG of these pixels, with more bytes up to a size."""
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4)
    return header + b"\x08\x02\0\0\0" + bytes(max(size - len(header) - 5, 0))


@pytest.mark.parametrize(
    ("data", "media_type", "expected"),
    [
        (png(), "image/png", "image/png"),
        (png(4_096, 4_096, 32 * 1024), "image/png", "image/png"),
        (png(), "image/webp", "image/png"),
        (b"GIF89a\1\0\1\0", "image/gif", "image/gif"),
        (png(size=32 * 1024 + 3), "image/png", None),
        (png(4_097), "image/png", None),
        (png(0), "image/png", None),
        (
            b"<svg onload='document.title = 1' xmlns='http://www.w3.org/2000/svg'/>",
            "image/png",
            None,
        ),
        (b"BM" + bytes(16) + b"\1\0\0\0\1\0\0\0", "image/bmp", None),
    ],
)
def test_a_small_picture_is_shown(data: bytes, media_type: str, expected: str | None) -> None:
    """A picture of at most 32 kB is shown as what its bytes are; of a record, too."""
    source = MediaSource("base64", b64encode(data).decode(), media_type)
    rendered = render(Timeline(History([Message("user", [ImageBlock(source)] * 2)])))
    record = PromptRecord.from_dict(rendered.record().to_dict())
    for view in (rendered._repr_html_(), record._repr_html_()):
        types = re.findall(r'<img alt="[^"<]*" src="data:([a-z/]*);base64,[A-Za-z0-9+/=]*">', view)
        assert ([expected] * 2 if expected else []) == types
        assert len(types) == view.count("<img")


def test_what_is_no_base64_is_not_shown() -> None:
    """A picture whose data is none is not shown, nor one at an address."""
    value = b64encode(png()).decode()
    sources = [MediaSource("base64", f'{value[:-4]}"><b>'), MediaSource("url", "https://a.b/c.png")]
    turn = Message("user", [ImageBlock(source) for source in sources])
    assert "<img" not in render(Timeline(History([turn])))._repr_html_()
