"""The real SDK clients, talking to a server on the loopback interface that keeps what they send."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, cast

from anthropic import Anthropic
from openai import OpenAI

CHAT_REPLY: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 0,
    "model": "any",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "logprobs": None,
            "message": {"role": "assistant", "content": "ok", "refusal": None},
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
MESSAGES_REPLY: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "any",
    "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
RESPONSES_REPLY: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 0,
    "model": "any",
    "status": "completed",
    "output": [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "ok", "annotations": []}],
        }
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    },
}
GEMINI_REPLY: dict[str, Any] = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}
CONVERSE_REPLY: dict[str, Any] = {
    "output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}
REPLIES = {
    "/chat/completions": CHAT_REPLY,
    "/responses": RESPONSES_REPLY,
    "/v1/messages": MESSAGES_REPLY,
    ":generateContent": GEMINI_REPLY,
    "/converse": CONVERSE_REPLY,
}
"""By how the path ends, what a service answers."""


class Recorder(HTTPServer):
    """A server on a free port; ``bodies`` are the JSON bodies it was sent, in order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """The address to give a client as ``base_url``."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        recorder = cast("Recorder", self.server)
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        recorder.bodies.append(json.loads(sent))
        path = self.path.partition("?")[0]
        (reply,) = [reply for end, reply in REPLIES.items() if path.endswith(end)]
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the test's own report is enough."""


@contextmanager
def recording() -> Generator[Recorder]:
    """Run a recorder for the length of a ``with`` block."""
    with Recorder() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def send_openai(payload: Mapping[str, Any], model: str = "gpt-5.6-sol") -> dict[str, Any]:
    """Return the body the OpenAI client sends for ``chat.completions.create(**payload)``."""
    with (
        recording() as server,
        OpenAI(base_url=server.url, api_key="test", max_retries=0) as client,
    ):
        client.chat.completions.create(model=model, **payload)
    return server.bodies[0]


def send_anthropic(payload: Mapping[str, Any], model: str = "claude-opus-5-5") -> dict[str, Any]:
    """Return the body the Anthropic client sends for ``messages.create(**payload)``."""
    with (
        recording() as server,
        Anthropic(base_url=server.url, api_key="test", max_retries=0) as client,
    ):
        client.messages.create(model=model, max_tokens=1, **payload)
    return server.bodies[0]
