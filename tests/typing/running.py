"""Only checked, never run: calls of a model, and tools in all forms."""

from collections.abc import Mapping
from functools import partial
from typing import assert_type

from promptdsl import Message, Output, Tool, ToolUseBlock, Transcript, arun_calls, run_calls


def charges(month: str) -> list[float]:
    """List charges."""
    return [len(month)]


def refund(invoice: int, amount: float) -> str:
    """Refund."""
    return f"{invoice} {amount}"


async def pay(invoice: int, call: ToolUseBlock) -> None:
    """Pay."""


def run(transcript: Transcript, reply: Message, servers: Mapping[str, partial[str]]) -> None:
    tools = [charges, refund]
    for result in run_calls(transcript.pending_calls, tools):
        assert_type(result, Message)
    more = [*tools, Tool(charges, name="list"), Output({"type": "object"}, strict=False)]
    for result in run_calls(transcript.pending_calls, more, errors="text"):
        assert_type(result, Message)
        transcript.append(result)
    list(run_calls(reply, [partial(charges, month="May"), charges]))
    list(run_calls(reply.calls, servers))
    list(run_calls(reply.calls, {"charges": charges}))
    run_calls(reply, [charges], errors="all")  # type: ignore[arg-type]
    run_calls(reply, charges)  # type: ignore[arg-type]
    run_calls(reply, [charges], timeout=3)  # type: ignore[call-arg]
    run_calls("charges", [charges])  # type: ignore[arg-type]


async def arun(transcript: Transcript) -> None:
    async for result in arun_calls(transcript.pending_calls, [charges, pay], limit=2, timeout=1):
        assert_type(result, Message)
    await arun_calls((), [pay]).aclose()
    arun_calls((), [pay], limit="2")  # type: ignore[arg-type]
