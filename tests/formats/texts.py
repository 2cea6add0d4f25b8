"""Texts with several values, each the only text of instructions, and what each is sent as.

``python -m tests.formats.texts`` writes what the package says into ``texts.txt``: judge each line
that changes by the page on safety before it is kept.
"""

from itertools import product
from pathlib import Path
from typing import Any

from promptdsl import *

FILE = Path(__file__).with_suffix(".txt")
V = Value
Parts = tuple[Any, ...]

CODE: list[Parts] = [
    ("```\n", V("# a"), "\n```\n", V("# b")),
    ("```\n", V("# a"), "\n~~~\n", V("# b"), "\n```\n", V("# c"), "\n```"),
    ("```\n", V("# a"), "\n````\n", V("# b"), "\n```\n", V("# c"), "\n```\n", V("# d")),
    ("````\n", V("# a"), "\n```\n", V("# b"), "\n````\n", V("# c")),
    ("```\n", V("# a"), V("# b"), "\n", V("# c"), "\n```\n", V("# d"), V("# e")),
    ("```", V("# a"), "\n", V("# b"), "\n```"),
    (V("a"), "```\n", V("# b"), "\n```\n", V("# c")),
    ("```\n", V("# a"), "\n", V("b"), "```\n", V("# c"), "\n```\n", V("# d")),
    ("```\n", V("# a"), "\n``` ", V("b"), "\n", V("# c")),
    ("```\n", V("# a"), "\n```a\n", V("# b"), "\n```\n", V("# c")),
    ("```a`b\n", V("# a"), "\n```\n", V("# b")),
    ("~~~a`b\n", V("# a"), "\n~~~\n", V("# b")),
    ("a\n```\n", V("# a"), "\n  ```  \n", V("# b")),
    (" ```\n", V("# a"), "\n```\n", V("# b"), "\n```"),
    ("- ```\n  ", V("# a"), "\n  ```\n", V("# b")),
    ("> ```\n> ", V("# a"), "\n"),
    ("<p>\n```\n", V("# a"), "\n```"),
    ("```\n<p>\n", V("# a"), "\n```\n", V("# b")),
    ("```\n", V("a\n```\n# b"), "\n", V("~~~"), "\n", V("``"), "`\n```"),
    ("~~~\n", V("~~~\n```\n# b"), "\n", V("~"), V("~~"), "\n~~~"),
    ("```\n", V("\n"), V("``"), V("`"), "\n```\n", V("\n"), V("``"), V("`")),
    ("a ``` b\n", V("# c"), "\n```\n", V("# d")),
]
"""Code fences of the author's with values in them, behind them, and at their ends."""

NEIGHBOURS: list[Parts] = [
    *((before, V(value), between, V("b"), after) for before, value, between, after in product(
        ("", "- ", "a"), ("-", "# a", " a", "a\n"), ("", " ", "-"), ("", "-")
    )),
    (V("-"), "a", V("-"), V("-")),
    (V("a"), "-", V("-"), "-"),
    ("a", V("-"), "\n", V("-"), "a"),
    ("a\n", V("b"), "-", V("-"), "\n-"),
    ("a\r", V("# b"), "\r", V("# c"), " d\r\n", V("# e")),
    ("- ", V("- "), "- ", V("# a"), "\n- ", V("1."), " ", V("# b")),
    ("1", V("."), V(" "), V("# a")),
    ("> ", V("> "), V("***"), "\n> ", V("```")),
    ("#", V("#"), V(" a"), "\n#", V("a"), "\n# ", V("# a")),
    ("a", V("\n"), V("="), V("="), "\n", V("a\n"), "==="),
    ("a\n", V("-"), " ", V("-"), " ", V("-"), "\n", V("-"), " a"),
    ("", V(""), "", V("# a"), "", V("")),
    ("a\nb", V("c"), V("# d"), V("-"), "e\nf"),
    ("a\n- ", V("c"), "", V("# d"), "e", V("```")),
    (V("a"), "\n", V(""), "\n", V("\t"), "b", V("\u200b"), "\n", V("\u200b# a")),
]  # fmt: skip
"""Values with others on both sides, and the author's text between them."""

TAGS: list[Parts] = [
    ("<a>", V("</a>"), "</a> <b>", V("</b> </a>")),
    ("<a", V(">"), " ", V("</a>"), "</a>"),
    ("<", V("a>"), "</a>", V("<a>")),
    ("<a b='", V("'>"), "' c=\"", V('">'), '" d=', V("'e"), " f=", V('"g'), ">", V("'\"")),
    ("<a b='c\"", V("'\""), "' d>", V("'\"")),
    ("<a b=\n", V("\n# c"), "\n'", V("# d"), "' ", V("e="), "'f'>", V("=")),
    ("<a> '", V("'"), "' <b '", V("'"), "' <c>", V("'")),
    ("<!-- ", V("-->"), V("--"), V(">"), " -->", V(">")),
    ("<? ", V("?>"), V("?"), ">", V("?")),
    ("<pre>", V("</pre>"), V("</style>"), V("</scr"), V("ipt>")),
    ("a <", V("div>"), "\n<", V("d"), "iv>\n", V("<"), "div>\n", V("<d"), V("iv>")),
    ("<e", V("vent>"), " <eve", V("nt"), "> </", V("event>"), V("<"), V("event>")),
    (V("<event"), "s>", V("<eve"), "nt>", V("</"), "event>", V("&lt;"), "event>"),
    ("&", V("lt;"), "&l", V("t;"), V("&"), "lt;", V("&"), V("lt;"), V("&l"), " t;"),
    (trusted("<a>"), V("</a>"), trusted("</a>"), V("<a> </b>"), trusted("<b>")),
    (Volatile("</a>", "x"), "<a>", Volatile("</a>", "y"), "</a>"),
]
"""Values in tags of the author's, in their quotation marks, and in comments."""

PLACES: list[Node] = [
    List(Text(V("# a"), V("- b")), V("# c"), V("- d\n# e"), ordered=True),
    Checklist(Item(V("# a"), done=True), V("[x] b"), Item(Text("- ", V("# c")))),
    Quote(V("# a"), Text(V("b\n# c"), V("> d"))),
    Heading(V("# a\nb")),
    Section("s", V("# a"), Text(V("b"), V("# c")), title=V("# d\n# e")),
    Paragraph(V("# a"), "\n", V("# b")),
    Example(V("# a"), Text("- ", V("# b\n# c"))),
    Fragment(Text("a <b"), Text(V("> c")), Text("<e"), Section("s", V("vent> d"))),
    Fragment(Text("<"), Text(V("event>")), Text("</eve"), Text("nt> ", V("a"))),
    Fragment(Text("<q>"), Section("s", V("</q>")), Quote(Text("</q>", V("<q>")))),
    Fragment(Text("```"), Text(V("# a")), Text("```\n", V("# b"), "\n```")),
    Code(V("```\n</a> <event>")),
    Fragment(Text("<a></a>"), Code(V("</a> <b>")), Json(["</a>"]), Untrusted("</a> <b>")),
]
"""Values in parts, beside the texts of other parts."""


def results() -> str:
    """Return each text and what it is sent as, a line each."""
    lines = [_line(Text(*parts)) for parts in (*CODE, *NEIGHBOURS, *TAGS)]
    return "\n".join([*lines, *map(_line, PLACES)])


def _line(part: Node) -> str:
    sent = [render(System(part), transformation=each).messages[0].text for each in _SETTINGS]
    texts = [sent[0], *(text for text in sent[1:] if text != sent[0])]
    return "  ->  ".join([ascii(part), *map(ascii, texts)])


_SETTINGS: tuple[Any, ...] = ({}, {"encoding": {"inline": "full"}})


if __name__ == "__main__":
    FILE.write_text(results() + "\n", "utf-8")
