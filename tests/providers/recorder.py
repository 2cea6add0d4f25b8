"""The real SDK clients, talking to a server on the loopback interface that keeps what they send."""

import json
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self, cast

from promptdsl import Message, TextBlock
from tests.providers.gemini_check import normal

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

STREAMS = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in sorted((Path(__file__).parent / "streams").glob("*.json"))
}
"""By provider, the events of a stream: reasoning, text, two calls at once, counts of tokens."""
_STREAMED = {
    **{"/chat/completions": "openai", "/responses": "openai_responses"},
    **{"/v1/messages": "anthropic", ":streamGenerateContent": "gemini"},
}


def stream_bytes(provider: str) -> bytes:
    """Return the body of a stream: server-sent events."""
    names = [f"event: {event['type']}\n" if "type" in event else "" for event in STREAMS[provider]]
    data = [f"data: {json.dumps(event)}\n\n" for event in STREAMS[provider]]
    text = "".join(map("".join, zip(names, data, strict=True)))
    return (text + ("data: [DONE]\n\n" if provider == "openai" else "")).encode()


class Recorder(HTTPServer):
    """A server on a free port; ``bodies`` are the JSON bodies it was sent, in order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """The address to give a client as ``base_url``."""
        return f"http://127.0.0.1:{self.server_port}"

    def taken(self) -> list[dict[str, Any]]:
        """Return all bodies that were sent since the last time, and forget them."""
        bodies, self.bodies = self.bodies, []
        return bodies


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        recorder = cast("Recorder", self.server)
        request = self.rfile.read(int(self.headers["Content-Length"]))
        recorder.bodies.append(json.loads(request))
        path = self.path.partition("?")[0]
        streams = [name for end, name in _STREAMED.items() if path.endswith(end)]
        if streams and (b'"stream":true' in request or streams == ["gemini"]):
            body, type = stream_bytes(streams[0]), "text/event-stream"
        else:
            (reply,) = [reply for end, reply in REPLIES.items() if path.endswith(end)]
            body, type = json.dumps(reply).encode(), "application/json"
        self.send_response(200)
        self.send_header("Content-Type", type)
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


class Clients:
    """The client of each provider, made when it is first needed, and the server all of them ask.

    Each method returns the body that a client sends for a payload.
    """

    def __enter__(self) -> Self:
        """Start the server."""
        self._open = ExitStack()
        self._server = self._open.enter_context(recording())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the clients and the server."""
        self._open.close()

    def openai(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send ``chat.completions.create(**payload)``."""
        self._openai.chat.completions.create(model="gpt-5.6-sol", **payload)
        [body] = self._server.taken()
        return body

    def openai_responses(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send ``responses.create(**payload)``."""
        self._openai.responses.create(model="gpt-5.6-sol", **payload)
        [body] = self._server.taken()
        return body

    def anthropic(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send ``messages.create(**payload)``."""
        self._anthropic.messages.create(model="claude-opus-5-5", max_tokens=1, **payload)
        [body] = self._server.taken()
        return body

    def bedrock(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send ``converse(**payload)``."""
        self._bedrock.converse(modelId="amazon.nova-lite-v1:0", **payload)
        [body] = self._server.taken()
        return body

    def gemini(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send ``models.generate_content(**payload)``, and return what is sent as a payload.

        The client writes some keys as the service does and some as its types do; all count the
        same.
        """
        return self._generated(self._gemini, payload)

    def vertex(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send the same to Vertex."""
        return self._generated(self._vertex, payload)

    def _generated(self, client: Any, payload: Mapping[str, Any]) -> dict[str, Any]:
        client.models.generate_content(model="gemini-3.8-flash", **payload)
        [body] = self._server.taken()
        config = {**body.get("generationConfig", {})}
        config |= {
            key: body[key] for key in ("systemInstruction", "tools", "toolConfig") if key in body
        }
        return normal({"contents": body["contents"], "config": config})

    @cached_property
    def _openai(self) -> Any:
        from openai import OpenAI

        client = OpenAI(base_url=self._server.url, api_key="test", max_retries=0)
        return self._open.enter_context(client)

    @cached_property
    def _anthropic(self) -> Any:
        from anthropic import Anthropic

        client = Anthropic(base_url=self._server.url, api_key="test", max_retries=0)
        return self._open.enter_context(client)

    @cached_property
    def _bedrock(self) -> Any:
        import boto3
        from botocore.config import Config

        client: Any = boto3.client(  # pyright: ignore[reportUnknownMemberType]
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=self._server.url,
            config=Config(retries={"total_max_attempts": 1}, parameter_validation=True),
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        self._open.callback(client.close)
        return client

    @cached_property
    def _gemini(self) -> Any:
        return self._genai(vertex=False)

    @cached_property
    def _vertex(self) -> Any:
        return self._genai(vertex=True)

    def _genai(self, *, vertex: bool) -> Any:
        from google import genai

        options = genai.types.HttpOptions(base_url=self._server.url)
        client = genai.Client(vertexai=vertex, api_key="test", http_options=options)
        return self._open.enter_context(client)


def text_blocks(message: Message) -> str:
    """Return the texts of an answer; a refusal is none."""
    blocks = [block for block in message.content if isinstance(block, TextBlock)]
    return "".join(block.text for block in blocks if not block.extra.get("refusal"))
