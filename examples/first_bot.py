"""A bot with a tool, a memory and a budget: python first_bot.py gpt-5, or claude-opus-5-5."""

import sys
from typing import Any

import promptdsl as p

MODEL = sys.argv[1] if len(sys.argv) > 1 else "gpt-5"


def charges(month: str) -> list[float]:
    """List the charges of a month, in EUR."""
    return {"May": [49.0, 49.0], "June": [49.0]}.get(month, [])


TOOLS = [charges]
RULES = "You answer questions about invoices. Look things up, never guess."


def ask(transcript: p.Transcript) -> Any:
    """Send the conversation, and return the stream of the answer."""
    prompt = p.Timeline(*map(p.Tool, TOOLS), p.System(RULES), p.History(transcript))
    rendered = p.render(prompt, model=MODEL, budget=20_000)
    options: dict[str, Any] = {"model": MODEL, "stream": True, **rendered.payload()}
    if MODEL.startswith("claude"):
        from anthropic import Anthropic

        client: Any = Anthropic()
        return client.messages.create(max_tokens=1_000, **options)
    from openai import OpenAI

    client = OpenAI()
    return client.chat.completions.create(**options)


def answer(transcript: p.Transcript) -> None:
    """Ask and run tools until the model has answered; print the answer as it arrives."""
    while transcript.pending_calls or transcript[-1].role != "assistant":
        for result in p.run_calls(transcript.pending_calls, TOOLS):
            transcript.append(result)
        reading = p.read_stream(ask(transcript))
        for text in reading.texts:
            print(text, end="", flush=True)
        transcript.append(reading)
    print()


if __name__ == "__main__":
    with p.Transcript.open("Ann", store=p.SqliteStore("chats.db")) as transcript:
        if transcript:
            answer(transcript)  # what the last run did not finish
        while question := input("> "):
            transcript.append(question)
            answer(transcript)
