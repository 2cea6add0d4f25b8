"""What stays put: a later turn never changes what was rendered before it.

What is sent is read as a row of tokens: the role where it changes, then every text, call and result
as it goes out. A prompt that grew begins with the tokens it had. The exceptions, each tested below:
request-only content at its declared place, and an event or developer turn that was the last thing
said and is then followed by a user turn, where its native form must stand before an answer.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import OPENING
from tests.providers.chat_template_check import TEMPLATES
from tests.providers.every_target import SERVICES, every_check_of
from tests.renders import lossy_payload, timeline_of
from tests.searching import examples, with_each

MODELS = [
    "claude-opus-5-5",
    "claude-sonnet-5",
    "claude-opus-4-7",
    "claude-opus-4-5",
    "gpt-6-sol",
    "gpt-5",
    "gpt-4o",
    "gpt-3.5-turbo",
    "o1-mini",
    "gemini-3.1-pro",
    "gemini-2.5-pro",
    "amazon.nova-lite-v1:0",
]
COMPATIBLE = "openai_compatible"
PROVIDERS = [COMPATIBLE, "openai_responses", "anthropic", "gemini", "bedrock", "chat_template"]
NATIVE = ("claude-opus-5-5",)
ON_BEDROCK = ["bedrock us.anthropic.claude-opus-4-7", "bedrock us.mistral.pixtral-large-2502-v1:0"]
TARGETS = [*MODELS, *PROVIDERS, *ON_BEDROCK, *(f"template {name}" for name in TEMPLATES)]
ANY_TARGET = st.sampled_from(TARGETS)
OTHERS = [target for target in TARGETS if target not in NATIVE]
ANY_OTHER = st.sampled_from(OTHERS)

Step = tuple[str, str]
WORDS = st.sampled_from(["a", "b c", "é", "<b>", "</event>", "\n  x", "# h", "1."])
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "role_mapping": st.fixed_dictionaries(
            {}, optional={"event": st.sampled_from(["user", "developer", "system"])}
        ),
        "merge_consecutive": st.booleans(),
        "format": st.sampled_from(["markdown", "xml"]),
        "guard_conversation": st.booleans(),
        "delimiters": st.sampled_from([{}, {"event": None}, {"event": ("[[", "]]")}]),
    },
)


def turns(step: Step, id: str) -> list[Node]:
    """Return the turns of a step; its calls have an id that may come back."""
    kind, words = step
    return KINDS[kind](words, id)


def _recorded(words: str, id: str) -> list[Node]:
    call = Message("assistant", [ToolUseBlock(id, "t", "{}")])
    result = Message("tool", [ToolResultBlock(id, (TextBlock(words),))])
    return [History([Message("user", words), call, result])]


PNG = b"\x89PNG\r\n\x1a\n"
KINDS: dict[str, Callable[[str, str], list[Node]]] = {
    "user": lambda words, _: [User(words)],
    "picture": lambda words, _: [User(words, Image.from_url("https://e.org/a.png"), words)],
    "assistant": lambda words, _: [Assistant(words)],
    "batch": lambda words, id: [Assistant(words, ToolUse("t", {}, id=id)), ToolMessage(id, words)],
    "pair": lambda words, id: [
        Assistant(ToolUse("t", {"q": words}, id=id), ToolUse("t", {}, id=f"{id}x")),
        ToolMessage(f"{id}x", words),
        ToolMessage(id, words),
    ],
    "user_results": lambda words, id: [
        Assistant(ToolUse("t", {}, id=id)),
        User(ToolResult(id, words), words),
    ],
    "photo": lambda words, id: [
        Assistant(ToolUse("t", {}, id=id)),
        ToolMessage(id, words, Image.from_bytes(PNG), is_error=words == "a"),
    ],
    "paper": lambda words, _: [User(words, Document.from_bytes(b"%PDF-1.4"))],
    "event": lambda words, _: [Event(UserAction("did", target=words), words)],
    "developer": lambda words, _: [Developer(words)],
    "recorded": _recorded,
}


CONVERSATIONS = st.lists(st.tuples(st.sampled_from([*KINDS]), WORDS), max_size=9)
EVERY_KIND: list[Step] = [(kind, "a") for kind in KINDS]


def prompt(steps: list[Step], *more: Node) -> Node:
    """Return the prompt of a conversation, ids coming back every third step."""
    written = [turn for number, step in enumerate(steps) for turn in turns(step, f"c{number % 3}")]
    return timeline_of(System("s", Section("rules", "r", title="R")), *written, *more)


def rendered(tree: Node, target: str, config: Any) -> Rendered:
    """Return a prompt with marks, rendered for a model, a provider or a chat template."""
    kind, _, name = target.partition(" ")
    if kind == "template":
        return render(tree, transformation=config, chat_template=TEMPLATES[name])
    named = {"provider": target} if target in PROVIDERS else {"model": target}
    named = {"provider": kind, "model": name} if target in ON_BEDROCK else named
    return render(tree, transformation=config, cache="auto", **named)  # type: ignore[arg-type]


def payload(tree: Node, target: str, config: Any) -> Any:
    """Return what is sent of a prompt to a target."""
    return lossy_payload(rendered(tree, target, config))


def tokens(sent: Any) -> list[str]:
    """Return a payload as a row of tokens, which joined are all that is sent, marks aside."""
    sent = unmarked(sent)
    config = sent.get("config", {})
    leading = sent.get("system") or config.get("system_instruction", {}).get("parts", [])
    row = [as_text(block) for block in leading]
    for turn in sent.get("messages") or sent.get("contents") or sent.get("input", []):
        role, content = turn.get("role"), turn.get("content") or turn.get("parts") or ""
        row.append(f"<{role} {turn.get('tool_call_id', '')}>")
        row += [as_text(block) for block in content] if isinstance(content, list) else [content]
        row += [as_text(call) for call in turn.get("tool_calls", ())]
        row += [as_text(turn)] if role is None else []
    return row


def as_text(block: Any) -> str:
    """Return a block as it goes out; a chat template sees the text of a text."""
    return str(block["text"]) if block.keys() == TEXT else json.dumps(block, default=repr)


TEXT = {"type", "text"}
MARKS = {"cache_control", "prompt_cache_breakpoint"}


def unmarked(sent: Any) -> Any:
    """Return a payload without its cache marks, which are no tokens."""
    if isinstance(sent, dict):
        return {key: unmarked(value) for key, value in sent.items() if key not in MARKS}
    if isinstance(sent, list):
        return [unmarked(one) for one in sent if one != POINT]
    return sent


POINT = {"cachePoint": {"type": "default"}}


def begins(shorter: list[str], longer: list[str]) -> bool:
    """Return whether a longer row of tokens begins with a shorter one."""
    return "".join(longer).startswith("".join(shorter))


INSTRUCTIONS = ("event", "developer")
OF_THE_MODEL = ("assistant", "batch", "pair", "user_results", "photo")
"""The kinds of steps that begin with a turn of the model."""


def following(steps: list[Step]) -> list[str]:
    """Return the kinds of the conversation turns of steps."""
    return [kind for kind, _ in steps if kind not in INSTRUCTIONS]


def is_taken_back(steps: list[Step], later: list[Step], config: Any = None) -> bool:
    """Return whether instructions that were the last thing said are now followed by a user.

    An event that is sent in the user's voice is a user's turn, too.
    """
    said_last = bool(steps) and steps[-1][0] in INSTRUCTIONS
    heard = ["user", "picture", "paper", "recorded"]
    heard += ["event"] if (config or {}).get("role_mapping", {}).get("event") == "user" else []
    kinds = [kind for kind, _ in later if kind not in INSTRUCTIONS or kind in heard]
    return said_last and kinds[:1] != [] and kinds[0] in heard


def without_last_instructions(steps: list[Step]) -> list[Step]:
    """Return steps up to the last one that is no instruction."""
    places = [number + 1 for number, (kind, _) in enumerate(steps) if kind not in INSTRUCTIONS]
    return steps[: max(places, default=0)]


def joins_the_system(steps: list[Step], later: list[Step]) -> bool:
    """Return whether a developer turn comes, other than as a turn, before any conversation turn."""
    kinds = [kind for kind, _ in later]
    before = kinds[: kinds.index(following(later)[0])] if following(later) else kinds
    return not following(steps) and "developer" in before


def is_filled(target: str, steps: list[Step]) -> bool:
    """Return whether a user is made to speak: some templates refuse a prompt where none does."""
    return target == "chat_template" and all(kind == "developer" for kind, _ in steps)


def may_move_a_text(target: str, later: list[Step]) -> bool:
    """Return whether a document may move a text before it out of the turn of tool results."""
    heard = takewhile(lambda kind: kind not in OF_THE_MODEL, following(later))
    return target == ON_BEDROCK[0] and "paper" in heard


# The rule.


@examples(2_000, fast=8)
@with_each(TARGETS, EVERY_KIND, EVERY_KIND, {})
@given(ANY_TARGET, CONVERSATIONS, CONVERSATIONS, CONFIGS)
def test_a_prompt_is_append_only(
    target: str, steps: list[Step], later: list[Step], config: Any
) -> None:
    """Adding turns never changes a token before them, but for instructions taken back."""
    assume(not is_taken_back(steps, later, config) and not joins_the_system(steps, later))
    assume(not is_filled(target, steps) and not may_move_a_text(target, later))
    one = tokens(payload(prompt(steps), target, config))
    two = tokens(payload(prompt(steps + later), target, config))
    assert begins(one, two)


@pytest.mark.parametrize("target", ["claude-opus-4-7", "gemini-2.5-pro", *ON_BEDROCK])
def test_an_instruction_before_calls(target: str) -> None:
    """An instruction after a user's turn that stays apart stays where it is when calls follow."""
    steps, later = [("user", "a"), ("user", "a"), ("developer", "a")], [("pair", "a")]
    apart = {"merge_consecutive": False}
    one, two = (tokens(payload(prompt(longer), target, apart)) for longer in (steps, steps + later))
    assert begins(one, two)


@pytest.mark.xfail(
    reason="a document is refused beside results, and takes along the text that it was merged with",
    strict=True,
)
def test_a_document_behind_a_text_beside_results() -> None:
    """A document of the user moves no text before it (Claude on Bedrock)."""
    steps, later = [("batch", "a"), ("user", "a")], [("paper", "a")]
    one, two = (
        tokens(payload(prompt(longer), ON_BEDROCK[0], {})) for longer in (steps, steps + later)
    )
    assert begins(one, two)


@examples(2_000, fast=8)
@with_each(OTHERS, EVERY_KIND, EVERY_KIND, {})
@given(ANY_OTHER, CONVERSATIONS, CONVERSATIONS, CONFIGS)
def test_without_a_native_form_there_is_no_exception(
    target: str, steps: list[Step], later: list[Step], config: Any
) -> None:
    """Where instructions have no native form that must precede an answer, nothing is taken back."""
    assume(not joins_the_system(steps, later) and not is_filled(target, steps))
    assume(not may_move_a_text(target, later))
    one = tokens(payload(prompt(steps), target, config))
    two = tokens(payload(prompt(steps + later), target, config))
    assert begins(one, two)


@given(CONVERSATIONS, CONVERSATIONS, CONFIGS)
def test_the_neutral_messages_are_append_only(
    steps: list[Step], later: list[Step], config: Any
) -> None:
    """The messages themselves stay, but for the last one, which a neighbour may join."""
    one = render(prompt(steps), transformation=config).messages
    two = render(prompt(steps + later), transformation=config).messages
    last = one[-1]
    assert one[:-1] == two[: len(one) - 1]
    assert (last.role, last.content) == (
        two[len(one) - 1].role,
        two[len(one) - 1].content[: len(last.content)],
    )


@every_check_of(*SERVICES)
@examples(2_000, fast=15)
@with_each(TARGETS, EVERY_KIND, {})
@given(target=ANY_TARGET, steps=CONVERSATIONS, config=CONFIGS)
def test_what_is_sent_is_taken(check: Any, target: str, steps: list[Step], config: Any) -> None:
    """At every length a conversation is a request that its target takes."""
    found = rendered(prompt(steps), target, config)
    check(lossy_payload(found), found.facts)


# The exceptions.


def test_an_instruction_that_is_taken_back() -> None:
    """An event that was the last thing said is fenced in the user turn that then follows it."""
    said_, event = [("user", "a")], ("event", "b")
    last = tokens(payload(prompt([*said_, event]), "claude-opus-5-5", {}))
    followed = tokens(payload(prompt([*said_, event, ("user", "c")]), "claude-opus-5-5", {}))
    assert ("<system >", "<user >") == (last[-2], followed[1])
    assert not begins(last, followed)
    assert begins(last[:-2], followed)


@pytest.mark.parametrize("target", NATIVE)
@given(CONVERSATIONS, CONVERSATIONS, CONFIGS)
def test_no_more_is_taken_back(
    target: str, steps: list[Step], later: list[Step], config: Any
) -> None:
    """When instructions are taken back, all that was said before them stays."""
    assume(not joins_the_system(steps, later))
    assert begins(
        tokens(payload(prompt(without_last_instructions(steps)), target, config)),
        tokens(payload(prompt(steps + later), target, config)),
    )


REQUEST = {"role_mapping": {"ephemeral": "developer"}}


HEARING = ["claude-opus-5-5", "claude-opus-4-7", "gpt-5", *PROVIDERS]


@examples(2_000, fast=15)
@with_each(HEARING, "end", EVERY_KIND, EVERY_KIND)
@given(
    st.sampled_from(HEARING),
    st.sampled_from(["before_user", "end", "flow"]),
    CONVERSATIONS,
    CONVERSATIONS,
)
def test_request_only_content(
    target: str, position: str, steps: list[Step], later: list[Step]
) -> None:
    """All that stands before request-only content stays; it is alone in coming and going."""
    assume(not is_taken_back(steps, [*later, ("user", "x")]))
    assume(not joins_the_system(steps, later))
    entry = Grounding("g", "ENTRY", position=position)
    one = tokens(payload(prompt(steps, entry), target, REQUEST))
    two = tokens(payload(prompt(steps + later, entry), target, REQUEST))
    place = next(n for n, token in enumerate(one) if "ENTRY" in token)
    start = place - 1 if one[place - 1].startswith("<") else place
    # A turn of one side that it follows may need a filler, which comes and goes with it.
    start -= 2 * (one[start - 2 : start] == ["<assistant >", OPENING])
    assert begins(one[:start], two)


@given(CONVERSATIONS)
def test_request_only_content_leaves_no_trace(steps: list[Step]) -> None:
    """Without its request-only messages a prompt is what it would be without the content."""
    apart: Any = {**REQUEST, "merge_consecutive": False}
    entries = [
        Ephemeral("x", position="end"),
        Grounding("g", "y"),
        Ephemeral("z", position="start"),
    ]
    kept = render(prompt(steps), transformation=apart).messages
    among = render(prompt(steps, *entries), transformation=apart).messages
    assert kept == tuple(message for message in among if message.kind != "request")


def test_reasoning_goes_with_request_only_content() -> None:
    """Reasoning that is bound to the bytes before it goes when request-only content comes."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    recorded = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "b"}]},
        {"role": "user", "content": "c"},
    ]
    history = History.from_anthropic(recorded)
    kept: Any = render(timeline_of(history), model="claude-opus-5-5")
    gone: Any = render(timeline_of(history, Ephemeral("x")), model="claude-opus-5-5")
    assert [2, 1] == [len(r.payload()["messages"][1]["content"]) for r in (kept, gone)]
    assert ([], ["reasoning"]) == tuple([hint.what for hint in r.hints] for r in (kept, gone))


# The same input is the same bytes.


@examples(2_000, fast=8)
@with_each(TARGETS, EVERY_KIND, {})
@given(ANY_TARGET, CONVERSATIONS, CONFIGS)
def test_the_same_bytes(target: str, steps: list[Step], config: Any) -> None:
    """Rendered twice, a prompt is the same bytes."""
    one, two = (as_text(payload(prompt(steps), target, config)) for _ in range(2))
    assert one == two


PROGRAM = """
import json
from promptdsl import *
tree = Timeline(
    Tool(name="t", input_schema={"type": "object", "properties": {"b": {}, "a": {}}}),
    Output({"type": "object", "properties": {"b": {}, "a": {}}}),
    System("s", Section("a", "x"), Section("b", "y")),
    User("u", metadata={"b": 1, "a": 2}, tags=("z", "y")),
    Event(UserAction("did", **{"z": 1.5, "\\u00e9": True, "a": None})),
    Ephemeral("e", type="t", title="T"),
    Assistant(ToolUse("t", {"b": 1, "a": [1, 2]}, id="c.1")),
    ToolMessage("c.1", "r"),
    transformation={"delimiters": {"event": {"user_action": ("<did>", "</did>")}}},
)
for target in (
    "openai", "openai_responses", "openai_compatible", "anthropic", "gemini", "bedrock",
    "chat_template",
):
    rendered = render(tree, provider=target, cache="auto", tool_choice="required")
    sent = json.dumps(rendered.payload(), default=repr)
    print(ascii(sent), *map(str, rendered.losses), rendered.explain())
print(ascii(rendered.outline()))
"""


@cache
def run(**environment: str) -> str:
    """Return what the program prints in an environment."""
    root = Path(__file__).parents[1]
    known = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**known, "PYTHONPATH": str(root), **environment},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "4242"},
        {"TZ": "Asia/Tokyo"},
        {"LC_ALL": "C"},
        {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
        {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_in_every_environment(environment: dict[str, str]) -> None:
    """Hash seed, locale and time zone are in no output."""
    assert run(PYTHONHASHSEED="0") == run(**{"PYTHONHASHSEED": "0", **environment})
