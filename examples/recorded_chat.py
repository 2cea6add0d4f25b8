"""A chat that is stored in a file: the next start continues the conversation.

Each line of the file is a turn. A question is in the file before the model gets it. So after an
error or Ctrl-C the question stays, and the next start asks it again. Ctrl-C during a streamed
reply keeps the text that arrived.

Run it:     python examples/recorded_chat.py chat.jsonl --provider anthropic --stream
Change it:  promptdsl render examples/recorded_chat.py:demo --for gemini
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from promptdsl import History, Message, System, Timeline, Transcript, read_stream, render

BUDGET = 50_000
MODELS = {"openai": "gpt-5", "anthropic": "claude-opus-5-5"}

Ask = Callable[[Timeline, bool], Any]  # Any: a reply of either client, or a stream
"""A function that sends a prompt, and returns the client's reply, or a stream of it."""


def prompt(conversation: Sequence[Message]) -> Timeline:
    """Return the prompt of a conversation so far; its budget drops the oldest exchanges."""
    return Timeline(System("You answer in two sentences."), History(conversation))


def openai_chat(model: str, base_url: str | None) -> Ask:
    """Return the function that asks a model of OpenAI, or of a compatible server."""
    from openai import OpenAI

    client = OpenAI(base_url=base_url)

    def ask(timeline: Timeline, stream: bool) -> object:
        payload = render(timeline, model=model, provider="openai", budget=BUDGET).to_openai()
        return client.chat.completions.create(
            model=model,
            stream=stream,
            stream_options={"include_usage": True} if stream else None,
            **payload,
        )

    return ask


def anthropic_chat(model: str, base_url: str | None) -> Ask:
    """Return the function that asks a model of Anthropic."""
    from anthropic import Anthropic

    client = Anthropic(base_url=base_url)

    def ask(timeline: Timeline, stream: bool) -> object:
        payload = render(timeline, model=model, provider="anthropic", budget=BUDGET).to_anthropic()
        return client.messages.create(model=model, max_tokens=1_000, stream=stream, **payload)

    return ask


CLIENTS = {"openai": openai_chat, "anthropic": anthropic_chat}


def answer(transcript: Transcript, ask: Ask, stream: bool) -> None:
    """Ask for a reply, show it and record it."""
    reply = ask(prompt(transcript), stream)
    if not stream:
        transcript.append(reply)
        print(transcript[-1].text)
        return
    reading, shown = read_stream(reply), ""
    try:
        for text in reading.texts:
            shown += text
            print(text, end="", flush=True)
    except KeyboardInterrupt:
        if shown:
            transcript.append(reading, interrupted=True)
        raise
    transcript.append(reading)
    print()


def chat(transcript: Transcript, lines: Iterator[str], ask: Ask, stream: bool) -> None:
    """Answer the last question if it has no answer yet, then answer each line."""
    if transcript and transcript[-1].role == "user":
        answer(transcript, ask, stream)
    for line in filter(str.strip, lines):
        transcript.append(line)
        answer(transcript, ask, stream)


def typed_lines() -> Iterator[str]:
    """Yield the lines that a person types, until the end of the input."""
    try:
        while True:
            yield input("> ")
    except EOFError:
        print()


def demo(question: str = "And where is parcel 8?") -> Timeline:
    """Return the request after a made-up exchange."""
    return prompt(Transcript(["Hi.", Message("assistant", "Hi. Which parcel is it?"), question]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Chat until the end of the input; return the exit code."""
    parser = argparse.ArgumentParser(description="A chat that is kept in a file.")
    parser.add_argument("file", help="the transcript; made when it is missing")
    parser.add_argument("--provider", choices=list(CLIENTS), default="openai")
    parser.add_argument("--model", help=f"default: {MODELS}")
    parser.add_argument("--base-url", help="default: that of the client, which reads its variable")
    parser.add_argument("--stream", action="store_true", help="show a reply while it comes")
    options = parser.parse_args(arguments)
    model = options.model or MODELS[options.provider]
    ask = CLIENTS[options.provider](model, options.base_url)
    with Transcript.open(options.file) as transcript:
        try:
            chat(transcript, typed_lines(), ask, options.stream)
        except KeyboardInterrupt:
            return 130
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
