"""The prompts: plain functions from data to a Timeline, without a network or a clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from promptdsl import (
    CacheBreakpoint,
    Event,
    Grounding,
    History,
    Output,
    Section,
    System,
    Text,
    Timeline,
    Tool,
    User,
    UserAction,
    Value,
    Volatile,
)
from support_desk.sections import escalation, role, rules, tone, tools_guide
from support_desk.tools import find_charges, open_case

Message = Mapping[str, str]


@dataclass(frozen=True)
class Account:
    """What we know of a customer."""

    name: str
    plan: str
    language: str = "English"


@dataclass(frozen=True)
class Chunk:
    """A chunk of a document that a search found, with its score."""

    path: str
    title: str
    text: str
    score: float


@dataclass(frozen=True)
class HandOver:
    """What a colleague reads before taking over a ticket."""

    summary: str
    next_step: str
    urgent: bool


def answer(
    question: str, history: Sequence[Message], account: Account, *, invoice: int, today: date
) -> Timeline:
    """Return the prompt that answers a ticket."""
    with Timeline() as prompt:
        Tool(find_charges)
        Tool(open_case)
        with System():
            role("You answer tickets.")
            rules(account.language)
            escalation("billing")
            tools_guide()
            CacheBreakpoint()
        History(history)
        with Event():
            UserAction("opened", target=f"invoice {invoice}")
        with Grounding("account", title="Account"):
            Text("Customer: ", account.name)
            Text("Plan: ", account.plan)
            Text("Today: ", Volatile(today.isoformat(), "today"))
        User(question)
    return prompt


def answer_from(question: str, chunks: Sequence[Chunk], language: str = "English") -> Timeline:
    """Return the prompt that answers from documents; a budget drops the worst chunks first."""
    with Timeline() as prompt:
        with System():
            role("You answer questions about our terms.")
            rules(language)
            with Section("sources", title="Sources"):
                Text("Answer from the documents only, and name the title of each that you use.")
        for chunk in chunks:
            Grounding(chunk.path, chunk.text, title=chunk.title, priority=chunk.score)
        User(question)
    return prompt


def hand_over(history: Sequence[Message], team: str) -> Timeline:
    """Return the prompt that summarises a conversation for a colleague, without politeness."""
    with Timeline() as prompt:
        Output(HandOver)
        with System():
            role("You sum up tickets for colleagues.")
            Section("reader", "Your reader is in the ", Value(team), " team and has one minute.")
            tone("English")
        with Grounding("conversation", title="Conversation"):
            for message in history:
                Text(message["role"], ": ", message["content"])
        User("Sum up this conversation.")
    return prompt
