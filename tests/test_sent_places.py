"""Where each block is in a payload: what is at its address is the block, and nothing is missed."""

import pickle
import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised
from tests.folding import failures
from tests.internals import Written, guard, valid_unicode
from tests.providers.conversations import PDF, PNG, PROMPTS, marked, media, say
from tests.providers.every_target import FACTS, MADE_FACTS, write
from tests.providers.prompts import ANY_PROMPTS, TRANSFORMATIONS
from tests.searching import examples

ALL_FACTS = {**FACTS, **MADE_FACTS}
UNSENT = ("unsent_reasoning", "white_space", "repeated_item")
"""The names of hints about blocks that are not sent."""
ADDED = re.compile(r"\.|error|Error: .*|\[\w+ \d+ of tool result .*\]|.+: |\w+_error", re.DOTALL)
"""What an adapter adds: openings, errors, the names of moved files, names of speakers."""


JOINT = "\n\n"
"""What stands between two texts: a text that an adapter added may have it before it."""


def places_of(prompt: Prompt, facts: ModelFacts) -> tuple[SentLocation, ...]:
    """Return where each block of a prompt is at a target."""
    return Written(prompt, facts).locations()


def value_at(payload: Any, place: SentLocation) -> Any:
    """Return what is at the address of a place: of a string, what is between its offsets."""
    for key in place.address:
        payload = payload[key]
    return payload[place.start : place.end] if isinstance(payload, str) else payload


def blocks_of(message: Message) -> Iterator[tuple[tuple[int, ...], Block]]:
    """Yield the blocks of a message, and those in its results, each with its indices."""
    for number, block in enumerate(message.content):
        yield (number,), block
        for inner, part in enumerate(block.content if isinstance(block, ToolResultBlock) else ()):
            yield (number, inner), part


def block_at(prompt: Prompt, place: SentLocation) -> Block:
    """Return the block of a place."""
    assert place.message is not None
    at = tuple(index for index in (place.block, place.inner) if index is not None)
    return dict(blocks_of(prompt.messages[place.message]))[at]


def is_sent_as(block: Block, place: SentLocation, facts: ModelFacts) -> bool:
    """Return whether the text of a place is that of its block, or what becomes of it."""
    text, sent = getattr(block, "text", ""), place.text
    if place.fence:
        head, _, body = sent.removesuffix(f"\n</{place.fence}>").partition("\n")
        if not head.startswith(f"<{place.fence}") or not sent.endswith(f"</{place.fence}>"):
            return False
        sent = body if isinstance(block, TextBlock) else ""
        text = guard(valid_unicode(text)[0], (place.fence,)) if isinstance(block, TextBlock) else ""
    text = valid_unicode(text)[0]
    if facts.provider == "chat_template":
        # A backslash breaks a control token.
        text, sent = text.replace("\\", ""), sent.replace("\\", "")
    return sent in (text, text.rstrip())


def wrong_places(prompt: Prompt, facts: ModelFacts) -> str:
    """Return what is wrong with the places of a prompt at a target."""
    (payload, losses), places = write(prompt, facts), places_of(prompt, facts)
    problems: list[str] = []
    for place in places:
        value = value_at(payload, place)
        is_text = isinstance(value, str)
        if (value != place.text or place.start is None) if is_text else place.text:
            problems.append(f"{place.text!r} is not at {place.address}: {value!r}")
        if place.message is None:
            if is_text and not ADDED.fullmatch(value.removeprefix(JOINT)):
                problems.append(f"{value!r} is of no block")
        elif is_text and not is_sent_as(block_at(prompt, place), place, facts):
            problems.append(f"{value!r} is not {block_at(prompt, place)}")
    problems += overlaps(places) + gaps(payload, places)
    placed = {(place.message, place.block, place.inner) for place in places}
    gone = {loss.at for loss in losses if loss.kind == "content" or loss.name in UNSENT}
    for index, message in enumerate(prompt.messages):
        for (number, *inner), block in blocks_of(message):
            at = (index, number, *inner)
            is_whole = any(
                place.fence for place in places if at[:2] == (place.message, place.block)
            )
            is_inside = bool(inner) and (is_whole or (index, number) in gone)
            is_empty = isinstance(block, TextBlock | ReasoningBlock) and not block.text
            if (*at, None)[:3] not in placed and at not in gone and not (is_inside or is_empty):
                problems.append(f"{at} has neither a place nor a loss: {block}")
    return "\n".join(problems)


def overlaps(places: tuple[SentLocation, ...]) -> list[str]:
    """Return the places that share characters, or an object that is not that of their result."""
    found: list[str] = []
    owners = {place.address: place for place in places}
    for before, place in pairwise(places):
        if before.address == place.address and not (before.end or 0) <= (place.start or -1):
            found.append(f"{before} overlaps {place}")
    for place in places:
        around = (place.address[:length] for length in range(len(place.address)))
        for owner in filter(None, map(owners.get, around)):
            is_result = owner.inner is None and owner.message is not None
            own = (owner.message, owner.block) == (place.message, place.block)
            if not is_result or not (place.message is None or (own and place.inner is not None)):
                found.append(f"{owner} contains {place}")
    return found


def gaps(payload: Any, places: tuple[SentLocation, ...]) -> list[str]:
    """Return what is in the strings of places, and in none of them: only blank lines may be."""
    found: list[str] = []
    texts = [place for place in places if place.start is not None]
    for address, group in groupby(texts, key=lambda place: place.address):
        bounds = [(place.start, place.end) for place in group]
        string = value_at(payload, SentLocation(address, None, ""))
        starts = [*(start for start, _ in bounds), len(string)]
        ends = [0, *(end for _, end in bounds)]
        between = [string[end:start] for end, start in zip(ends, starts, strict=True)]
        found += [f"{text!r} is in no place" for text in between if text not in ("", JOINT)]
    return found


@pytest.mark.parametrize("target", ALL_FACTS)
def test_every_place_has_its_block(target: str) -> None:
    """What is at an address is the block of the place, and every block has a place or a loss."""
    wrong = failures(PROMPTS, lambda name: wrong_places(PROMPTS[name], ALL_FACTS[target]))
    assert [] == wrong


@pytest.mark.parametrize(
    "target",
    [*FACTS, *(pytest.param(name, marks=pytest.mark.slow) for name in MADE_FACTS)],
)
@examples(40, fast=2)
@given(tree=ANY_PROMPTS, transformation=TRANSFORMATIONS, cache=st.sampled_from([None, "auto"]))
def test_every_place_of_any_prompt(
    target: str, tree: Timeline, transformation: Any, cache: Any
) -> None:
    """The same holds for any prompt that an author may write."""
    facts = ALL_FACTS[target]
    options: Any = {"provider": facts.provider, "model": facts.model, "cache": cache}
    rendered = render(tree, transformation=transformation, **options)
    prompt = Prompt(
        *(rendered.messages, rendered.tools, rendered.tool_choice, rendered.output),
        lone_text=rendered.config.lone_text,
    )
    assert "" == wrong_places(prompt, facts)


PICTURE = ImageBlock(media("base64", PNG, "image/png"))
NO_CITY = ToolResultBlock("a", (TextBlock("no such city"), TextBlock("try Rome")), is_error=True)
HARD = Prompt(
    (
        say("system", "Be kind."),
        say("system", marked("Be brief.")),
        say("user", "Hi."),
        say("user", " ", "So?"),
        say(
            "assistant",
            ReasoningBlock("Hm.", "c2ln", None, "anthropic"),
            "Let me see.",
            ToolUseBlock("a", "look.up", "{}"),
            ToolUseBlock("b" * 70, "look_down", "{}"),
        ),
        say("tool", ToolResultBlock("b" * 70, (PICTURE, TextBlock("mud")))),
        say("tool", NO_CITY),
        say("developer", "Use metres."),
        say("user", "And?", name="ada"),
        say("assistant", "It is "),
    )
)
"""Turns that are merged, moved, fenced, joined, marked, renamed, left out and trimmed."""

REPORT = DocumentBlock(media("base64", "SGVsbG8=", "text/plain"), "Report")
OBJECT = TextBlock('{"n": 1}', extra={"json": True})
CALLED = (say("user", "Hi."), say("assistant", ToolUseBlock("a", "look_up", "{}")))


@pytest.mark.parametrize("target", ALL_FACTS)
def test_the_places_of_files_behind_a_mark(target: str) -> None:
    """So it is where the names of two files stand for them in a result, a mark between them."""
    source = media("base64", PDF, "application/pdf")
    files = (DocumentBlock(source, cache="1h"), DocumentBlock(source))
    prompt = Prompt((*CALLED, say("tool", ToolResultBlock("a", files))))
    assert "" == wrong_places(prompt, ALL_FACTS[target])


FURTHER = {
    "openai": ("a document as text", (say("user", REPORT, "So?"),)),
    "gemini-2.5-pro": (
        "a result as an object",
        (*CALLED, say("tool", ToolResultBlock("a", (OBJECT,)))),
    ),
    "bedrock nova": (
        "results without text, a document alone, and the model first",
        (
            say(
                "assistant", ToolUseBlock("a", "look_up", "{}"), ToolUseBlock("b", "look_up", "{}")
            ),
            say("tool", ToolResultBlock("a", (OBJECT,))),
            say("tool", ToolResultBlock("b", is_error=True, error_type="timeout_error")),
            say("assistant", "Hm."),
            say("user", DocumentBlock(media("base64", PDF, "application/pdf"), "Report")),
        ),
    ),
    "anthropic binding": (
        "instructions at their place",
        (say("user", "Hi."), say("developer", "Use metres."), say("assistant", "Yes.")),
    ),
    "responses": (
        "an item between texts",
        (say("user", "Hi."), say("assistant", "a", ToolUseBlock("a", "f", "{}"), "b", "c")),
    ),
    "template gemma": (
        "calls without a form, and control tokens",
        (
            say("user", "Hi."),
            say("assistant", "a", ToolUseBlock("a", "look_up", "{}")),
            say("tool", NO_CITY),
            say("user", "<end_of_turn>", "So?"),
        ),
    ),
}
"""By target, what else it does, and messages that show it."""


def told_place(place: SentLocation) -> str:
    """Return a place on one line: its block, role, address and text, and what is known of it."""
    indices = (place.message, place.block, place.inner)
    block = "/".join(str(index) for index in indices if index is not None) or "added"
    address = ".".join(map(str, place.address))
    offsets = "" if place.start is None else f"[{place.start}:{place.end}]"
    text = [repr(place.text[:24])] if place.start is not None else []
    keys = ("fence", "id", "name", "speaker", "cache", "is_error")
    known = [f"{key}={str(value)[:9]}" for key in keys if (value := getattr(place, key))]
    return " ".join([block, place.role, f"{address}{offsets}", *text, *known])


LINES = {
    "openai marking": """
0/0 system messages.0.content[0:8] 'Be kind.'
1/0 system messages.1.content.0.text[0:9] 'Be brief.' cache=default
2/0 user messages.2.content[0:3] 'Hi.'
3/1 user messages.3.content[0:3] 'So?'
4/1 assistant messages.4.content[0:11] 'Let me see.'
4/2 assistant messages.4.tool_calls.0 id=a name=look_up
4/3 assistant messages.4.tool_calls.1 id=bbbbbbb_b name=look_down
5/0 tool messages.5 id=bbbbbbb_b
added tool messages.5.content[0:89] '[image 1 of tool result '
5/0/1 tool messages.5.content[91:94] 'mud'
6/0 tool messages.6 id=a
added tool messages.6.content[0:7] 'Error: '
6/0/0 tool messages.6.content[7:19] 'no such city'
6/0/1 tool messages.6.content[21:29] 'try Rome'
added user messages.7.content.0.text[0:65] '[image 1 of tool result '
5/0/0 user messages.7.content.1
7/0 developer messages.8.content[0:11] 'Use metres.'
8/0 user messages.9.content[0:4] 'And?' speaker=ada
9/0 assistant messages.10.content[0:5] 'It is'
""",
    "responses gpt-5.6-sol": """
0/0 system input.0.content[0:8] 'Be kind.'
1/0 system input.1.content.0.text[0:9] 'Be brief.' cache=default
2/0 user input.2.content[0:3] 'Hi.'
3/1 user input.3.content[0:3] 'So?'
4/1 assistant input.4.content[0:11] 'Let me see.'
4/2 assistant input.5 id=a name=look_up
4/3 assistant input.6 id=bbbbbbbbb name=look_down
5/0 tool input.7 id=bbbbbbbbb
5/0/0 tool input.7.output.0
5/0/1 tool input.7.output.1.text[0:3] 'mud'
6/0 tool input.8 id=a
added tool input.8.output[0:7] 'Error: '
6/0/0 tool input.8.output[7:19] 'no such city'
6/0/1 tool input.8.output[21:29] 'try Rome'
7/0 developer input.9.content[0:11] 'Use metres.'
8/0 user input.10.content[0:4] 'And?'
9/0 assistant input.11.content[0:5] 'It is'
""",
    "claude-opus-4-5": """
0/0 system system.0.text[0:8] 'Be kind.'
1/0 system system.1.text[0:9] 'Be brief.' cache=default
2/0 user messages.0.content.0.text[0:3] 'Hi.'
3/1 user messages.0.content.1.text[0:3] 'So?'
4/0 assistant messages.1.content.0
4/1 assistant messages.1.content.1.text[0:11] 'Let me see.'
4/2 assistant messages.1.content.2 id=a name=look_up
4/3 assistant messages.1.content.3 id=bbbbbbbbb name=look_down
5/0 user messages.2.content.0 id=bbbbbbbbb
5/0/0 user messages.2.content.0.content.0
5/0/1 user messages.2.content.0.content.1.text[0:3] 'mud'
6/0 user messages.2.content.1 id=a is_error=True
6/0/0 user messages.2.content.1.content.0.text[0:12] 'no such city'
6/0/1 user messages.2.content.1.content.1.text[0:8] 'try Rome'
7/0 user messages.2.content.2.text[0:36] '<developer>\\nUse metres.\\n' fence=developer
8/0 user messages.2.content.3.text[0:4] 'And?'
9/0 assistant messages.3.content.0.text[0:5] 'It is'
""",
    "gemini-2.5-pro": """
0/0 system config.system_instruction.parts.0.text[0:8] 'Be kind.'
1/0 system config.system_instruction.parts.1.text[0:9] 'Be brief.'
2/0 user contents.0.parts.0.text[0:3] 'Hi.'
3/1 user contents.0.parts.1.text[0:3] 'So?'
4/1 assistant contents.1.parts.0.text[0:11] 'Let me see.'
4/2 assistant contents.1.parts.1 id=a name=look.up
4/3 assistant contents.1.parts.2 id=bbbbbbbbb name=look_down
6/0 user contents.2.parts.0 id=a name=look.up is_error=True
6/0/0 user contents.2.parts.0.function_response.response.error[0:12] 'no such city'
6/0/1 user contents.2.parts.0.function_response.response.error[14:22] 'try Rome'
5/0 user contents.2.parts.1 id=bbbbbbbbb name=look_down
added user contents.2.parts.1.function_response.response.output[0:113] '[image 1 of tool result '
5/0/1 user contents.2.parts.1.function_response.response.output[115:118] 'mud'
added user contents.3.parts.0.text[0:89] '[image 1 of tool result '
5/0/0 user contents.3.parts.1
7/0 user contents.3.parts.2.text[0:36] '<developer>\\nUse metres.\\n' fence=developer
8/0 user contents.3.parts.3.text[0:4] 'And?'
9/0 assistant contents.4.parts.0.text[0:5] 'It is'
""",
    "bedrock able claude": """
0/0 system system.0.text[0:8] 'Be kind.'
1/0 system system.1.text[0:9] 'Be brief.' cache=default
added system system.2
2/0 user messages.0.content.0.text[0:3] 'Hi.'
3/1 user messages.0.content.1.text[0:3] 'So?'
4/1 assistant messages.1.content.0.text[0:11] 'Let me see.'
4/2 assistant messages.1.content.1 id=a name=look_up
4/3 assistant messages.1.content.2 id=bbbbbbbbb name=look_down
5/0 user messages.2.content.0 id=bbbbbbbbb
5/0/0 user messages.2.content.0.toolResult.content.0
5/0/1 user messages.2.content.0.toolResult.content.1.text[0:3] 'mud'
6/0 user messages.2.content.1 id=a is_error=True
6/0/0 user messages.2.content.1.toolResult.content.0.text[0:12] 'no such city'
6/0/1 user messages.2.content.1.toolResult.content.1.text[0:8] 'try Rome'
7/0 user messages.2.content.2.text[0:36] '<developer>\\nUse metres.\\n' fence=developer
8/0 user messages.2.content.3.text[0:4] 'And?'
9/0 assistant messages.3.content.0.text[0:5] 'It is'
""",
    "chat_template": """
0/0 system messages.0.content[0:8] 'Be kind.'
1/0 system messages.0.content[10:19] 'Be brief.'
2/0 user messages.1.content[0:3] 'Hi.'
3/1 user messages.1.content[5:8] 'So?'
4/1 assistant messages.2.content[0:11] 'Let me see.'
4/2 assistant messages.2.tool_calls.0 id=d3216b8dc name=look.up
6/0 tool messages.3 id=d3216b8dc name=look.up
added tool messages.3.content[0:7] 'Error: '
6/0/0 tool messages.3.content[7:19] 'no such city'
6/0/1 tool messages.3.content[21:29] 'try Rome'
4/3 assistant messages.4.tool_calls.0 id=81db347fe name=look_down
5/0 tool messages.5 id=81db347fe name=look_down
5/0/1 tool messages.5.content[0:3] 'mud'
added assistant messages.6.content[0:1] '.'
7/0 user messages.7.content[0:36] '<developer>\\nUse metres.\\n' fence=developer
added user messages.7.content[38:43] 'ada: '
8/0 user messages.7.content[43:47] 'And?'
9/0 assistant messages.8.content[0:5] 'It is'
""",
}
"""By target, the places of the hard prompt."""

FURTHER_LINES = {
    "openai": """
0/0 user messages.0.content[0:60] '<document name="Report" ' fence=document
0/1 user messages.0.content[62:65] 'So?'
""",
    "gemini-2.5-pro": """
0/0 user contents.0.parts.0.text[0:3] 'Hi.'
1/0 assistant contents.1.parts.0 id=a name=look_up
2/0 user contents.2.parts.0 id=a name=look_up
2/0/0 user contents.2.parts.0.function_response.response
""",
    "bedrock nova": """
added user messages.0.content.0.text[0:1] '.'
0/0 assistant messages.1.content.0 id=a name=look_up
0/1 assistant messages.1.content.1 id=b name=look_up
1/0 user messages.2.content.0 id=a
1/0/0 user messages.2.content.0.toolResult.content.0
2/0 user messages.2.content.1 id=b is_error=True
added user messages.2.content.1.toolResult.content.0.text[0:13] 'timeout_error'
3/0 assistant messages.3.content.0.text[0:3] 'Hm.'
4/0 user messages.4.content.0
added user messages.4.content.1.text[0:1] '.'
""",
    "anthropic binding": """
0/0 user messages.0.content.0.text[0:3] 'Hi.'
1/0 system messages.1.content.0.text[0:11] 'Use metres.'
2/0 assistant messages.2.content.0.text[0:4] 'Yes.'
""",
    "responses": """
0/0 user input.0.content[0:3] 'Hi.'
1/0 assistant input.1.content[0:1] 'a'
1/1 assistant input.2 id=a name=f
1/2 assistant input.3.content[0:1] 'b'
1/3 assistant input.3.content[3:4] 'c'
""",
    "template gemma": """
0/0 user messages.0.content[0:3] 'Hi.'
1/0 assistant messages.1.content[0:1] 'a'
1/1 assistant messages.1.content[3:43] '<tool_use name="look_up"' fence=tool_use
2/0 user messages.2.content[0:58] '<tool_result>\\nError: no ' fence=tool_resu
3/0 user messages.2.content[60:74] '<\\\\end_of_turn>'
3/1 user messages.2.content[76:79] 'So?'
""",
}
"""By target, the places of the further messages."""


@pytest.mark.parametrize("target", LINES)
def test_places_of_a_hard_prompt(target: str) -> None:
    """Each target tells the places of turns that it merges, moves, fences, joins and marks."""
    lines = [told_place(place) for place in places_of(HARD, ALL_FACTS[target])]
    assert LINES[target].strip().split("\n") == lines


@pytest.mark.parametrize("target", FURTHER)
def test_places_of_further_forms(target: str) -> None:
    """Each target tells the places of what it alone sends in another form."""
    _, messages = FURTHER[target]
    lines = [told_place(place) for place in places_of(Prompt(messages), ALL_FACTS[target])]
    assert FURTHER_LINES[target].strip().split("\n") == lines


def test_errors_are_those_of_the_payload() -> None:
    """Without a target, or with calls that wait for results, there are no places."""
    waiting = Timeline(User("Hi."), Assistant(ToolUse("look_up", {}, id="a")))
    wrong = {TargetError: render(User("Hi.")), PendingToolCalls: render(waiting, model="gpt-5")}
    told = {kind: str(raised(kind, rendered.locations)) for kind, rendered in wrong.items()}
    assert told == {kind: str(raised(kind, wrong[kind].payload)) for kind in wrong}


def test_places_are_made_once_and_not_kept() -> None:
    """The places are the same at a second call; they are not pickled, and not compared."""
    rendered = render(User("Hi."), model="gpt-5")
    places = rendered.locations()
    again: Rendered = pickle.loads(pickle.dumps(rendered))
    assert rendered.locations() is places
    assert "_locations" not in vars(again)
    assert again.locations() == places


def test_places_of_masked_values() -> None:
    """A masked result has the places of its own texts."""
    rendered = render(System("It is ", Volatile("12:00", label="now"), "."), model="gpt-5")
    masked = rendered.masked(lambda _: "noon")
    assert ["It is 12:00."] == [place.text for place in rendered.locations()]
    assert ["It is noon."] == [place.text for place in masked.locations()]


def test_places_of_a_long_conversation() -> None:
    """A conversation that is remembered has all its places, with each of its addresses."""
    said = [Message(("user", "assistant")[n % 2], f"word {n}") for n in range(401)]
    rendered = render(Timeline(History(said)), model="claude-opus-4-5")
    render(Timeline(History(said), Ephemeral("x")), model="claude-opus-4-5").locations()
    payload, places = rendered.payload(), rendered.locations()
    assert [f"word {n}" for n in range(401)] == [value_at(payload, place) for place in places]
