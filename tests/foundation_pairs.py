"""Calls of the functions of the foundation with two of a thing, and what each returns.

``python -m tests.foundation_pairs`` writes what they return into ``foundation_pairs.txt``: judge
each line that changes by the docstring of the function before it is kept.
"""

import datetime
import pathlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID

from promptdsl import *
from tests.internals import (
    Neighbours,
    answers_module,
    attribute,
    authored_cell,
    body,
    canonical,
    cell,
    cell_locations,
    check_delimiter,
    code_fences,
    content_remedy,
    controls,
    data_text,
    dedent_parts,
    equal_start,
    field,
    first_label,
    fold,
    frozen,
    guard,
    guard_between,
    guard_end,
    guard_start,
    holds,
    inline,
    inline_line,
    invisible,
    is_json,
    is_valid_unicode,
    json_body,
    json_pieces,
    json_problem,
    json_remedy,
    json_text,
    labelled,
    left_open,
    message_remedy,
    minimal_body,
    nearest,
    on_one_line,
    one_line,
    paired_tags,
    plain_data,
    read_json,
    readable,
    readable_tags,
    shown_value,
    table_text,
    text_of,
    text_remedy,
    thawed,
    title,
    unique_pairs,
    valid_unicode,
    visible_json,
    with_its_article,
    within_line,
    write_json,
    written_tags,
)
from tests.internals import all_visible as visible

FILE = pathlib.Path(__file__).with_suffix(".txt")
Calls = Iterator[tuple[Callable[..., object], tuple[object, ...], dict[str, object]]]


class Color(Enum):
    """An enumeration."""

    RED = "red"


class Texts(str):
    """A string of another type."""


def each(function: Callable[..., object], *arguments: object, **options: object) -> Calls:
    """Yield a call for each argument; a tuple is the arguments of one call."""
    for given in arguments:
        yield function, given if isinstance(given, tuple) else (given,), options


def read_list(text: str) -> object:
    """Read an answer that is a list."""
    return answers_module.read_answer(text, lambda value: isinstance(value, list))


def pieces_of_json(*given: Any) -> list[tuple[str, str | None]]:
    """Return the pieces of JSON with their labels."""
    return [(str(piece), piece.label) for piece in json_pieces(*given)]


def places_of_cells(*given: Any) -> list[tuple[int, int]]:
    """Return where the cells of a table are."""
    return [*cell_locations(*given)]


def text_of_an_error(*at: object) -> str:
    """Return the text of an error at places."""
    return str(PromptError("a", fix="b", at=at))


def located_twice(*at: object) -> str:
    """Return the text of an error that is located twice."""
    return str(PromptError("a", at=at).located("z:1").located("z:2"))


def remedy_for_json(value: object) -> str:
    """Return the advice where JSON is expected."""
    return json_remedy(value, "otherwise")


def answers() -> Calls:
    """Yield the calls that read answers."""
    read = answers_module.read_answer
    yield from each(
        read,
        ' {"a": 1} ',
        "```json\n{}\n```\nand\n```\nno\n```",
        "```\nno\n```\n~~~\n[1]\n~~~",
        "```\n[1]\n```\n```\n[2]\n```",
        '```\n{"a": 1, "b": 2}\n```\n```\n{"b": 2, "a": 1}\n```',
        "````\n```\n[1]\n```\n````\n```\n[2]\n```",
        "~~~\n```\n~~~\n[1]",
        "```\n[1]\n~~~\n```\n[2]",
        "  ```py`\n[1]\n  ```\n ```\n[2]\n\t```  ",
        "```\n[1]",
        "```\n[1]\n```x\n```\n[2]",
        'Here: [{"a": 1}] as asked.',
        'Here: {"a": [1]} as asked.',
        'a {"b": "}{"} c',
        'a {"b": "\\"}"} c {"b": "\\\\"} d',
        "a [1] [1] b",
        "a [1] [1.0] b",
        "[0, 1) and [2]",
        "[0, 1) and {x} and [2]",
        "{x [1] y} [2]",
        '{"a": [1} [2]',
        '[1] and {"a": ',
        '[1] and ["a',
        "[1] and [2, ",
        "[see] [1]",
        '[a "b] [1]',
        "{} []",
        "a ] b } c [1]",
        "```\n{x}\n```\n[1]",
    )
    yield from each(
        read_list,
        '{"a": 1} [1] {"b": 2}',
        '{"a": 1} {"b": 2}',
        '```\n{"a": 1}\n```\n[1]',
        '```\n{"a": 1}\n```\n```\n[1]\n```\n[2]',
        '```\n{"a": 1}\n```\n {"a": 1}',
        "[1] [2] {}",
        '{"a": 1}',
    )
    shape = answers_module.has_shape
    yield from each(
        shape,
        ({}, {"type": "object", "required": ["a"]}),
        ({"a": 1}, {"type": "object", "required": ["a", "b"]}),
        ({"a": 1, "b": 2}, {"required": ("b", "a")}),
        ([], {"type": "object"}),
        ([], {"type": "array", "required": ["a"]}),
        (True, {"type": "boolean"}),
        ("a", {"type": "null"}),
        (None, {"type": "null"}),
        (1, {"type": "integer"}),
        ("a", {"type": ["string", "null"]}),
        ({}, {"type": "object", "required": "ab"}),
    )


def json_texts() -> Calls:
    """Yield the calls that read and write JSON."""
    deep = "[" * 201 + "]" * 201
    yield from each(
        read_json,
        "[1] [2]",
        ' \n{"a": 1}\t',
        '{"a": 1, "a": 2}',
        "[NaN]",
        "[1e400]",
        "1 ",
        "",
        deep,
    )
    yield from each(read_json, "[" * 200 + "]" * 200)
    both = "[" * 101 + "]" * 101
    yield from each(is_json, "[1e999]", "[1] x", deep, f"[{both}, {both}]", "[Infinity]")
    yield from each(json_problem, "x", deep, "[1e999]", "[NaN, 1e999]")
    yield from each(
        write_json, {"b": 1, "a": [True, None]}, ["\ud800", "\u00e4"], [float("nan")], {1: 2}, {2}
    )
    yield from each(unique_pairs, [("a", 1), ("b", 2)], [("a", 1), ("b", 2), ("a", 1)], [])
    yield from each(canonical, {"b": 1, "a": {"d": 1, "c": 2}}, [True, 1, 1.0])
    yield from each(
        json_text,
        {"<": "&", "b": ["\x7f\u2028", Texts("c")]},
        [1, {"a": [2, {1, 2}]}],
        {"a": [1, float("inf")]},
        {"a": {1: 2}},
        {Texts("a"): 1},
    )
    names = frozenset({"t", "untrusted"})
    yield from each(
        json_body,
        (r'{"\u003ct\u003e": "\u003ci\u003e \u003c/t", "a": "\u0026lt; \u0026x"}', names),
        (r'["\u003c", "t\u003e", "\u003cu", "\u003c\\t"]', names),
        (r'["\u003c\\u", "\u2028\u003ci\u003e\\\""]', names),
        ('["[[a", "[", "]]", "<"]', names, frozenset({"[[a", "]]"})),
        ('["\uff1ct", "\U0001d173[[a"]', names, frozenset({"[[a"})),
    )
    yield from each(
        json_body, (r'["\u003ci\u003e", "[[a \u0026"]', names, frozenset({"[[a"})), full=True
    )
    data = {"a": [1, {"b": "x"}], "c": {}, "d": [], "e": "y"}
    labels = {("v", "a", 0): "one", ("v", "a", 1, "b"): "two", ("v", "e"): "last"}
    yield from each(
        pieces_of_json,
        (data, ("v",), labels),
        (data, ("v",), {}),
        (data, ("w",), labels),
        ("y", ("v", "e"), labels),
        ([1, 2], ("v", "a"), {("v", "a", 0): "one", ("v", "a", 1): "one"}),
    )
    yield from each(
        first_label,
        ["a", labelled("b", None), labelled("c", "one"), labelled("d", "two")],
        ["a"],
        [labelled(1, ""), labelled(2.5, "two")],
        [labelled(True, "no")],
    )


def tags() -> Calls:
    """Yield the calls that find tags, and guard against them."""
    names = frozenset({"doc", "event", "system"})
    square = frozenset({"[[a", "END"})
    yield from each(
        guard,
        ("a <doc> < / EVENT> <docs> <doc", names),
        ("<do", names),
        ("<do <sys\u200btem> \uff1cevent", names),
        ("<doc.> <-doc> <doc-", names),
        ("[[a [ [A [ E [[b bEND", names, square),
        ("EN", names, square),
        ("bEN", names, square),
        ("< <doc>", names),
        ("<event<doc>", names),
        ("<", names),
        ("<>", names),
    )
    yield from each(
        left_open, "a <b", "<a> <b <", "<a ", "<a>", "a", "<a <b c", "\uff1ca \u2039b", "</"
    )
    yield from each(
        guard_end,
        ("a <do", names),
        ("a <doc", names),
        ("a <docs", names),
        ("<do <ev", names),
        ("<ev> <s", names),
        ("<", names),
        ("<sys", frozenset({"sys", "system"})),
    )
    yield from each(
        guard_start,
        ("c> d", "<do", names),
        ("cs> d", "<do", names),
        ("> d", "<doc", names),
        ("tem", "<sys", frozenset({"sys", "system"})),
        ("", "<do", names),
        ("&c", "<do", names),
        ("vent <doc", "<e", names),
        ("ys", "<s", names),
        ("c", "", names),
    )
    yield from each(
        minimal_body,
        ("<doc> &lt; &amp; &x; &#6", names),
        ("a\rb\r\nc\x00", names),
        ("& &a &am &quo", names),
        ("[[a &lt;", names, square),
        ("a", names),
    )
    yield from each(readable_tags, ("a &am", names), ("&lt; &l", names), ("a\u2028 > --", names))
    yield from each(readable_tags, ("a &am", names), before_value=True)
    yield from each(readable_tags, ("a > b -- ]", names), ("?", names), in_comment=True)
    yield from each(
        written_tags,
        "<a> </b> <a/> < / c> </a",
        "<a\u200bb> <\u00e9> <a.> </-",
        "<a <b> </a <c",
        "a",
        "<a>",
    )
    yield from each(paired_tags, "<a> </b> </A> <b", "<a></c>", "<B.></b> <c></C->")
    yield from each(fold, "A.-", "\u00c9-a", "a.b", "\ufb01", "-a")
    yield from each(
        check_delimiter, "[[", " \u200b", "amp", "x&", "12", "#1", "lt", "\ud800", "ltt", "a;"
    )
    yield from each(check_delimiter, "amp", " ", tag=True)
    yield from each(holds, ("a [ [b", {"x", "[[B"}), ("a", {"b", "c"}), ("a", set[str]()))
    yield from each(
        guard_between,
        ("<", "b", ">", frozenset({"<b", "x"})),
        ("<", "b", ">", frozenset({"b>"})),
        ("<b", "b", "b>", frozenset({"<b"})),
        ("[", "[a]", "]", frozenset({"[[", "]]"})),
        ("a", "b", "c", frozenset({"ab", "bc"})),
    )


def lines() -> Calls:
    """Yield the calls that make values of instructions readable."""
    none = frozenset[str]()
    beside = [
        Neighbours(),
        Neighbours("a ", " b"),
        Neighbours("- ", "", is_first=False),
        Neighbours("a", "", nearest=""),
        Neighbours("", "", until=""),
        Neighbours("", "-", until="", is_first=False),
        Neighbours("```", ""),
        Neighbours("a", "b", nearest="~~~", until="c"),
        Neighbours("", "", in_code=True, is_first=False),
        Neighbours("<", ">", in_tag=True, is_first=False),
        Neighbours("<!-- ", "", in_comment=True),
        Neighbours("<pre> ", "", in_raw=True),
    ]
    values = [
        "# a\n## b",
        "-",
        " a\n\n",
        "\n\n# a",
        "=",
        "<div>\n<p>\n\n<p>",
        "```a\n```",
        "1. # a\n2) - ---\n> ~~~",
        "a\n---\nb\n===",
        "</pre> -->",
    ]
    pairs = [(value, place, none) for value in values for place in beside]
    yield from each(readable, *pairs)
    yield from each(
        within_line,
        ("a", ""),
        ("1", "a\n"),
        ("1", "\na"),
        ("1", "a\r1"),
        ("a`", "a"),
        (" ", "a"),
        ("a\nb", "a"),
        ("1", "1 b 2"),
    )
    yield from each(
        inline,
        "# a\n# b",
        "a\n- # b\n1. - ~~~\n2) a",
        "-\n-",
        "a\n1.",
        "a\n \n",
        "a\r\n",
        "a\n\n",
        "12",
        "a\n- - -",
        "* a\n***",
        "",
    )
    yield from each(inline_line, "a\n# b\r\n", "- a\nb")


def encodings() -> Calls:
    """Yield the calls that encode values for their places."""
    value = "<a> & 'b' \"c\"\n\td\r\r\ne|\\ \x07\x85\ud800"
    for encode in (body, field, attribute, cell, authored_cell, title, one_line):
        yield from each(encode, value, "a|\\\\", "a\\")
    yield from each(
        decode, "&lt;&gt;&amp;lt;&quot;", "&#60;&#1114112;&#12345678;&#x3c;", "&lt &apos; &amp;amp;"
    )
    yield from each(
        code_fences, ("`` ``` a `", "py"), ("a", None), ("````\n```", "a`b\nc"), ("`", "")
    )
    yield from each(
        text_of,
        Texts("a"),
        True,
        1,
        1.0,
        Decimal("1.10"),
        Fraction(1, 2),
        datetime.datetime(2026, 1, 2, 3, 4),
        datetime.date(2026, 1, 2),
        datetime.time(3, 4),
        UUID(int=1),
        None,
        [1],
        b"a",
        Color.RED,
    )
    yield from each(data_text, None, 0, False, "")
    yield from each(controls, "\x07a\r\r\n\x07\ud800\x00", "a\r\n\t", "")
    yield from each(invisible, "\u200b\xad\u200b\u2066", "\U0001f468\u200d\U0001f469 \u200d", "a")
    yield from each(visible, "\u200ba\n\t\x07\u2028\x07", "\U0001f468\u200d\U0001f469\u200d")
    yield from each(visible, "\u200ba\n\t\x07", one_line=True)
    yield from each(visible_json, '"\x7f\u2028\u200b\U000e0041"', '"a"')
    yield from each(on_one_line, "a\n\u200b\x07\u00e4", "a b")
    yield from each(valid_unicode, "a\ud800\udc00b\ud800", Texts("a"), "\u00e4")
    yield from each(is_valid_unicode, "\ud800", "\u00e4", "a")
    yield from each(
        equal_start, ("abcd", "abxd"), ("abc", "abcde"), ("", "a"), ("xa", "ya"), ("aab", "aac")
    )
    yield from each(
        dedent_parts,
        (["\n  a\n    b\n"],),
        (["\n  ", 1, "\n    ", 2, "\n"],),
        (["\n  a ", 1, " \n\n   \n  b", 2],),
        ([1, "\n  a\n\n", "  b", 2],),
        (["a", "b", 1, "c", "d"],),
        (["\n", "  ", 1],),
        (["\n\n  ", "\n", 1, "\n  ", "\n\n"],),
        (["\n\ta\n  b"],),
        (["", 1, ""],),
        (["\n   \n"],),
        ([],),
        ([1, 2],),
        (["\n    a\n  ", 1, "\n  b\n      "],),
    )


def tables() -> Calls:
    """Yield the calls that write tables."""
    rows = [("a", 1), (None, trusted("<b>|\n")), (-1, "%s|")]
    for form in ("markdown", "csv", "json", "xml", "html"):
        yield from each(
            table_text,
            (("x", "%"), rows, form),
            (None, rows, form),
            (("x",), [("",), ("a,b",), (' "c" ',), ("# d",), (-1.5,)], form),
            (("x", "y"), [], form),
            (("x", "y", "x"), [(1, 2, 3)] * 2, form if form != "json" else "csv"),
        )
        yield from each(
            places_of_cells,
            (("x", "%"), rows, form),
            (None, rows, form),
            (None, [], form),
        )


def data() -> Calls:
    """Yield the calls that copy data."""
    shared = [1]
    circle: list[object] = [1]
    circle.append({"a": circle})
    yield from each(frozen, {"a": shared, "b": shared, "c": (1, 2)}, [], {}, {"a": {}}, {1: 2})
    yield from each(frozen, circle, {Texts("a"): 1}, OrderedDict(b=1, a=[2]))
    yield from each(thawed, frozen({"a": [1, {"b": ()}], "c": {}}))
    long: object = {"bad": {1}}
    for number in range(8):
        long = {f"k{number}": [0, long]}
    yield from each(
        plain_data,
        ({"a": [1, {"b": {2}}]}, "value"),
        ([[1], [2, object]], "value"),
        ({"a": {}, "b": {3: 1}}, "value"),
        (long, "value"),
        ({"a" * 99: float("nan")}, "value"),
        (Texts("a"), ""),
        ({"a": True, "b": 1, "c": 1.5, "d": Texts("e")}, "value"),
        ({"x": [1], "y": {"z": [Decimal(1)]}}, ""),
    )


def messages_of_errors() -> Calls:
    """Yield the calls that write errors and their advice."""
    yield from each(
        text_of_an_error,
        (),
        ("x:1", "x:1", "y:2", "x:1", "y:2"),
        (None, "x:1", None, "y:2"),
        ("x:1",),
    )
    yield from each(located_twice, (), ("x:1",))
    yield from each(
        nearest,
        ("systm", ["user", "system", "systems"]),
        ("q", ["b", "a\n"]),
        ("q", []),
        (1, ["11", "12"]),
        (Texts("usr"), ["user"]),
    )
    yield from each(shown_value, "a\nb", "x" * 58, "x" * 59, ["a", "b"], Color.RED)
    yield from each(
        with_its_article,
        "User",
        "Untrusted",
        "unit",
        "'image'",
        "Event",
        "Item",
        "Output",
        "universe",
        "Use",
    )
    values: list[Any] = [
        b"a",
        memoryview(b"a"),
        Color.RED,
        pathlib.PurePath("a"),
        datetime.date(2026, 1, 2),
        UUID(int=1),
        ValueError("a"),
        {1},
        frozenset({1}),
        None,
        True,
        1.5,
        [],
        [{"role": "user"}],
        [{"a": 1}],
        [("system", "a"), ("user", "b")],
        ("ai", "a"),
        ("human", "a"),
        [("a", True)],
        ("a", True),
        [[1, 2], [3, 4]],
        [1, 2],
        {},
        {"role": "user", "content": "a"},
        {"role": "user"},
        {"type": "function"},
        {"input_schema": {}},
        {"choices": []},
        {"stopReason": "x"},
        {"path": "a"},
        {"a": True, "b": False},
        {"a": True, "b": 1},
        (it for it in ()),
        iter([1]),
        len,
        Texts,
        lambda: 1,
        object(),
        render(User("a")),
    ]
    yield from each(content_remedy, *[(value,) for value in values])
    for remedy in (text_remedy, remedy_for_json):
        yield from each(remedy, *[(value,) for value in (*values[:14], *values[-2:])])
    yield from each(message_remedy, *[(value,) for value in values[-2:]])


GROUPS = (answers, json_texts, tags, lines, encodings, tables, data, messages_of_errors)


def results() -> str:
    """Return each call and what it returns or raises, a line each."""
    return "\n".join(line for group in GROUPS for line in _lines(group))


def _lines(group: Callable[[], Calls]) -> Iterator[str]:
    yield f"==== {group.__name__}"
    before: object = None
    for function, arguments, options in group():
        if function is not before:
            yield f"-- {function.__name__} {options or ''}".rstrip()
        before = function
        yield f"{_shown(arguments)}  ->  {_result(function, arguments, options)}"


def _shown(arguments: tuple[object, ...]) -> str:
    text = ", ".join(map(ascii, map(_plain, arguments)))
    return text if len(text) < 160 else f"{text[:160]}..."


def _result(function: Any, arguments: tuple[object, ...], options: Mapping[str, Any]) -> str:
    try:
        return ascii(_plain(function(*arguments, **options)))[:600]
    except (PromptError, ValueError) as error:
        what, fix = getattr(error, "what", str(error)), getattr(error, "fix", "")
        what = re.sub("^(not a JSON value:).*", r"\1 (in the words of Python)", what)
        return f"{type(error).__name__}: {what!a}, {fix!a}"


def _plain(value: object) -> object:
    """Return a value that is printed the same in each process."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, OrderedDict):
        return ("OrderedDict", *value.items())
    if isinstance(value, tuple) and hasattr(value, "opened"):
        return [sorted(it) for it in value]
    if isinstance(value, Neighbours):
        usual = Neighbours()._asdict()
        return {key: it for key, it in value._asdict().items() if it != usual[key]}
    if callable(value) or isinstance(value, Rendered) or " at 0x" in repr(value):
        return f"<{type(value).__name__}>"
    return value


if __name__ == "__main__":
    FILE.write_text(results() + "\n", "utf-8")
