"""Reports, shared prefixes and alignments of two of each thing.

``python -m tests.comparing.report_cases`` writes the JSON file beside this one anew.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product
from typing import Any

import attrs

from promptdsl import *
from promptdsl.comparing import (
    DiffReport,
    PromptComparison,
    parse,
    payload_file,
    prompt_file,
    record_rendered,
    serialise,
)
from tests.cases_file import write_cases
from tests.comparing.difference_cases import ENTRIES, HEADERS, PARTS, TEXTS, file, next_ones, text
from tests.internals import (
    FileEntry,
    PromptFile,
    aligned,
    by_occurrence,
    changed_words,
    hunks,
    in_order,
    increasing,
    is_same_snapshot,
    most_alike,
    value_bracket,
    with_brackets,
    with_end_brackets,
)
from tests.reports.compared_pairs import marks, sections, tools, turns
from tests.reports.request_cases import ALL, result

# CASES: the lines of the file next to this one are counted from here.


# Reports.

TABLES = {**HEADERS, **ENTRIES, **PARTS, **TEXTS}


def comparison(name: str, before: str, after: str, model: str = "") -> PromptComparison:
    """Return two snapshots of the tables, compared."""
    return PromptComparison(name, "changed", diff(TABLES[before], TABLES[after]), model=model)


def cached(role: str, rules: str, *, question: str = "Hi.", extra: bool = False) -> Rendered:
    """Return a prompt with two cache marks, for Claude."""
    words = " ".join(["word"] * 1_200)
    system = System(Section("role", role, words, cache=True), Section("rules", rules, cache=True))
    more = [Assistant("So."), User("More.")] if extra else []
    return render(Timeline(system, User(question), *more), model="claude-sonnet-4-5")


def lost() -> Iterable[PromptComparison]:
    """Yield prompts that lose their cached prefix by one change, by another one, or not."""
    one = cached("You help.", "Be kind.")
    others = {
        "t/rules.prompt.txt": cached("You help.", "Be brief."),
        "t/both.prompt.txt": cached("You help them.", "Be brief."),
        "t/rules, more.prompt.txt": cached("You help.", "Be brief.", extra=True),
        "t/asked.prompt.txt": cached("You help.", "Be kind.", question="So?"),
        "t/same.prompt.txt": one,
    }
    for name, other in others.items():
        prompt_diff = diff(one, other)
        yield PromptComparison(name, "changed" if prompt_diff else "same", prompt_diff)


def reports() -> dict[str, DiffReport]:
    """Return reports of prompts that share one change, two changes or none."""
    mixed = [
        comparison("a/one", "as it was", "one changed"),
        comparison("a/two", "a hint twice", "none"),
        comparison("b/three.gpt-5", "hints", "none", "gpt-5 (openai)"),
        PromptComparison("b/same", "same"),
        comparison("b/four", "as it was", "two changed, near", "gpt-5"),
        PromptComparison("c/new", "added"),
        comparison("c/five", "one changed", "as it was"),
        comparison("c/six", "as it was", "one changed", "gpt-4o"),
        PromptComparison("d/old", "removed"),
        PromptComparison("d/now", "renamed", diff(TABLES["a b"], TABLES["b a"]), was="d/was"),
        PromptComparison("d/then", "renamed", was="d/before"),
        PromptComparison("e/bad", "unreadable", problem="line 1 is not\nright"),
        comparison("e/seven", "a b", "b a"),
        comparison("e/eight", "marks after both", "mark after a"),
        comparison("e/nine", "marks after both", "mark after b"),
        comparison("e/ten", "u", "u a u a"),
    ]
    twice = [comparison("one", "a hint twice", "none"), comparison("two", "a b", "b a")]
    return {
        "mixed": DiffReport(tuple(mixed)),
        "a change twice in one prompt": DiffReport(tuple(twice)),
        "cached prefixes": DiffReport(tuple(lost())),
        "one prompt": DiffReport((comparison("one", "two gone", "two more"),)),
        "one new": DiffReport((PromptComparison("one", "added"),)),
        "none differs": DiffReport((PromptComparison("a", "same"), PromptComparison("b", "same"))),
        "42 alike": DiffReport(
            tuple(comparison(f"p{n}", "a, b", "b, a" if n else "b, a, a") for n in range(43))
        ),
    }


def printed_report(name: str) -> dict[str, Any]:
    """Return what a report says in its forms."""
    report = reports()[name]
    groups = [
        [
            it.sentence,
            it.change.kind,
            *it.change.location,
            len(it.edits),
            it.prompts,
            it.tokens,
            it.lost,
        ]
        for it in report.groups
    ]
    html = re.sub(r"<style>.*?</style>|<script>.*?</script>|<meta.*?>", "", report.html, flags=re.S)
    data = report.to_dict()
    return {
        "sentence": [report.sentence, report.costs, bool(report), data["sentence"], data["tokens"]],
        "groups": groups,
        "data": [len(data["groups"]), [it["status"] for it in data["prompts"]]],
        "text": short(report.text),
        "markdown": short(report.markdown),
        "page": short(html) if len(report.prompts) < 20 else "",
    }


def short(text: str) -> str:
    """Return a text without the words that make it long enough for a cache."""
    return re.sub("(?: word){9,}", " …", text)


# Two prompts: the shared prefix, the tokens, the libraries.


def told_of_two(before: PromptFile | Rendered, after: PromptFile | Rendered) -> list[Any]:
    """Return what is reported about two prompts: tokens, prefix, lost marks, tokens of changes."""
    prompt_diff = diff(before, after)
    data, prefix = prompt_diff.to_dict(), prompt_diff.prefix
    counts = [change["tokens"] for change in data["changes"] if change["tokens"]]
    sentences = [
        prompt_diff.sentence,
        *prompt_diff.costs,
        *([list(prefix.lost_marks)] if prefix else []),
    ]
    numbers_of_prefix = attrs.astuple(prefix)[:3] if prefix else ()
    return [
        *sentences,
        [data["tokens"]["added"], *counts],
        [*numbers_of_prefix, prefix and prefix.broken_by],
    ]


def of_requests(prompts: Callable[[], dict[str, Timeline]], target: dict[str, str]) -> object:
    """Return what is reported about each prompt of a family and the next one."""
    rendered = {name: render(it, **target) for name, it in prompts().items()}
    return next_ones(rendered, 1, told_of_two)  # type: ignore[arg-type]


def of_snapshots(prompts: Callable[[], dict[str, Timeline]], target: dict[str, str]) -> object:
    """Return the same of the snapshots of prompts."""
    rendered = {name: render(it, **target) for name, it in prompts().items()}
    stored = {name: parse(serialise(prompt_file(it))) for name, it in rendered.items()}
    return next_ones(stored, 1, told_of_two)


def totals() -> object:
    """Return the tokens of snapshots whose totals are known, rounded, not known, of two kinds."""
    some = {
        "known": file(("user", "Hi."), header=("tokens: ~90 (o200k_base)",)),
        "other": file(("user", "Hi."), header=("tokens: ~1,200 (o200k_base)", "model: o (gemini)")),
        "other counter": file(("user", "So?"), header=("tokens: ~100 (words)",)),
        "none": file(("user", "So?"), header=("tokens: many",)),
        "no header": file(("user", "Hi."), ("user", "")),
    }
    exact = {f"{name}, exact": attrs.evolve(it, total=len(name)) for name, it in some.items()}
    return next_ones({**some, **exact}, 3, lambda one, two: str(diff(one, two).tokens))


def libraries() -> object:
    """Return what is reported about libraries with other versions."""
    of: dict[str, tuple[tuple[str, str | None], ...]] = {
        "none": (),
        "a b": (("a", "1"), ("b", "1")),
        "a2 b": (("a", "2"), ("b", "1")),
        "b2 a2": (("b", "2"), ("a", "2")),
        "a, no version": (("a", None), ("c", "1")),
    }
    files = {name: attrs.evolve(text("x"), libraries=it) for name, it in of.items()}

    def sentence_of(before: PromptFile, after: PromptFile) -> list[object]:
        return [bool(diff(before, after)), diff(before, after).sentence]

    return next_ones(files, 4, sentence_of)


def same_snapshots() -> object:
    """Return whether snapshots with other rounded figures are the same, by their figures."""
    counts = [
        ("~90", "~9"),
        ("~110", "~9"),
        ("~111", "~9"),
        ("~90", "~29"),
        ("~90", "~30"),
        ("~9", "~9"),
    ]
    counts += [("~1,000", "~9"), ("~1,100", "~9"), ("~1,101", "~9"), ("~900", "~9"), ("~899", "~9")]
    end = "tokens: no\n---\n\ntokens: ~5\n"
    texts = {
        f"{total} {dropped}": f"---\ntokens: {total} (o)\ndropped: a, b, {dropped} {end}"
        for total, dropped in counts
    }
    return [
        f"{one} = {two}"
        for one, two in product(texts, texts)
        if is_same_snapshot(texts[one], texts[two])
    ]


# What is too long for a comment on GitHub.


def long_report(*sizes: int, name: str = "p", lines: bool = False) -> DiffReport:
    """Return a report of prompts, each of which gained so many characters, or lines."""
    comparisons: list[PromptComparison] = []
    for number, size in enumerate(sizes):
        more = [f"{number} {it}" for it in range(size)] if lines else [f"{number}" * size]
        comparisons.append(
            PromptComparison(f"{name}{number}", "changed", diff(text("x"), text("x", *more)))
        )
    return DiffReport(tuple(comparisons))


def cut() -> object:
    """Return what is left of long reports: titles, the table, and what is said to be left out."""
    cases = {
        "two too long": long_report(70_000, 9, 70_000, 9, 40_000, 40_000, 9),
        "all fit": long_report(20_000, 20_000, 20_000),
        "the names": long_report(9, 9, 9, name="n" * 25_000),
        "200 and 201 shown lines": long_report(197, 198, 199, lines=True),
    }
    return {
        name: [
            len(report.markdown),
            *(
                line[:60]
                for line in report.markdown.split("\n")
                if line.startswith(("#", "<", "|", "Left", "…"))
            ),
            report.markdown[-120:],
        ]
        for name, report in cases.items()
    }


# Texts, titles, payloads and records.

ODD = (
    "a\tb\nc\td",
    "⟦⟦a⟧ ⟦b",
    "\x1b\x1b \u200b\u200b",
    "a  \nb\t\n",
    " ",
    "\r\n\r",
    "👩\u200d💻 \u200d a",
    "",
)
NAMES = ("date", "CR", "a-1", "a-b", "two words", "", "U+200B", "Ticket", "⟦", "a-")
TITLES = (
    *("user", "user, not strict", "event left as user", "event left as user, in <event>"),
    *("user named a, name not sent", "tool f a, id sent as b", 'tool f a, id sent as "b c"'),
    *(
        "event, in the message above",
        "event as user, in <e>, name not sent, id sent as x, not sent",
    ),
    *(
        "event as a as b",
        "user named as user",
        "answer x, not strict, name not sent",
        "a, not sent, b",
    ),
    *("system as developer, in the message above", "event, not sent, not sent", ""),
)


def escaped() -> object:
    """Return odd texts and names as a snapshot shows them."""
    return {
        "shown": [
            [with_brackets(it), with_brackets(it, one_line=True), with_end_brackets(it)]
            for it in ODD
        ],
        "alias": [[value_bracket(it), value_bracket(it, 1), value_bracket(it, 12)] for it in NAMES],
        "printable": [
            markdown_of(it) for it in ("`a|1` and `b`; <b> @c #4 www.d.e", "a_b _c_ d", "``")
        ],
    }


def markdown_of(title: str) -> str:
    """Return the title of a prompt in the table of a report in Markdown."""
    return DiffReport((PromptComparison(title, "unreadable", problem=title),)).markdown


def titles() -> object:
    """Return the fields of titles, and the titles as text again."""
    titles = {it: FileEntry(it).title for it in TITLES}
    return {
        it: [str(title) == it, title.kind, title.first_word, title.sent_as, *attrs.astuple(title)]
        for it, title in titles.items()
    }


def equal_after_record() -> object:
    """Return which snapshots of records that were kept are those of their results."""
    are_equal: dict[str, bool] = {}
    for name in [it for it in ALL if not it.endswith(("anthropic", "gemini", "120"))]:
        rendered = result(name)
        files = [prompt_file(it) for it in (rendered, record_rendered(rendered.record()))]
        are_equal[name] = files[0].entries == files[1].entries
    return are_equal


QUESTION = {"role": "user", "content": "Hi"}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED: dict[str, Any] = {
    "two roles": [{"role": "system", "content": "S."}, QUESTION],
    "system beside": {"system": "S.", "messages": [QUESTION]},
    "two models": {"model": "", "modelId": "amazon.nova-lite-v1:0", "messages": [QUESTION]},
    "model of claude": {"model": "claude-sonnet-4-5", "messages": [QUESTION]},
    "model of gpt": {"model": "gpt-5", "modelId": "claude-sonnet-4-5", "messages": [QUESTION]},
    "unknown model": {"model": "mine", "messages": [QUESTION]},
    "call of Chat": [QUESTION, {"role": "assistant", "tool_calls": [CALL, {**CALL, "id": "b"}]}],
    "call of a template": {
        "messages": [
            QUESTION,
            {
                "role": "assistant",
                "tool_calls": [CALL, {"function": {"name": "f", "arguments": {"x": 1}}}],
            },
        ]
    },
    "prompt of a template": {"prompt": "<s>Hi", "messages": [QUESTION]},
    "parts of Bedrock": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
    "parts of Gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "input": {
        "input": [
            QUESTION,
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        ]
    },
    "tools of Anthropic": {"tools": [{"name": "f", "input_schema": {}}], "messages": [QUESTION]},
    "tools of Chat": {
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "messages": [QUESTION],
    },
    "tools of nobody": {"tools": [{"type": "x"}, {"type": "y"}], "messages": [QUESTION]},
    "many keys": {f"k{number}": number for number in range(8)},
    "six keys": {f"k{number}": number for number in range(6)},
}


def providers() -> object:
    """Return of payloads the provider and the entries that are reported, or what is wrong."""
    printed: dict[str, object] = {}
    for name, payload in ASKED.items():
        try:
            file = payload_file(payload)
            lines = [dict(file.header)["model"], *(str(it.title) for it in file.entries)]
        except DataError as error:
            lines = [error.what, error.fix]
        printed[name] = lines
    return printed


# Alignment.

WORDS = (
    *("", "a", "aa", "ab", "ba", "abc", "acb", "bca", "cab", "aab", "aba", "baa", "abab", "baba"),
    *("abcd", "dcba", "xabcd", "abxcd", "abcdx", "bxay", "aabb", "bbaa", "abcabc", "abcxabc"),
)


def edit(before: str, after: str) -> str:
    """Return the items of two sequences: equal, ``[-removed-]``, ``{+added+}``."""
    return "".join(
        "".join(equal)
        + (f"[-{''.join(removed)}-]" if removed else "")
        + (f"{{+{''.join(added)}+}}" if added else "")
        for equal, removed, added in hunks(before, after)
    )


def sequences() -> object:
    """Return for each two sequences what is equal, in order and by occurrence."""
    return {
        f"from {one!r}": {
            two: f"{edit(one, two)} {_pairs(in_order(one, two))} {_pairs(by_occurrence(one, two))}"
            for two in WORDS
        }
        for one in WORDS
    }


def _pairs(pairs: Iterable[tuple[int, int]]) -> str:
    return ",".join(f"{one}{two}" for one, two in pairs)


ROWS = ("a1 one two", "b1 one two three", "a2 four five", "b2 four", "a3 six", "a3 six", "c 7 one")
"""Items: their first letter is a group, their first word is a key, all of it another key."""
ORDERS = ("0123456", "1032", "2103", "456", "654", "055", "505", "016", "610", "", "33", "3")


def rows(near: float, far: float) -> object:
    """Return the steps that align each two choices of items, some of which have other words."""
    steps_by_case: dict[str, str] = {}
    for one, two, change in product(ORDERS, ORDERS, ("", " more", "x")):
        before = [ROWS[int(number)] for number in one]
        after = [
            f"{change}{ROWS[int(it)]}" if change == "x" else ROWS[int(it)] + change for it in two
        ]
        steps = aligned(
            before,
            after,
            [lambda it: it, lambda it: it.split(" ")[0] if it[0] != "c" else None],
            group=lambda it: it.strip("x")[0],
            text=lambda it: it,
            near_minimum=near,
            far_minimum=far,
        )
        steps_by_case[f"{one} {two}{change}"] = " ".join(
            f"{getattr(it, 'before', '-')}{getattr(it, 'after', '-')}"
            + ("m" if getattr(it, "is_moved", False) else "")
            for it in steps
        )
    return steps_by_case


def alike() -> object:
    """Return which texts are the most alike, the rows in order, and the words of lines."""
    texts = ["one two", "two one", "one two three", "three", "", "one one", "four"]
    return {
        "most alike": _pairs(most_alike(texts, texts[::-1])),
        "at least": [
            _pairs(most_alike(PARTLY, PARTLY_TOO, minimum=it)) for it in (0.0, 0.4, 0.5, 0.8, 1.0)
        ],
        "many": _pairs(most_alike(["a", "b", *"c" * 18], [*"b" * 18, "b", "a"])),
        "too many": _pairs(most_alike(["a", "b", *"c" * 18], [*"b" * 19, "b", "a"])[:3]),
        "increasing": [
            _pairs(increasing([*enumerate(it)]))
            for it in ([3, 1, 2], [2, 1, 3], [1, 3, 2, 4], [], [2, 1])
        ],
        "words": {
            f"{one} => {two}": [list(it) for it in changed_words(one, two)]
            for one, two in zip(LINES, (*LINES[1:], LINES[0]), strict=True)
        },
    }


PARTLY = ["one two three four", "six one", "one two", "seven", "six two"]
PARTLY_TOO = ["two one", "one six seven", "six", "one two three", "two six", "eight"]
START = "Equal words before the first one that has changed here"
LINES = (
    f"{START}: one two, three.",
    f"{START}: two one, three.",
    f"{START}: two  six, four.",
    f"{START}: two",
    "two six, one two",
    "two, six one two!",
    "one, six two one?",
    "one six seven two one?",
    "nothing of it",
    "",
    "x",
)
TARGETS: dict[str, dict[str, str]] = {
    "claude": {"model": "claude-sonnet-4-5"},
    "no model": {},
    "gpt-5.6-sol": {"model": "gpt-5.6-sol"},
}
REPORTS: Mapping[str, Callable[[], object]] = {
    **{f"report: {name}": partial(printed_report, name) for name in reports()},
    **{
        f"requests: {prompts.__name__}, {name}": partial(of_requests, prompts, TARGETS[name])
        for prompts, name in (
            *((marks, "claude"), (marks, "gpt-5.6-sol"), (sections, "no model")),
            *((turns, "claude"), (tools, "gpt-5.6-sol")),
        )
    },
    **{
        f"snapshots: {prompts.__name__}, {name}": partial(of_snapshots, prompts, TARGETS[name])
        for prompts, name in ((marks, "claude"), (turns, "claude"), (tools, "no model"))
    },
    "totals": totals,
    "libraries": libraries,
    "same snapshots": same_snapshots,
    "sequences": sequences,
    "rows, near": partial(rows, 0.5, 0.6),
    "rows, far": partial(rows, 0.0, 0.3),
    "alike": alike,
    "cut": cut,
    "escaped": escaped,
    "titles": titles,
    "kept": equal_after_record,
    "providers": providers,
}


if __name__ == "__main__":
    write_cases(__file__, REPORTS)
