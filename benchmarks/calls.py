"""Calls: what an application pays for its prompt at each call of a model.

Each row is one prompt, written and rendered to the arguments of a Chat request. Beside it stands a
hand-written function that returns the same arguments, and what comes closest: Jinja renders the
text of the template alone, mirascope encodes the messages, without tools.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jinja2 import Environment

from benchmarks.conversation import conversation
from benchmarks.costs import compared
from benchmarks.growing import values
from benchmarks.ours import MODEL
from benchmarks.prompt import SECTIONS
from benchmarks.report import Report
from benchmarks.rows import HAND, OURS, Build, Row
from promptdsl import (
    Event,
    Grounding,
    History,
    Section,
    System,
    Template,
    Timeline,
    Tool,
    User,
    UserAction,
    Value,
    render,
)

JINJA, MIRASCOPE = "Jinja", "mirascope"

ROLE = "You are a support assistant. Answer in at most two short paragraphs."
PAGE = "Parcels leave the warehouse on weekdays before 17:00. Returns are free. " * 28
TEMPLATE = "You help {{ name }}, who has the plan {{ plan }}. Today is {{ day }}."
VARIABLES = {"name": "Ann Lee", "plan": "Pro", "day": "Monday"}
NAMES = ("track_parcel", "find_order", "refund", "change_address", "hand_over", "search_manual")
PARAMETERS = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "city": {"type": "string"}},
    "required": ["order"],
}
RECORDED = conversation(20)[1:-1]
PARTS = [(number * 7919 % 2_000, f"Fact {number}: it rains.") for number in range(2_000)]
HALF = sum(len(text) + 2 for _, text in PARTS) // 2
ENVIRONMENT = Environment()
JINJA_TEMPLATE = ENVIRONMENT.from_string(TEMPLATE)


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what each prompt costs; raises :class:`UnknownName` for an unknown entrant."""
    return compared(__name__, rows(), only, quick)


def rows() -> list[Row]:
    """Return the rows, the smallest prompt first."""
    return [
        Row("a system and a user turn", {OURS: smallest, HAND: by_hand, **_in_mirascope(short)}),
        Row("and an event", {OURS: with_event, HAND: partial(by_hand, EVENT)}),
        Row("and a grounding of 2 kB", {OURS: with_grounding, HAND: partial(by_hand, FACTS)}),
        Row(
            "and a template of three variables",
            {OURS: with_template, HAND: template_by_hand, JINJA: in_jinja},
        ),
        Row("and a value in a sentence", {OURS: with_value, HAND: value_by_hand}),
        Row(
            "an agent's prompt, all written again",
            {OURS: agent_anew, HAND: agent_by_hand, **_in_mirascope(long)},
        ),
        Row("an agent's prompt, constants written once", {OURS: agent, HAND: agent_by_hand}),
        Row("1,000 rows through one prompt", {OURS: many_rows, HAND: rows_by_hand}),
        Row("2,000 parts, fitted to half", {OURS: fitted, HAND: fitted_by_hand}),
    ]


def arguments(prompt: Timeline, **options: Any) -> Any:
    """Return the arguments of a Chat request."""
    return render(prompt, model=MODEL, **options).to_openai()


def chat(role: str, content: str) -> dict[str, Any]:
    """Return a message of a Chat request."""
    return {"role": role, "content": content}


# The smallest prompt, and one part more.


def smallest(question: str) -> Any:
    """Return instructions and a question."""
    return arguments(smallest_parts(question))


def smallest_parts(question: str) -> Timeline:
    """Return them as a prompt that is not rendered."""
    return Timeline(System(ROLE), User(question))


def by_hand(*said: str | dict[str, Any]) -> Any:
    """Return the same by hand, with messages between them."""
    *between, question = said
    return {"messages": [chat("system", ROLE), *between, chat("user", str(question))]}


EVENT = chat("developer", '<event type="user_action">\nUser opened: invoice 1881\n</event>')
FACTS = chat("developer", f'<context title="Manual">\n{PAGE}\n</context>')


def with_event(question: str) -> Any:
    """Return it with an event of the application."""
    opened = Event(UserAction("opened", target="invoice 1881"))
    return arguments(Timeline(System(ROLE), opened, User(question)))


def with_grounding(question: str) -> Any:
    """Return it with a page that was found."""
    facts = Grounding("manual", PAGE, title="Manual")
    return arguments(Timeline(System(ROLE), facts, User(question)))


def with_template(question: str) -> Any:
    """Return it with a template as instructions."""
    role = Template.from_string(TEMPLATE, VARIABLES)
    return arguments(Timeline(System(role), User(question)))


def template_by_hand(question: str) -> Any:
    """Return the same by hand."""
    text = "You help {name}, who has the plan {plan}. Today is {day}.".format(**VARIABLES)
    return {"messages": [chat("system", text), chat("user", question)]}


def in_jinja(_question: str) -> Any:
    """Return the text of the template alone."""
    return JINJA_TEMPLATE.render(VARIABLES)


def with_value(question: str) -> Any:
    """Return it with a value in a sentence of the instructions."""
    return arguments(Timeline(System("You help ", Value("Ann Lee"), "."), User(question)))


def value_by_hand(question: str) -> Any:
    """Return the same by hand."""
    name = VARIABLES["name"]
    return {"messages": [chat("system", f"You help {name}."), chat("user", question)]}


# An agent: tools, instructions in sections, a conversation of 20, an event, a page, a template.


def tools() -> list[Tool]:
    """Return the tools of the agent."""
    return [
        Tool(name=name, description="Do it for an order.", input_schema=PARAMETERS)
        for name in NAMES
    ]


def instructions() -> list[Section]:
    """Return the sections of the instructions."""
    return [Section(it.id, it.text, title=it.title) for it in SECTIONS]


def agent_anew(question: str) -> Any:
    """Return the prompt of an agent, each part written at each call."""
    said = History.from_openai(RECORDED)
    return arguments(_agent(tools(), instructions(), said, question))


TOOLS, INSTRUCTIONS, KEPT = tools(), instructions(), values(RECORDED)


def agent(question: str) -> Any:
    """Return the prompt of an agent that writes its tools and sections once, and keeps messages."""
    return arguments(agent_parts(question))


def agent_parts(question: str) -> Timeline:
    """Return it as a prompt that is not rendered."""
    return _agent(TOOLS, INSTRUCTIONS, History(KEPT), question)


def _agent(tools: list[Tool], sections: list[Section], said: History, question: str) -> Timeline:
    return Timeline(
        *tools,
        System(*sections, Template.from_string(TEMPLATE, VARIABLES)),
        said,
        Event(UserAction("opened", target="invoice 1881")),
        Grounding("manual", PAGE, title="Manual"),
        User(question),
    )


def agent_by_hand(question: str) -> Any:
    """Return the same by hand."""
    titled = [f"## {section.title}\n{section.text}" for section in SECTIONS]
    role = template_by_hand("")["messages"][0]["content"]
    said = [EVENT, FACTS, chat("user", question)]
    return {
        "messages": [chat("system", "\n\n".join([*titled, role])), *RECORDED, *said],
        "tools": functions(),
    }


def functions() -> list[dict[str, Any]]:
    """Return the tools of the agent, as a Chat request has them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": "Do it for an order.",
                "parameters": PARAMETERS,
            },
        }
        for name in NAMES
    ]


# Many rows: the instructions are written once.

TEXTS = [f"Parcel {number} is late, & nobody answers." for number in range(1_000)]


def many_rows(question: str) -> Any:
    """Return a request for each text."""
    return [
        arguments(Timeline(System(*INSTRUCTIONS), User(question, "\n\n", Value(text))))
        for text in TEXTS
    ]


def rows_by_hand(question: str) -> Any:
    """Return the same by hand."""
    role = "\n\n".join([f"## {section.title}\n{section.text}" for section in SECTIONS])
    return [
        {"messages": [chat("system", role), chat("user", f"{question}\n\n{text}")]}
        for text in TEXTS
    ]


# Many parts in a budget, counted in characters.


FRAMES = render(Timeline(System("."), User(".")), model=MODEL, counter=len).tokens.total - 2
"""What a counter of characters counts beside the texts: the names of roles, and the frames."""


def fitted(question: str) -> Any:
    """Return the parts of the highest priorities that fit into half of their characters."""
    parts = [Section(f"p{rank}", text, priority=rank) for rank, text in PARTS]
    return arguments(Timeline(System(*parts), User(question)), budget=HALF, counter=len)


def fitted_by_hand(question: str) -> Any:
    """Return the same by hand."""
    total = FRAMES - 2 + len(question) + sum(len(text) + 2 for _, text in PARTS)
    dropped = set[int]()
    for rank, text in sorted(PARTS):
        if total <= HALF:
            break
        dropped.add(rank)
        total -= len(text) + 2
    system = "\n\n".join(text for rank, text in PARTS if rank not in dropped)
    return {"messages": [chat("system", system), chat("user", question)]}


# mirascope's messages, encoded as its OpenAI provider encodes them.


def short(question: str) -> list[dict[str, Any]]:
    """Return the messages of the smallest prompt."""
    messages: list[dict[str, Any]] = by_hand(question)["messages"]
    return messages


def long(question: str) -> list[dict[str, Any]]:
    """Return the texts of the agent's prompt; mirascope has no role for developers."""
    said: list[dict[str, Any]] = agent_by_hand(question)["messages"]
    return [it if it["role"] != "developer" else chat("user", it["content"]) for it in said]


def _in_mirascope(said: Callable[[str], list[dict[str, Any]]]) -> dict[str, Build]:
    """Return mirascope as an entrant, nobody where it is not installed."""
    try:
        from benchmarks.peers.mirascope import encoded, message
    except ImportError:
        return {}
    return {MIRASCOPE: lambda question: encoded([*map(message, said(question))])}
