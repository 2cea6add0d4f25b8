"""Requests with two of each thing, and all that is told of each in records, reports and views.

``python -m tests.reports.request_cases`` writes the JSON file beside this one anew.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from io import StringIO
from typing import Any

from rich.console import Console

from promptdsl import *
from tests.cases_file import write_cases
from tests.providers.conversations import PDF, PNG
from tests.reports.prompts import words

# CASES: the lines of the file beside this one are counted from here.
PICTURE = ImageBlock(MediaSource("base64", PNG, "image/png"))
NUMBER: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}


@component
def signed(name: str) -> Fragment:
    """Return how it is signed."""
    return Fragment("Sign as ", Value(name), ".")


@component
def greeting(name: str) -> Section:
    """Return a section with a section of a library in it."""
    return Section(f"greet_{name}", "Greet ", Value(name), HOUSE.signed(name))


HOUSE = Library("house", sections=[signed])
OTHER = Library("other", sections=[greeting])


@component
def rule(number: int) -> Section:
    """Return a rule."""
    return Section(f"r{number}", f"Rule {number}.", cache=number == 2)


def system() -> Timeline:
    """Return a system text with two of each part, two tools and a form of the answer."""
    with Timeline() as prompt:
        Tool(name="first", description="Does one.", input_schema=NUMBER)
        CacheBreakpoint("1h")
        Tool(name="second", description="Does two things.")
        Output(NUMBER, name="answer", description="The answer.")
        with System("You help.", Text("You are ", Value("kind"), " and ", Value("brief"), ".")):
            with Section("rules", title="Rules"):
                Text("Two rules:")
                rule(1)
                rule(2)
            Section("empty", "", title="Empty")
            with Section("lists"):
                List("One.", "Two.", Item("Three. ", Value("3"), List("Four.", "Five.")))
                List("Six.")
                Table([["a", "b"], [1, 2]])
                Table([["c"], [3], [4]])
            OTHER.greeting("Ann")
            OTHER.greeting("Bob")
            HOUSE.signed("Cid")
            CacheBreakpoint()
            Text("  \n")
            Text(
                "Today is ",
                Volatile("Monday", label="day"),
                ", not ",
                Volatile("Friday", label="day"),
                ".",
            )
        User("Hi ", Untrusted("<b>one</b>", source="web"), " and ", Untrusted("two."))
        Ephemeral("Now.", position="end")
        Ephemeral("Then.", title="Reminder")
    return prompt


def talk() -> Timeline:
    """Return a conversation with two histories, merged turns, two calls and their results."""
    said = [
        {"role": "user", "content": "Old question."},
        {"role": "assistant", "content": "Old answer."},
        {"role": "user", "content": "Then what?"},
    ]
    with Timeline() as prompt:
        Tool(name="look", description="Looks.", input_schema=NUMBER)
        System("Be kind.", cache=True)
        History(said[:2])
        Developer("A rule in the middle.")
        History(said)
        with User(id="asked"):
            Section("page", "Page one.", cache=True)
            Section("more", "Page two.")
        User("And three.", name="ann")
        thought = Reasoning("I look twice.", signature="c2ln", origin="anthropic")
        Assistant(
            thought,
            "I look.",
            ToolUse("look", {"n": 1}, id="one"),
            ToolUse("look", {"n": 22}, id="two"),
        )
        with User():
            ToolResult("one", Section("r", "Found one."), "More of one.", is_error=True)
            ToolResult("two", Section("r", "Found two."), Image.from_base64(PNG), "End of two.")
            Text("Beside.")
        Event(UserAction("opened", target="page 1"))
        Event(SystemEvent("shutdown"), id="last")
        Assistant("Done ", Value("<1>"), ".", cache=True)
        User("Last words.", Document.from_base64(PDF, media_type="application/pdf", title="p"))
    return prompt


def long() -> Timeline:
    """Return a conversation of which a small budget drops two of each kind."""
    said = [{"role": ("user", "assistant")[n % 2], "content": f"Message {n}."} for n in range(8)]
    with Timeline() as prompt:
        with System("Help."):
            with Section("one", "Kept one."):
                Section("gone", "Gone of one.", priority=1)
                Section("deep", "Kept.", Section("gone", "Gone deep.", priority=2))
            with Section("two", "Kept two."):
                Section("gone", "Gone of two, ", Value("all"), ".", priority=1)
                Section("table", Table([["x", "y"], [1, 2]]), List("Gone.", "Too."), priority=1)
            Section("last", "Gone at last.", priority=0)
            FirstFit(Text("A long alternative of many words."), Text("Short."), priority=3)
        History(said, step=2)
        Developer("Between.")
        History(said[:4], step=2)
        User("A page.", priority=-1)
        Assistant("So.", priority=-1)
        User("Question?")
    return prompt


def unpaired() -> Timeline:
    """Return a history in which two calls have no results and two results no calls."""
    calls = [ToolUseBlock(id, "look", f'{{"n": "{id}"}}') for id in "abc"]
    return Timeline(
        History(
            [
                Message("user", "Go."),
                Message("assistant", (TextBlock("I go."), *calls)),
                Message.tool_result("b", "Found b."),
                Message(
                    "tool", (ToolResultBlock("x", (TextBlock("One."), PICTURE, TextBlock("Two."))),)
                ),
                Message.tool_result("y", "Nobody asked."),
                Message("assistant", "Well."),
            ]
        ),
        User("And?"),
    )


def results() -> Timeline:
    """Return two results that are cut and cleared, of two calls each."""
    talk = [Message("user", "Look.")]
    for number in range(3):
        ids = [f"{letter}{number}" for letter in "ab"]
        talk.append(Message("assistant", [ToolUseBlock(id, "look", "{}") for id in ids]))
        talk += [Message.tool_result(id, f"Found by {id}. " * 8) for id in ids]
    return Timeline(History(talk, clear_results=ClearResults(2, at_least=1)), User("And?"))


def strange() -> Timeline:
    """Return a history that begins with two system messages, with two blocks of each other kind."""
    images = [ImageBlock(MediaSource("url", f"https://e.org/{name}.png")) for name in "ab"]
    files = [DocumentBlock(MediaSource("file_id", name), title=name) for name in ("x", "y")]
    unknown = [UnknownBlock({"type": name, "n": 1}, "openai") for name in ("one", "two")]
    thoughts = [ReasoningBlock(text, origin="openai", encrypted="ZW5j") for text in ("", "Hm.")]
    calls = [ToolUseBlock("a", "f", "[1]"), ToolUseBlock("b", "g", '{"n": {"m": [1]}}')]
    return Timeline(
        Tool(name="f"),
        Tool(name="g", description="Gets.", input_schema=NUMBER),
        History(
            [
                Message("system", "One."),
                Message("system", "Two."),
                Message("user", ["Look.", *images, "Then.", *files]),
                Message("assistant", [*thoughts, *unknown, *calls]),
                Message("tool", [ToolResultBlock("a", (TextBlock("A."), images[0]))]),
                Message("tool", [ToolResultBlock("b", (TextBlock("B."),), is_error=True)]),
                Message("system", "Three."),
                Message("user", "So?", name="ann"),
                Message("user", "And?", name="bob"),
            ]
        ),
    )


def big() -> Timeline:
    """Return turns of 4,000 and 4,001 characters, in two texts each."""
    return Timeline(
        *[
            turn(Text("x" * 2_000), Text("y" * size))
            for turn, size in ((User, 2_000), (Assistant, 2_001))
        ]
    )


ALL: Mapping[str, tuple[Callable[[], Timeline], dict[str, Any]]] = {
    "system, no target": (system, {}),
    "system, anthropic": (system, {"model": "claude-sonnet-4-5", "cache": "auto"}),
    "system, openai": (system, {"model": "gpt-5", "tool_choice": "first"}),
    "talk, anthropic": (talk, {"model": "claude-sonnet-4-5", "cache": "auto"}),
    "talk, gemini": (talk, {"model": "gemini-2.5-pro"}),
    "talk, chat_template": (talk, {"provider": "chat_template"}),
    "long, 26": (long, {"budget": 26}),
    "long, 30": (long, {"budget": 30}),
    "long, 50": (long, {"budget": 50, "provider": "gemini"}),
    "long, 95": (long, {"budget": 95, "reserve": 5, "provider": "openai"}),
    "long, 120": (long, {"budget": 120, "provider": "anthropic"}),
    "unpaired, pruned": (unpaired, {"transformation": {"tool_pairing": "prune"}}),
    "unpaired, filled": (unpaired, {"transformation": {"tool_pairing": "fill"}}),
    "results": (results, {"provider": "openai"}),
    "strange, openai": (strange, {"provider": "openai"}),
    "strange, gemini": (strange, {"provider": "gemini"}),
    "strange, no target": (strange, {}),
}


def result(name: str) -> Rendered:
    """Return what a request of the table comes to."""
    prompt, options = ALL[name]
    return render(prompt(), counter=words, **options)


def counted(name: str) -> dict[str, Any]:
    """Return the tokens of a request, its pieces and what is not sent of it, as data."""
    rendered = result(name)
    record, report = rendered.record({"b": [1, ""], "a": 0}), rendered.tokens
    data = record.to_dict()
    spans = zip(rendered.spans(), report.spans, record.spans, strict=True)
    return undigested(
        rendered,
        {
            "counts": {key: it for key, it in data["tokens"].items() if not isinstance(it, list)},
            "messages": data["tokens"]["messages"],
            "parts": [[*row.values()] for row in record.token_parts()],
            "sections": dict(report.sections),
            "sources": {str(source): count for source, count in report.sources.items()},
            "sent": data["sent"],
            "spans": [
                [it.message, it.block, it.inner, it.address, it.text, count, it == again]
                for it, count, again in spans
            ],
            "report": str(report),
            "largest first": record.token_tree(largest_first=True, strike=True),
            "one level": record.token_tree(depth=1),
            **{key: with_files(data, key) for key in ("dropped", "losses")},
            **{key: data[key] for key in ("budget", "libraries", "inputs")},
        },
    )


def with_files(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return rows of a record whose sources have the whole path of this file."""
    return [
        row | ({"source": data["root"] + row["source"]} if "source" in row else {})
        for row in data[key]
    ]


def undigested(rendered: Rendered, data: dict[str, Any]) -> dict[str, Any]:
    """Return data without the digests of libraries, which change with each line of this file."""
    text = json.dumps(data)
    for library in rendered.libraries:
        text = text.replace(library.digest, "(digest)")
    return dict(json.loads(text))


def bare(name: str) -> dict[str, Any]:
    """Return the record of a request without its texts, and what depends on no other file."""
    data = result(name).record({"a": 1}, content=False).to_dict()
    data = {key: it for key, it in data.items() if key not in ("digest", "model")}
    settings = {key: row for key, row in data["settings"].items() if "delimiter" in key}
    spans = [[*row.values()] for row in data["spans"]]
    parts = [[*row.values()] for row in data["tokens"].pop("parts")]
    return {**data, "settings": settings, "spans": spans, "parts": parts}


def traced(name: str) -> dict[str, Any]:
    """Return the attributes of a request for a span, its messages as data."""
    attributes = result(name).to_otel(content=True)
    return {
        key: json.loads(it) if isinstance(it, str) and it[:1] in ("[", "{") else it
        for key, it in attributes.items()
    }


def estimated(prompt: Callable[[], Timeline]) -> dict[str, Any]:
    """Return what is counted of a prompt for each of several models, by their own counters."""
    found: dict[str, Any] = {}
    for model in ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro", "o1-mini", None):
        report = render(prompt(), model=model).tokens
        figures = [report.total, report.typical, report.tools, report.frame, report.messages]
        found[str(model)] = [*figures, report.label, report.method, str(report), repr(report)]
    return found


def closed() -> list[str]:
    """Return how each card of a request begins in a notebook, by the length of its texts."""
    return re.findall("<details[^>]*>", render(big())._repr_html_())


def shown(name: str) -> dict[str, Any]:
    """Return the views of a request."""
    rendered = result(name)
    screen = StringIO()
    # As wide as any path: where a line is wrapped depends on the folder of the project.
    Console(file=screen, width=600).print(rendered)
    screen_text = re.sub("([ ─])\\1+", "\\1\\1", screen.getvalue())
    return {
        "repr": [repr(rendered), repr(rendered.record())],
        "text": str(rendered),
        "markdown": rendered._repr_markdown_(),
        "html": rendered._repr_html_().partition("</style>")[2],
        "screen": screen_text if name.startswith(("long", "unpaired", "strange")) else "",
    }


REQUESTS: Mapping[str, Callable[[], object]] = {
    **{f"{name}, counted": partial(counted, name) for name in ALL},
    **{f"{name}, bare": partial(bare, name) for name in ("talk, anthropic", "long, 95")},
    **{f"{name}, traced": partial(traced, name) for name in ("talk, gemini", "system, openai")},
    **{f"{name}, traced": partial(traced, name) for name in ("long, 95", "results")},
    **{f"{name}, traced": partial(traced, name) for name in ALL if name.startswith("strange")},
    **{f"{it.__name__}, estimated": partial(estimated, it) for it in (talk, system, strange)},
    "closed": closed,
    **{f"{name}, shown": partial(shown, name) for name in ("system, anthropic", "talk, anthropic")},
    **{f"{name}, shown": partial(shown, name) for name in ("long, 95", "unpaired, pruned")},
    **{f"{name}, shown": partial(shown, name) for name in ("system, openai", "strange, openai")},
}


if __name__ == "__main__":
    write_cases(__file__, REQUESTS)
