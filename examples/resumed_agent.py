"""An agent that can be killed at any moment: its next start continues, and pays nothing twice.

Each step is in the file before the next step begins. A note says which call is running. If a call
has this note but no result, nobody knows whether its action was done. If its tool may run twice,
the call runs again. Otherwise the model reads that the call was interrupted, and can check.

Run it:     python examples/resumed_agent.py work.jsonl paid.txt --task "Pay invoices 1 and 2."
Go on:      python examples/resumed_agent.py work.jsonl paid.txt
Change it:  promptdsl render examples/resumed_agent.py:demo --for gemini
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptdsl import History, Message, System, Timeline, Tool, ToolUseBlock, Transcript, render

Tools = Mapping[str, Callable[..., str]]

MODEL = "gpt-5"
REPEATABLE = {"paid"}
"""The tools that only read: it does no harm to run one of their calls twice."""
INTERRUPTED = "The program was stopped during this call. Call paid before you repeat it."


def tools_of(ledger: Path) -> Tools:
    """Return the tools of the agent, by name."""

    def pay(invoice: int) -> str:
        """Pay an invoice."""
        with ledger.open("a") as file:
            file.write(f"invoice {invoice}\n")
        return f"Invoice {invoice} is paid."

    def paid() -> str:
        """List the invoices that are paid."""
        return (ledger.read_text() if ledger.exists() else "") or "none"

    return {"pay": pay, "paid": paid}


def prompt(conversation: Sequence[Message], tools: Tools) -> Timeline:
    """Return the prompt of a conversation so far."""
    with Timeline() as timeline:
        for function in tools.values():
            Tool(function)
        System("You pay invoices. Never pay one twice.")
        History(conversation)
    return timeline


def notes_of_calls(transcript: Transcript) -> list[object]:
    """Return the notes after the newest reply, also undone notes: an undo reverts no action."""
    replies = [
        turn.number
        for turn in transcript.turns
        if turn.message is not None and turn.message.role == "assistant"
    ]
    newest = max(replies, default=0)
    notes = [entry for entry in transcript.entries if entry.type == "note"]
    return [note.data["note"] for note in notes if note.number > newest]


def run(transcript: Transcript, call: ToolUseBlock, tools: Tools) -> None:
    """Record that a call begins, run it, and record its result; an error is a result, too."""
    if call.input is None:
        transcript.answer(call, "The arguments are no JSON object.", error_type="validation_error")
        return
    transcript.note({"running": call.id})
    try:
        text = tools[call.name](**call.input)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        transcript.answer(call, text, error_type="execution_error")
    else:
        transcript.answer(call, text)


def work(transcript: Transcript, tools: Tools, ask: Callable[[Timeline], Any]) -> str:
    """Continue a transcript until the model calls no tool; return its answer."""
    notes = notes_of_calls(transcript)
    for call in transcript.pending_calls:
        if {"running": call.id} in notes and call.name not in REPEATABLE:
            transcript.answer(call, INTERRUPTED, error_type="interrupted")
    while transcript.pending_calls or transcript[-1].role != "assistant":
        for call in transcript.pending_calls:
            run(transcript, call, tools)
        transcript.append(ask(prompt(transcript, tools)))
    return transcript[-1].text


def demo(task: str = "Pay invoices 1 and 2.") -> Timeline:
    """Return the request after the first call of a made-up session."""
    call = ToolUseBlock("call_0", "pay", '{"invoice": 1}')
    result = Message.tool_result("call_0", INTERRUPTED, name="pay", error_type="interrupted")
    transcript = Transcript([task, Message("assistant", [call]), result])
    return prompt(transcript, tools_of(Path("paid.txt")))


def main(arguments: Sequence[str] | None = None) -> None:
    """Work on a task, or continue one, until it is done."""
    parser = argparse.ArgumentParser(description="An agent that can be killed, and goes on.")
    parser.add_argument("file", help="the transcript; made when it is missing")
    parser.add_argument("ledger", type=Path, help="the file of what was paid")
    parser.add_argument("--task", default="Pay invoices 1 and 2.", help="what a new one is to do")
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL"))
    options = parser.parse_args(arguments)

    from openai import OpenAI

    client = OpenAI(base_url=options.base_url)

    def ask(timeline: Timeline) -> object:
        payload = render(timeline, model=MODEL, provider="openai").to_openai()
        return client.chat.completions.create(model=MODEL, **payload)

    with Transcript.open(options.file) as transcript:
        if not transcript:
            transcript.append(options.task)
        print(work(transcript, tools_of(options.ledger), ask))


if __name__ == "__main__":
    main()
