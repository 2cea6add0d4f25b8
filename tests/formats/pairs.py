"""Prompts in which two of a thing meet, and all that each comes to, line by line.

``python -m tests.formats.pairs`` writes what the package says into ``pairs.txt``: read each line
that changes as a user would, before it is kept.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from promptdsl import *
from tests.cases_file import HEAD
from tests.renders import reported

FILE = Path(__file__).with_suffix(".txt")


def lists() -> Node:
    """Write lists that touch, lists in lists, and items of several parts."""
    return System(
        List("a", "b"),
        List("c", ordered=True),
        List("d", List("d1", "d2", List("d21")), List("d3", ordered=True), "e"),
        List("f", "", "g", ordered=True),
        List(List("h"), List("i")),
        List("j", List(None), "k"),
        List(""),
        List("l"),
        Checklist(Item("m", done=True), "n", List("o"), Item("p", List("q"), done=False)),
        List(Item("r", "s", Value("t")), Item(Text("u\nv"), Code("w\nx"), List("y", ordered=True))),
        "z",
        List("after", ordered=True),
    )


def many_items() -> Node:
    """Write a list whose numbers get two digits, with lists and texts of several lines in it."""
    return System(
        List(
            *("12345678"),
            Item("nine\nmore", List("a", "b\nc")),
            Item("ten\nmore\n\nlast", List("a", "b\nc", ordered=True)),
            List("under ten", ordered=True),
            "eleven\r\nmore\rlast\n",
            Item(List("x", "y"), "z"),
            ordered=True,
        )
    )


def checked_items() -> Node:
    """Write items with a box before a text, a value, code, a table, a quotation or nothing."""
    return System(
        Checklist(
            Item("", "a", done=True),
            Item(Code("b"), "c"),
            Item(Fragment(Note("no"), Table([["d"]])), done=True),
            Item(Note("no"), Value("e"), Code("f")),
            Item(Quote("g"), done=False),
            Item(Json({"h": 1}), Json([2])),
            Item(Heading("i"), "j"),
        ),
        Checklist("k"),
    )


def quotes() -> Node:
    """Write quotations with lists, code and quotations in them, and lists with quotations."""
    return System(
        Quote("a\n\nb", List("c", "d\ne"), Quote("f\ng", "h"), "i"),
        List(Item(Quote("j\nk", "l"), "m"), Item("n", Quote("o"), Code("p\n\nq"))),
        Quote(Quote("r"), Quote("")),
        Quote(List("s", List("t\nu")), List("v")),
    )


def example_pairs() -> Node:
    """Write examples whose sides are texts, lists and tables, side by side."""
    return System(
        Example("a", "b"),
        Example("c\nd", Value("e\nf")),
        Example(List("g", "h"), "i"),
        Example("j", Json({"k": 1})),
        Example("l", Code("m")),
        Example(Fragment("n", Note("o"), "p"), Fragment("q", List("r"))),
        List(Item(Example("s\nt", "u"), "v"), Example("w", "x")),
    )


def sections() -> Node:
    """Write sections in sections, empty ones beside full ones, with and without titles."""
    with Timeline() as prompt:
        with System("a"):
            with Section("one", title="One"):
                Section("empty", "", title="Empty")
                Section("inner", "b", title=Value("In\nner"))
                with Section("outer"):
                    Section("gone", Note("no"), title="Gone")
                    Section("deep", "c", title="Deep")
                    Section("last", "d")
                Text("e")
            Section("two", Section("x", Section("y", "")), title="Two")
            Section("three", "f", title="Th<b>ree")
        Section("loose", "g", title="Loose")
        System("h", id="late")
        with User():
            Section("one", Section("gone", "", title="Gone"), "i", title="One")
            Section("none", Section("gone", "", title="Gone"))
    return prompt


def repeated_titles() -> Node:
    """Write empty sections with a title: of one line in a loop one hint, of two lines two."""
    with Timeline() as prompt:
        with System("a"):
            for name in ("one", "two"):
                Section(name, "", title=name)
            Section("three", "", title="three")
        with User("b"):
            Section("three", "", title="three")
    return prompt


def levels() -> Node:
    """Write sections deeper than there are levels of headings, then one at the top again."""
    inner: Node = Section("s8", "a", Section("s9", "b", title="9"), "c", title="8")
    for number in range(7, 0, -1):
        inner = Section(f"s{number}", inner, f"t{number}", title=f"{number}")
    return System(inner, Section("top", "d", title="Top"), Heading("e"), Heading("f", level=6))


def formats() -> Node:
    """Write parts in formats of their own, in each other and side by side."""
    with Timeline() as prompt:
        with System("a"):
            Format("xml", Section("one", Format("markdown", Section("two", "b", title="B")), "c"))
            Format("xml", List("d", Format("markdown", List("e")), "f"))
            Format("markdown", List("g", Format("markdown", "h"), Format("xml", "i"), "j"))
            Format("xml", "k", Format("xml", Quote("l")), Table([["m"]]))
            Table([["n", "o"]], columns=["p", "q"])
        Format("xml", Section("loose", "r"))
        with User():
            Format("xml", Section("one", "s"), "t")
            Section("one2", "u", title="U")
    return prompt


def separators() -> Node:
    """Write separators of a turn, a section and a part in it, and texts that are empty between."""
    with Timeline() as prompt:
        with System(separator="\n"):
            Text("a")
            Text("")
            Text("b ", Value("c"))
            Section("s", "d", Text("e"), Section("t", "f", "g", separator=" "), separator=" ")
            Section("u", "h", List("i", "j"), "k", title="U", separator="\n")
            Fragment(Text("l"), Note("no"), Text(Value("m")), Text("n"))
        System(Text("o"), Text("p"), Note("no"), Text("1"), separator=" ")
        User(Text("q"), Text(""), Text("r"), Untrusted("s"), Text("t"), Text("u"), separator=" ")
        User(Text("v"), Image.from_file_id("f"), Text("w"), Text("x"), separator="\n\n\n")
        Assistant(
            TextBlock("y", extra={"k": 1}), Text("z"), TextBlock("1", cache="5m"), Text("2"),
            separator=" ",
        )  # fmt: skip
    return prompt


def separated_losses() -> Node:
    """Write texts side by side of which the second has a lone surrogate, and then the first."""
    return System(
        Section("a", Text("1"), Text("2\ud800"), Text("3"), separator=" "),
        Section("b", Text("4\ud800"), Text("5"), separator=" "),
        Section("c", Text("6\x07", Value("7\x07")), Text(Value("8\u200b")), separator="\n"),
        Section("d", Text("\n  9 ", Value("10")), Text("\n  11\n    12"), separator="\n"),
    )


def values_in_lines() -> Node:
    """Write values that begin and end lines, with other values on both sides."""
    x = Value
    return System(
        Text("#", x("# a"), "\n", x("# b"), " c ", x("# d")),
        Text(x("-"), x("-"), x("-")),
        Text(x("-"), " ", x("- -"), "\n", x("="), "a"),
        Text("a: ", x("```"), "\n", x("```"), " ", x("~~~")),
        Text("-", x("--"), "\n-", x(" a")),
        Text("a\n", x("\n"), "b ", x("\n"), x("c\n"), "d", x("e\n")),
        Text(x(" a"), x(" b"), "\n", x(" c"), " d\n", x("\te\n f")),
        Text("a", x("a\n\n"), "b", x("\n# c\n## d\n\n#"), " ", x("e")),
        Text("<d", x("iv>"), x("a"), " <", x("b"), ">", x("=")),
        Text("<a b=", x("c"), " d='", x("e'"), "' f=\"", x('g"h'), '" i=', x("j="), ">", x("k'")),
        Text("&l", x("t;"), "&", x("amp;"), x("&am"), x("p;"), x("&lt"), "; ", x("&#6"), "0;"),
        Text("```", x("a`b\nc"), "\n", x("```d"), "\n```\n", x("# e"), "\n", x("```")),
        Text("<!-- ", x("a-->"), " --> ", x("-->"), " <pre>", x("</pre>"), x("<script")),
        Text("1", x(". a"), "\n", x("2"), ". ", x("# b"), "\n", x("3"), x(")"), x(" # c")),
    )


def values_far_away() -> Node:
    """Write a value beside fifty texts and values, and beside more than these."""
    x = Value
    near = [part for _ in range(24) for part in ("", x("a"))]
    return System(
        Text("b", *near, x("# c"), *near, " d"),
        Text("b", *near, *near[:8], x("# c"), *near[:8], *near, " d"),
        Text("\n", *near, x("-"), *near, "\n-"),
        Text("b ", *near, "", x("-"), "", *near, "-"),
    )


def code_of_the_author() -> Node:
    """Write values in an author's code fences: closed, open, indented, and closed by a value."""
    x = Value
    return System(
        Text("```\n", x("# a"), "\n```\n", x("# b"), "\n~~~~\n", x("~~~"), "\n~~~\n", x("# c")),
        Text("```\n", x("# a"), "\n", x("```"), "```\n", x("# b"), "\n```\n", x("# c")),
        Text(" ```\n", x("# a"), "\n```\n", x("# b")),
        Text("<p>\n```\n", x("# a"), "\n```"),
        Text("```py\n", x("# a"), "\n~~~\n", x("# b"), "\n````\n", x("# c")),
        Section("open", Text("```\n", x("# a")), Text(x("# b"), "\n```")),
    )


def tags_in_two_texts() -> Node:
    """Write tags that begin in one text and end in the next, with values between."""
    x = Value
    return System(
        Section("rules", "a <", x("/rules>"), " <ru", x("les>"), "</", x("x"), "<o>1</o>"),
        Section("next", Text("b </n"), Text("ext> ", x("</o> </next> </rules>")), Text("</")),
        Section("last", Text("next>"), Text(x("<last> <p> </p>")), "<p>"),
        "<q>", x("</q> <untrusted> </context>"), "</q>",
    )  # fmt: skip


def fences_in_turns() -> Node:
    """Write fences of one name in each other and side by side, and author text that closes them."""
    with Timeline() as prompt:
        System("See <doc>.", Value("</doc> </context> </event>"))
        Ephemeral("a </context>", Untrusted("b </untrusted>", source="</context>"), type="one")
        Ephemeral(Value("</context> <doc>"), "<doc></doc>", title=Value("t\n</context>"))
        Grounding("g", "</context> <h>", Section("h", "</h>"), title="<h>")
        User("c </doc>", Value("</doc> </context>"), Untrusted("d"), "e </untrusted>")
        Event("f </event>", UserAction("g", "h </event>", target="</event>", i="</doc>"))
        Developer("i </context>", Untrusted("</q>"), "<q></q>", Value("</q> </developer>"))
        Assistant("<q></q>", Value("</q>"))
        User("<q>", Value("</q>"))
    return prompt


def other_delimiters() -> Node:
    """Write delimiters that are no tags, one in the other's content, in titles and in tables."""
    with Timeline() as prompt:
        System("[[", Value("[[event [[ctx"), Section("s", "x", title="[[ctx"))
        with Event():
            UserAction("[[ev", target="]]", other="END [[ctx")
            StateChange("k", old="[[ev", new=trusted("[[ctx"))
            Text("[[ev ", Value("[[ev"))
        Ephemeral("[[ctx", Value("[[ctx [[ev"), type="[[ctx", title="a [[ctx")
        with Ephemeral():
            Section("t", "y", title="[[ctx")
            Table([["[[ctx", trusted("[[ctx")]], columns=["[[ev", "]]"])
            Json(["[[ctx", {"[[ev": "]]"}])
            Code("[[ctx ]]")
            Untrusted("[[ctx", source="[[ctx")
        User("[[ctx", Value("[[ctx"))
    return prompt


DELIMITERS: Any = {
    "delimiters": {
        "event": {
            "user_action": ("[[event", "END"),
            "state_change": ("[[event", "]]"),
            "text": "[[event:",
        },
        "ephemeral": ("[[ctx", "]]"),
    }
}


def attributes() -> Node:
    """Write fences with attributes of equal values, of values in each other, and empty ones."""
    with Timeline() as prompt:
        Ephemeral("a", type="x", title="x")
        Ephemeral("b", type="title", title="type")
        Ephemeral("c", type="", title="x")
        Ephemeral("d", type="x", title="")
        Ephemeral("e", type=Volatile("x", "one"), title=Volatile("x", "two"))
        Ephemeral("f", type="<&", title="<&")
        Grounding("g", Untrusted("source", source="source"), title="g")
        Ephemeral("", type="x", title="x")
        Ephemeral(Untrusted("note", source=Volatile("note", "n")), Untrusted(Volatile("h", "h")))
    return prompt


def tables() -> Node:
    """Write tables of equal, empty, author's and volatile cells, in each format."""
    rows = [["a", "a"], ["", trusted("<b>a</b>")], [Volatile("a", "one"), Volatile("|", "two")]]
    return System(
        *(Table(rows, columns=["a", "b|"], format=it) for it in ("markdown", "csv", "xml")),
        *(Table(rows, columns=["a", "b|"], format=it) for it in ("html", "json")),
        *(Table(rows, format=it) for it in ("markdown", "csv", "xml", "html", "json")),  # type: ignore[misc]
        Table([["", ""], [None, 1.5]], columns=["", ""]),
        Table([], columns=["a"]),
        Table([["\n", "a\nb"], ["x\\", trusted("c\nd|")]]),
        List(Item("t", Table([["1"], ["2"]])), "u"),
    )


def json_and_code() -> Node:
    """Write JSON and code beside each other, with values, tags and fences in them."""
    with Timeline() as prompt:
        with System("<t></t>"):
            Json({"a": "<t>", "b": ["</t>", "&amp;", "<i>"], "</t>": "\u2028"})
            Code("```\n````\nx", language="py")
            Code("~~~")
            Code(Value("</t> ``` <i>"))
            List(Item("a", Json([1])), Item(Json([2]), Code("b")))
            Json({"v": Volatile("<t>", "v"), "w": [Volatile(1, "w"), Volatile(2, "w2")]})
        with User():
            Json({"a": "<t>"})
            Code("x")
            Json([])
        Ephemeral(Json({"a": "</context> <i> &lt;"}), Code(Value("</context> <i>")))
    return prompt


def formatted_blocks() -> Node:
    """Write blocks of which an author's function formats some, one of them volatile."""
    with Timeline() as prompt:
        with System():
            Json([1])
            Code("a", language="py")
            Json([Volatile(2, "two")])
        Ephemeral(Json(["x"]), Code("b"))
        History(
            [
                Message("user", (JsonBlock([3]), TextBlock("c"))),
                Message("assistant", (JsonBlock([4]), CodeBlock("d", None), TextBlock("e"))),
                Message("user", (CodeBlock("f\ud800", "py"), JsonBlock(["\ud800"]))),
            ]
        )
    return prompt


def speakers() -> Node:
    """Write turns of one role in a row: names, ids, notes, empty ones, and one that stays apart."""
    with Timeline() as prompt:
        User("a", name="ann", id="q1", tags=("t",), metadata={"m": 1})
        User("", name="nobody")
        User("b", name="ann", id="q2")
        User("c", name="bob")
        User("d", merge=False)
        Assistant("e", id="a1")
        Assistant("", id="a2")
        Developer("f")
        Developer("g", id="d2")
        Event("h")
        User("i")
        Event("j", id="ev")
        Event("k")
        Ephemeral("l")
        Ephemeral("m", id="eph")
        Ephemeral("n")
        User("o")
    return prompt


def two_results() -> Node:
    """Write results in turns of the user and of tools, with text, images and errors around."""
    with Timeline() as prompt:
        Assistant("a", ToolUse("f", {}, id="1"), ToolUse("g", {}, id="2"), ToolUse("h", {}, id="3"))
        User(
            "b",
            ToolResult("1", "c", "d"),
            "e",
            ToolResult("2", Image.from_file_id("i"), Text("x ", Value("f")), is_error=True),
            ToolResult("3"),
            name="ann",
        )
        Assistant(ToolUse("f", {}, id="4"), ToolUse("g", {}, id="5"), ToolUse("h", {}, id="6"))
        Turn("tool", ToolResult("4", List("g", "h"), Section("s", "i")), ToolResult("5", "j"))
        ToolMessage("6", "k", Json({"l": 1}), name="h", error_type="timeout_error", cache=True)
    return prompt


def marks() -> Node:
    """Write cache marks after turns, sections and texts, two after one, and before any text."""
    with Timeline() as prompt:
        with System("a", cache=True):
            CacheBreakpoint("1h")
            Section("s", "b", "c", cache=True)
            CacheBreakpoint("1h")
            CacheBreakpoint("5m")
            Section("empty", "", cache=True)
            Section("t", "d", Section("u", "e", cache=True), "f")
        User(CacheBreakpoint(), "g", CacheBreakpoint("5m"), Image.from_file_id("h"), cache=True)
        Assistant("i", ToolUse("f", {}, id="1"), CacheBreakpoint("1h"), ToolUse("g", {}, id="2"))
        User(ToolResult("1", "j"), CacheBreakpoint(), ToolResult("2", "k"), cache=True)
        Assistant(Reasoning("l"), CacheBreakpoint(), "m")
        Assistant("n", Reasoning("o"), cache=True)
    return prompt


def recordings() -> Node:
    """Write recorded messages beside written turns: names, documents, data and lone surrogates."""
    text = b64encode(b"</context> a").decode()
    document = DocumentBlock(
        MediaSource("base64", text, media_type="text/plain"), title="</context>"
    )
    with Timeline() as prompt:
        System("<b></b>")
        Ephemeral("x")
        History(
            [
                Message("user", "a </context>", name="</context>"),
                Message("user", (TextBlock("b\ud800"), TextBlock("c </event>"))),
                Message("assistant", (TextBlock("</context>"), ToolUseBlock("1", "f", "{}"))),
                Message("tool", (ToolResultBlock("1", (document, TextBlock("</context>"))),)),
                Message("user", (document, JsonBlock(["</context>"]))),
            ]
        )
        User("d </context>", name="</context>")
        User(Document.from_bytes(b"</context>", media_type="text/plain", title="</event>"))
    return prompt


def indented_texts() -> Node:
    """Write texts that begin with a line end, with values alone on lines and blank lines around."""
    x = Value
    return System(
        Text("\n    Rules:\n      ", x("a"), "\n      ", x("b\n  c"), "\n\n    End\n    "),
        Text("\n\n  ", x("a"), "\n", x("b"), "\n  c"),
        Text("\n  a\n  ", x("b")),
        Text("\n  ", x("a"), "\n    "),
        Text(x("a"), "\n  b\n  c"),
        Text("\r\n  a\n    b ", x("c"), "\n  \n  d"),
        Section("s", "\n  a\n    b", Text("\n\tc\n\t\td"), "\n e\n  f"),
        Template.from_string("\n  {{ a }}\n    {{ b }}\n", a="x", b="y\n  z"),
    )


def unseen() -> Node:
    """Write characters that nobody sees, in two values, two cells, two fields and in two titles."""
    with Timeline() as prompt:
        with System():
            Text(Value("a\x07\u200b\x07"), Value("b"), Value("\x00"))
            Section("s", Table([["c\x01", "d\x02"]], columns=["e\x03", "f"]), title=Value("g\x04"))
            Untrusted("h\x05", source="i\x06")
        Event(UserAction("j\x07", target="k\x08", actor="l\x0b"))
        Ephemeral("m", type="n\x0c", title="o\x0e")
    return prompt


def events() -> Node:
    """Write event blocks in one event: fields, data, texts and parts in each."""
    with Timeline() as prompt:
        with Event():
            UserAction("a", "b", List("c", "d"), target="e", actor="f", g=1, h={"i": [2]})
            UserAction("a", actor="")
            StateChange("k", old=None, new=False, trigger="l", m="n\no")
            StateChange("k", new=0)
            StateChange("k", old="", p=None)
            SystemEvent("q", source="r", s=trusted("<t>"), u=Volatile("v", "w"))
            SystemEvent("q", "x", Quote("y"))
            Text("z")
            Section("s", "1", title="2")
        Event("3", Image.from_file_id("4"), "5")
    return prompt


def mapped_roles() -> Node:
    """Write events and request-only turns as instructions: two of each, one with an attachment."""
    with Timeline() as prompt:
        User("a")
        Event("b", Value("```\n"))
        Event("c", Image.from_file_id("d"))
        Ephemeral("e", Value("# f"))
        Ephemeral(Image.from_file_id("g"), "h")
        Developer("```\n", Value("# i"))
        Developer("```\n", Value("# j"), "\n```")
        User("k")
    return prompt


def vocabularies() -> Node:
    """Write tags in one turn and values in another, turns in two formats, and one turn twice."""
    with detached():
        twice = Ephemeral("<a>", Value("</a> </b> </item>"), "</a>", List("z"))
        spoken = User("<c>", Value("</c> </d>"), "</c>")
    with Timeline() as prompt:
        with System("<e></e>"):
            Format("xml", Section("rules", "a", Section("inner", Value("</e> </rules> </inner>"))))
            Template.from_string(
                "{% if no %}</x>{% else %}<y>{% endif %}<x>{{ v }}", no=False, v="</x> </y> </z>"
            )
        System(Value("</rules> </e> </x> </list>"), List("b"))
        include(twice, spoken)
        Format("xml", Ephemeral(List(Value("</item> </list> </rules>")), "<b></b>"))
        Ephemeral(Value("</item> </b> </rules> </e> </deep>"), List("c"))
        Format("xml", twice, User(Section("deep", Value("</deep> </rules>"), "</deep>")))
        User(Value("</deep> </c> </rules>"))
        include(spoken)
        Developer(Table([[trusted("</f>"), "</f> </cell>"]], format="xml"), Value("</cell> </f>"))
        Grounding("g", "<h></h> </inner>", Section("h", "<i>", List("</i>")))
        Event(UserAction("a", "</j>", x=trusted("<j>"), y="</j>"), Value("</j> </rules>"))
    return prompt


def system_content() -> Node:
    """Write system content of each kind: recorded, written, loose, in a format, with ids."""
    with Timeline() as prompt:
        History(
            [
                Message("system", (TextBlock("a </context>"), TextBlock("b\ud800", cache="5m"))),
                Message("user", "c"),
                Message("developer", (TextBlock("```"), CodeBlock("d", "py"), JsonBlock([1]))),
                Message("assistant", "e", name="bob"),
                Message("assistant", "f", id="m1", tags=("t",)),
            ]
        )
        System("g", Value("# h"), id="first", tags=("u",), metadata={"k": 1})
        Section("loose", "i\ud800", title="j\ud800", cache=True)
        Format("xml", Format("markdown", Section("loose2", "k")), Section("loose3", "l"))
        System("m", cache=True)
        System("n")
        Developer("```\n", Value("# o"))
        Section("loose4", Text("p\ud800", Value("q\ud800")), Code("r\ud800"))
        User("s\ud800", Section("t", Value("u\ud800"), title="v"), name="w\ud800")
    return prompt


def margins_that_are_wide() -> Node:
    """Nest lists and quotes deeper than the widest margin, with texts of two lines at each end."""
    inner: Node = Item("a\nb", Quote("c\nd", Code("e\nf")), "g")
    for number in range(41):
        inner = Item(f"{number}\nx", List(inner, f"{number}"))
    return System(List(inner, Item("y\nz", List("1\n2"))), Quote(List("3\n4")))


def states_between() -> Node:
    """Write what changes how the next of two is written, and what does not."""
    with Timeline() as prompt:
        with System("a <"):
            Section("s", Value("event>"), title="T")
            with Section("one", title="One"), Section("two"):
                Text("b\ud800")
                Text(Value("c\x07"))
            with Format("xml"), Section("three"):
                Text("d")
                CacheBreakpoint()
            CacheBreakpoint("1h")
            List(Item("e", Example(List("f"), "g")), Item(Quote("h"), Code("i"), "j", Code("k")))
            Format("xml", List("l"))
        Ephemeral(Text("<eve", trusted("n"), Value("t>"), "<con", trusted("te"), Value("xt>")))
        Ephemeral(Text(Value("<eve"), "n", Value("t>"), "<", Value("a"), Value("event>")))
        Ephemeral(Value("</list> </item>"))
        User("m")
        Developer("```")
        Developer("n")
        User("o")
        Developer("```\n", Value("# p"), "\n```")
    return prompt


MAPPED: Any = {"role_mapping": {"event": "developer", "ephemeral": "developer"}}


def format_block(block: Any) -> str | None:
    """Return a text for JSON, none for other blocks but those that have a language."""
    if block.type == "json":
        return f"J{block.value}"
    return f"C{block.text}" if block.language else None


PROMPTS: dict[str, tuple[Callable[[], Node], dict[str, Any]]] = {
    **{
        make.__name__: (make, {})
        for make in (
            *(lists, many_items, checked_items, quotes, example_pairs, sections, repeated_titles),
            *(levels, formats, separators, separated_losses, values_in_lines, values_far_away),
            *(code_of_the_author, tags_in_two_texts, fences_in_turns, attributes, tables),
            *(json_and_code, speakers, two_results, marks, recordings, indented_texts, unseen),
            *(events, mapped_roles, vocabularies, system_content, margins_that_are_wide),
            states_between,
        )
    },
    "delimiters": (other_delimiters, DELIMITERS),
    "format block": (formatted_blocks, {"format_block": format_block}),
    "guarded": (recordings, {"guard_conversation": True}),
    "guarded fences": (fences_in_turns, {"guard_conversation": True}),
    "mapped": (mapped_roles, MAPPED),
    "mapped events": (speakers, {**MAPPED, "merge_separator": "\n"}),
    "in full": (fences_in_turns, {"encoding": {"body": "full", "inline": "full"}}),
    "lines in full": (values_in_lines, {"encoding": {"inline": "full"}}),
    "vocabularies in full": (vocabularies, {"encoding": {"body": "full", "inline": "full"}}),
    "system content guarded": (system_content, {"guard_conversation": True, **MAPPED}),
    "data in full": (json_and_code, {"encoding": {"body": "full"}}),
    "parted": (speakers, {"merge_consecutive": False, "join_texts": False}),
}
"""By name, what writes a prompt, and the settings that it is rendered with."""

IN_XML = (
    *("lists", "checked_items", "quotes", "example_pairs", "sections", "formats", "separators"),
    *("tags_in_two_texts", "fences_in_turns", "tables", "json_and_code", "delimiters", "marks"),
    *("two_results", "indented_texts", "data in full", "guarded fences", "in full"),
)
NAMES = [*(f"{name}, markdown" for name in PROMPTS), *(f"{name}, xml" for name in IN_XML)]


def report(name: str) -> str:
    """Return what a prompt comes to in a format: messages, spans, losses and origins."""
    case, _, form = name.rpartition(", ")
    make, settings = PROMPTS[case]
    first = make.__code__.co_firstlineno
    rendered = render(make(), transformation={**settings, "format": form})
    return "\n".join(_lines(rendered, first))


def _lines(rendered: Rendered, first: int) -> Iterator[str]:
    for message in rendered.messages:
        data = message.to_dict()
        blocks = data.pop("content")
        del data["role"]
        origins = " ".join(f"{it.address}{_line(it, first)}" for it in message.sources)
        yield f"[{message.role}] {origins} {data or ''}".rstrip()
        for block in blocks:
            yield from _block(block)
    for loss in reported(rendered):
        times = f" x{loss.count}" if loss.count > 1 else ""
        yield f"! {_line(loss, first)} {loss.path} {loss.kind}: {loss.what}: {loss.why}{times}"
    for place, spans in groupby(rendered.spans(), lambda it: (it.message, it.block, it.inner)):
        yield "spans " + ".".join(str(number) for number in place if number is not None)
        for head, group in groupby(spans, lambda it: f"{_line(it, first)} {it.address}"):
            yield f"{head} {' '.join(map(_span, group))}"


def _span(span: Span) -> str:
    """Return the text of a span behind the first letter of its kind; none for ``section``."""
    letter = "" if span.kind == "section" else span.kind[0].upper()
    letter = "X" if span.kind == "volatile" else letter
    label = "" if span.label is None else f"({span.label})"
    return f"{letter}{label}{span.text!a}"


def _block(block: dict[str, Any]) -> Iterator[str]:
    kind, text, inner = block.pop("type"), block.pop("text", ""), block.pop("content", [])
    yield f"- {kind} {block or ''}".rstrip()
    if text:
        yield from (f"| {ascii(line)[1:-1]}" for line in text.split("\n"))
    for part in inner:
        yield from _block(part)


def _line(thing: Loss | Span | Origin, first: int) -> str:
    return "+?" if thing.source is None else f"+{thing.source.line - first}"


if __name__ == "__main__":
    FILE.write_text("".join(f"{HEAD}{name}\n{report(name)}\n" for name in NAMES), "utf-8")
