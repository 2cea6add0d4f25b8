"""What two requests share, of each two of a family; ``python -m tests.reports.compared_pairs``.

Each family is a table of prompts that differ in the order, number or place of two alike things. The
JSON file beside this one says of each pair of a family, in words, how many of how many are shared
(``+`` where the second continues the first) and served, and what is the first difference.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from promptdsl import *
from tests.cases_file import write_cases
from tests.internals import beginning_of, cache_blocks, facts_for, request, shared_by
from tests.providers.conversations import PNG
from tests.reports.prompts import words
from tests.reports.request_cases import long

# CASES: the lines of the file beside this one are counted from here.
LONG = " ".join(["word"] * 1_100)


def section(id: str, *content: Any, **options: Any) -> Section:
    """Return a section with its title."""
    return Section(id, *content, title=id.upper(), **options)


def hi(*content: Any) -> Timeline:
    """Return a prompt with a system text, and a question behind it."""
    return Timeline(System(*content), User("Hi."))


def sections() -> dict[str, Timeline]:
    """Return prompts whose system text has sections in another order, number or depth."""
    a, b, c = (section(name, f"Rule {name} holds.") for name in "abc")
    return {
        "a": hi(a),
        "a b": hi(a, b),
        "b a": hi(b, a),
        "a b c": hi(a, b, c),
        "a c b": hi(a, c, b),
        "c": hi(c),
        "a(b)": hi(section("a", "Rule a holds.", b)),
        "a(b c)": hi(section("a", "Rule a holds.", b, c)),
        "a(c) b": hi(section("a", "Rule a holds.", c), b),
        "a2 b": hi(section("a", "Rule a holds. Rule b holds."), b),
        "a3 b": hi(section("a", "Rule a fails."), b),
        "a, text": hi(a, "Rule b holds."),
        "a, two texts": hi(a, Text("Rule b holds."), Text("Rule c holds.")),
        "texts alone": hi(Text("Rule a holds."), Text("Rule b holds.")),
        "value": hi(a, Text("Rule ", Value("b"), " holds.")),
        "another value": hi(a, Text("Rule ", Value("c"), " holds.")),
        "no system": Timeline(User("Hi.")),
    }


def lists() -> dict[str, Timeline]:
    """Return prompts with lists that grow at their ends, and two lists of one address."""
    first, last = section("f", "First."), section("l", List("aa", "bb"))
    return {
        "aa": hi(first, section("i", List("aa")), last),
        "aa yy": hi(first, section("i", List("aa", "yy")), last),
        "yy aa": hi(first, section("i", List("yy", "aa")), last),
        "aa aa": hi(first, section("i", List("aa", "aa")), last),
        "aa(yy)": hi(first, section("i", List(Item("aa", List("yy")))), last),
        "aab": hi(first, section("i", List("aab")), last),
        "aa, text": hi(first, section("i", List("aa"), "yy"), last),
        "two lists": hi(first, section("i", List("aa"), List("yy")), last),
        "other two": hi(first, section("i", List("aa"), List("yy", "zz")), last),
        "at the end": hi(first, section("i", List("aa", "yy"))),
        "a table": hi(first, section("i", Table([["aa", "yy"], [1, 2]])), last),
        "a longer table": hi(first, section("i", Table([["aa", "yy"], [1, 2], [3, 4]])), last),
    }


def turns() -> dict[str, Timeline]:
    """Return conversations that go on, or lose, change or move a turn."""
    called = Assistant("Look.", ToolUse("f", {"n": 1}, id="x"), ToolUse("g", {"n": 2}, id="y"))
    two = ToolMessage("x", "One."), ToolMessage("y", "Two.")
    both = User(ToolResult("x", "One.", "More."), ToolResult("y", "Two."))
    said = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."}]
    more = [*said, {"role": "user", "content": "Three."}]
    picture = Image.from_base64(PNG)
    return {
        "u": Timeline(User("One.")),
        "u a": Timeline(User("One."), Assistant("Two.")),
        "u a u": Timeline(User("One."), Assistant("Two."), User("Three.")),
        "u u": Timeline(User("One."), User("Three.")),
        "u u u": Timeline(User("One."), User("Two."), User("Three.")),
        "u3 u1": Timeline(User("Three."), User("One.")),
        "u longer": Timeline(User("One. Two."), Assistant("Two.")),
        "named": Timeline(User("One.", name="ann"), Assistant("Two.")),
        "other name": Timeline(User("One.", name="bob"), Assistant("Two.")),
        "history": Timeline(History(said), User("Three.")),
        "longer history": Timeline(History(more), Assistant("Four."), User("Five.")),
        "two histories": Timeline(History(said), Developer("Then."), History(more)),
        "event": Timeline(User("One."), Event(UserAction("left", target="it")), Assistant("Two.")),
        "note": Timeline(User("One."), Ephemeral("Now.")),
        "note, later": Timeline(User("One."), Assistant("Two."), User("Three."), Ephemeral("Now.")),
        "other note": Timeline(User("One."), Ephemeral("Later.")),
        "calls": Timeline(User("One."), called, *two),
        "calls, other way": Timeline(User("One."), called, *two[::-1]),
        "calls, one turn": Timeline(User("One."), called, both),
        "calls, go on": Timeline(User("One."), called, *two, Assistant("Done.")),
        "other call": Timeline(
            User("One."),
            Assistant("Look.", ToolUse("f", {"n": 1}, id="x"), ToolUse("g", {"n": 3}, id="y")),
            *two,
        ),
        "picture": Timeline(User("One.", picture, "Two.")),
        "picture first": Timeline(User(picture, "One.", "Two.")),
        "two pictures": Timeline(User("One.", picture, "Two.", picture)),
    }


def tools() -> dict[str, Timeline]:
    """Return prompts with tools in another order, and with two forms of an answer."""
    f, g, h = (Tool(name=name, description=f"Does {name}.") for name in "fgh")
    form = Output({"type": "object"}, name="one")
    return {
        "none": Timeline(User("Hi.")),
        "f": Timeline(f, User("Hi.")),
        "f g": Timeline(f, g, User("Hi.")),
        "g f": Timeline(g, f, User("Hi.")),
        "f g h": Timeline(f, g, h, User("Hi.")),
        "g h f": Timeline(g, h, f, User("Hi.")),
        "h f": Timeline(h, f, User("Hi.")),
        "f g2": Timeline(f, Tool(name="g", description="Does more."), User("Hi.")),
        "f g marked": Timeline(f, g, CacheBreakpoint(), User("Hi.")),
        "form": Timeline(form, User("Hi.")),
        "f, form": Timeline(f, form, User("Hi.")),
        "f, other form": Timeline(
            f, Output({"type": "object", "title": "T"}, name="one"), User("Hi.")
        ),
        "f, form of other name": Timeline(f, Output({"type": "object"}, name="two"), User("Hi.")),
        "f, other text": Timeline(f, form, User("Bye.")),
    }


def marks() -> dict[str, Timeline]:
    """Return prompts with two cache marks at several places."""
    tool = Tool(name="f", description=LONG)
    a, b = section("a", LONG), section("b", LONG)
    marked = section("a", LONG, cache=True)
    also = section("b", LONG, cache=True)
    return {
        "no mark": Timeline(tool, System(a, b), User("Hi.")),
        "after a": Timeline(tool, System(marked, b), User("Hi.")),
        "after b": Timeline(tool, System(a, also), User("Hi.")),
        "after both": Timeline(tool, System(marked, also), User("Hi.")),
        "after both, other text": Timeline(tool, System(marked, section("b", LONG, "X."))),
        "after both, asked": Timeline(tool, System(marked, also), User("Bye.", cache=True)),
        "after both, goes on": Timeline(
            tool, System(marked, also), User("Hi.", cache=True), Assistant("A."), User("B.")
        ),
        "after the tool": Timeline(tool, CacheBreakpoint(), System(a, b), User("Hi.")),
        "after the tool and a": Timeline(tool, CacheBreakpoint(), System(marked, b), User("Hi.")),
        "two tools": Timeline(tool, Tool(name="g"), CacheBreakpoint(), System(marked, b)),
        "twice after a": Timeline(tool, System(a, CacheBreakpoint("1h"), b, CacheBreakpoint("5m"))),
    }


# Payloads as they are sent.

MARK = {"cache_control": {"type": "ephemeral"}}
POINT: dict[str, Any] = {"cachePoint": {"type": "default"}}


def sent_entry(
    *content: Any, role: str = "user", key: str = "content", **more: Any
) -> dict[str, Any]:
    """Return an entry of a payload."""
    return {"role": role, key: content[0] if len(content) == 1 else [*content], **more}


def typed(text: str, **more: Any) -> dict[str, Any]:
    """Return a text as a part."""
    return {"type": "text", "text": text, **more}


IMAGES = [{"type": "image", "source": name} for name in "ab"]
PAYLOADS: Mapping[str, dict[str, Any]] = {
    "one": {"messages": [sent_entry("One.")]},
    "one, two": {"messages": [sent_entry("One."), sent_entry("Two.", role="assistant")]},
    "two, one": {"messages": [sent_entry("Two."), sent_entry("One.", role="assistant")]},
    "one, two, three": {
        "messages": [sent_entry("One."), sent_entry("Two.", role="assistant"), sent_entry("One.")]
    },
    "one and more, two": {
        "messages": [sent_entry("One. And more."), sent_entry("Two.", role="assistant")]
    },
    "parts": {"messages": [sent_entry(typed("One."), typed("Two."))]},
    "parts, marked": {"messages": [sent_entry(typed("One.", **MARK), typed("Two."))]},
    "parts, a bare mark": {"messages": [sent_entry("One.", POINT, {"text": "Two."}, POINT)]},
    "three parts": {"messages": [sent_entry("One.", typed("Two.", **MARK), typed("Three."))]},
    "parts that begin alike": {"messages": [sent_entry(typed("One."), typed("Two. Then?"))]},
    "images": {"messages": [sent_entry(typed("One."), *IMAGES, typed("Two."))]},
    "images, other way": {"messages": [sent_entry(typed("One."), *IMAGES[::-1], typed("Two."))]},
    "an image": {
        "messages": [sent_entry(typed("One."), IMAGES[0]), sent_entry("Two.", role="assistant")]
    },
    "a name": {"messages": [sent_entry("One.", name="ann"), sent_entry("Two.", role="assistant")]},
    "two keys": {"messages": [{**sent_entry("One."), "tool_calls": [{"id": "a"}, {"id": "b"}]}]},
    "two keys, another": {
        "messages": [{**sent_entry("One."), "tool_calls": [{"id": "a"}, {"id": "c"}]}]
    },
    "an input": {
        "input": [sent_entry("One."), {"type": "function_call_output", "output": [typed("x")]}]
    },
    "an input, marked": {
        "input": [
            sent_entry("One."),
            {"type": "function_call_output", "output": [typed("x", **MARK)]},
        ],
        "instructions": "Sys.",
    },
    "system": {"system": "Sys.", "messages": [sent_entry("One.")]},
    "system, two parts": {
        "system": [typed("Sys."), typed("Sis.")],
        "messages": [sent_entry("One.")],
    },
    "system, marked": {"system": [typed("Sys.", **MARK), typed("Sis.", **MARK)], "messages": []},
    "system, longer": {"system": "Sys. And sis.", "messages": [sent_entry("One.")]},
    "tools": {"tools": [{"name": "f"}, {"name": "g"}], "messages": [sent_entry("One.")]},
    "tools, marked": {
        "tools": [{"name": "f", **MARK}, {"name": "g"}],
        "messages": [sent_entry("Two.")],
    },
    "tools, other way": {"tools": [{"name": "g"}, {"name": "f"}], "messages": [sent_entry("One.")]},
    "tools, system": {"tools": [{"name": "f"}], "system": "Sys.", "messages": [sent_entry("One.")]},
    "tools, choice": {
        "tools": [{"name": "f"}],
        "tool_choice": {"type": "any"},
        "system": "Sys.",
        "messages": [sent_entry("One.")],
    },
    "tools, other choice": {
        "tools": [{"name": "f"}],
        "tool_choice": {"type": "auto"},
        "system": "Sys.",
        "messages": [sent_entry("One.")],
    },
    "tools, form": {
        "tools": [{"name": "f"}],
        "output_config": {"x": 1},
        "messages": [sent_entry("One.")],
    },
    "two settings": {"x": 1, "y": b"2", "system": "Sys.", "messages": [sent_entry("One.")]},
    "two settings, another": {
        "x": 1,
        "y": b"3",
        "system": "Sys.",
        "messages": [sent_entry("One.")],
    },
    "Bedrock": {
        "toolConfig": {"tools": [{"toolSpec": {"name": "f"}}, POINT, {"toolSpec": {"name": "g"}}]},
        "system": [{"text": "Sys."}, POINT, {"text": "Sis."}],
        "messages": [
            sent_entry({"text": "One."}, POINT, POINT, {"text": "Two."}),
            sent_entry(POINT, {"text": "x"}),
        ],
    },
    "Gemini": {
        "contents": [sent_entry({"text": "One."}, {"text": "Two."}, key="parts")],
        "config": {
            "system_instruction": "Sys.",
            "tools": [{"function_declarations": [{"name": "f"}]}],
        },
    },
    "Gemini, a setting": {
        "contents": [sent_entry({"text": "One."}, {"text": "Too."}, key="parts")],
        "config": {"system_instruction": "Sys.", "temperature": 1},
    },
}


def parted() -> object:
    """Return for each two payloads where they part, and what they share."""
    found: dict[str, dict[str, object]] = {}
    facts = facts_for(None, "anthropic")
    for name, payload in PAYLOADS.items():
        row = found[f"from {name}"] = {}
        for other, second in PAYLOADS.items():
            shared = shared_by(request(payload, facts), request(second, facts))
            ends = f"{shared.location or 'equal'}{'+' if shared.is_complete else ''}"
            row[other] = f"{ends} {[it for it in shared.payload.values() if it]}"
    return found


def blocks() -> object:
    """Return the blocks of each payload, and the payload that the first ones are."""
    found: dict[str, object] = {}
    for name, payload in PAYLOADS.items():
        order = request(payload, facts_for(None, "bedrock" if name == "Bedrock" else "anthropic"))
        parts = cache_blocks(payload, order)
        keys = [it.key for it in parts]
        found[name] = [
            [[it.location, it.part, it.is_marked, it.message, keys.index(it.key)] for it in parts],
            [beginning_of(order, parts[:count]) for count in (1, 2, 3)],
        ]
    return found


def budgets() -> object:
    """Return the whole reports on requests of which more, or less, was dropped."""
    rooms = {"all": 500, "most": 90, "few": 50, "fewest": 26}
    rendered = {name: render(long(), budget=room, counter=words) for name, room in rooms.items()}
    return {
        f"{one} => {two}": [
            re.sub(r"/\S+\.py:\d+", "a line", str(prefix_report(rendered[one], rendered[two])))
        ]
        + [getattr(prefix_report(rendered[one], rendered[two]), it) for it in FIGURES]
        for one in rendered
        for two in rendered
    }


FIGURES = ("shared", "served", "before", "after", "behind", "dropped", "pays_from", "cost")


FAMILIES: Mapping[str, tuple[Callable[[], dict[str, Timeline]], tuple[dict[str, Any], ...]]] = {
    "sections": (sections, ({"provider": "anthropic"},)),
    "lists": (lists, ({},)),
    "turns": (turns, ({"provider": "anthropic"},)),
    "tools": (tools, ({"provider": "openai"}, {"provider": "anthropic"})),
    "marks": (
        marks,
        ({"model": "claude-sonnet-4-5"}, {"model": "gpt-5.6-sol"}, {"model": "gpt-5"}),
    ),
    "turns of a template": (turns, ({"provider": "chat_template"},)),
}
"""For each family its prompts, and the targets that they are rendered for."""


def told(report: PrefixReport) -> str:
    """Return a report as one line."""
    sizes = f"{report.shared} of {report.after}{'+' if report.extends else ''}"
    sizes += f", {report.served} served" if report.served else ""
    return f"{sizes}: {report.first or 'equal'}"


def compared(family: str, target: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return for each prompt of a family what it shares with each other one."""
    prompts = FAMILIES[family][0]()
    rendered = {name: render(it, counter=words, **target) for name, it in prompts.items()}
    return {
        f"from {name}": {
            other: told(prefix_report(one, two)) for other, two in rendered.items() if other != name
        }
        for name, one in rendered.items()
    }


PAIRS: Mapping[str, Callable[[], object]] = {
    " ".join([family, *target.values()]): partial(compared, family, target)
    for family, (_, targets) in FAMILIES.items()
    for target in targets
} | {"payloads": parted, "blocks": blocks, "budgets": budgets}


if __name__ == "__main__":
    write_cases(__file__, PAIRS)
