"""The service: messages in, answers out as server-sent events.

Run it:  CHAT_USER=ann uvicorn --app-dir examples --factory chat_service.app:make_app --workers 2
See it:  http://127.0.0.1:8000
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from promptdsl import Message, SqliteStore, Transcript, TranscriptEntry

from .answering import Answer, Refused, mend, note_of, take
from .models import MODELS
from .tools import tools_of

LONGEST = 20_000
"""How many characters a message may have."""
UNBUFFERED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""These headers make a proxy pass each event on immediately."""


def key_of(request: Request) -> str:
    """Return the key of a conversation, or the prefix of a person's keys. A proxy sets X-User."""
    user = request.headers.get("x-user") or os.environ.get("CHAT_USER")
    if not user:
        raise Refused(401, "nobody is logged in")
    return f"{quote(user, safe='')}/{request.path_params.get('chat', '')}"


async def message_of(request: Request) -> Message:
    """Return the message in a request: `id`, which the browser made, `role` and `content`."""
    try:
        (message,) = Transcript.from_client([await request.json()])  # an allow-list
    except ValueError as error:
        raise Refused(422, getattr(error, "what", "this is no JSON")) from None
    if message.role != "user" or not message.id or len(message.text) > LONGEST:
        raise Refused(422, f"send a user's turn with an id, of at most {LONGEST} characters")
    return message


def event(name: str, data: object) -> str:
    """Return a server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def event_of(entry: TranscriptEntry) -> str:
    """Return the event for an entry, or a comment, which keeps the connection open."""
    if said := note_of(entry).get("said"):
        return event("text", said)
    if entry.message is not None and entry.message.role == "tool":
        return event("tool", entry.message.content[0].to_dict().get("name"))
    return ": at work\n\n"


class Service:
    """The endpoints of the service, with one store."""

    def __init__(self, folder: Path, provider: str, model: str | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.store = SqliteStore(folder / "chats.db", timeout=10)
        self.tools = tools_of(folder / "refunds.txt")
        make, default = MODELS[provider]
        self.ask = make(model or default)
        self.tasks = set[asyncio.Task[str]]()

    async def send(self, request: Request) -> Response:
        """Answer a message. A repeated message gets the same answer, from its beginning."""
        message = await message_of(request)
        transcript, shown, is_open = await take(self.store, key_of(request), message)
        queue = asyncio.Queue[TranscriptEntry | None]()
        answer = Answer(transcript, self.ask, self.tools, queue.put_nowait)
        task = None
        if is_open:
            # A separate task: when the person leaves, no call is interrupted.
            task = asyncio.create_task(answer.work())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            task.add_done_callback(lambda _: queue.put_nowait(None))

        async def events() -> AsyncGenerator[str, None]:
            try:
                yield "".join(map(event_of, shown))
                while task and (new := await queue.get()) is not None:
                    yield event_of(new)
                yield event("end", await task if task else "done")
            finally:
                answer.stop = True

        return StreamingResponse(events(), 200, UNBUFFERED, "text/event-stream")

    async def read(self, request: Request) -> Response:
        """Return the turns of a conversation, including an interrupted reply."""
        transcript = await Transcript.aopen(key_of(request), store=self.store)
        mend(transcript)  # in memory only
        turns = [{"id": m.id, "role": m.role, "text": m.text} for m in transcript]
        return JSONResponse(turns)

    async def erase(self, request: Request) -> Response:
        """Delete a conversation, or all conversations of a person."""
        key = key_of(request)
        keys = await asyncio.to_thread(self.store.list, key) if key.endswith("/") else [key]
        for key in keys:
            await asyncio.to_thread(self.store.delete, key)
        return Response(status_code=204)

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncGenerator[None, None]:
        """Wait for the running answers, then close the store."""
        yield
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.store.close()


async def page(_: Request) -> Response:
    """Return the page for a browser."""
    return FileResponse(Path(__file__).with_name("page.html"))


async def refused(_: Request, error: Exception) -> Response:
    """Return why a request is refused; if the conversation is busy, the client may repeat it."""
    status, why = error.args
    headers = {"Retry-After": "1"} if status == 409 else {}
    return JSONResponse({"error": why}, status, headers)


def make_app() -> Starlette:
    """Return the service with the settings CHAT_DATA, CHAT_PROVIDER, CHAT_MODEL."""
    setting = os.environ.get
    folder, provider = Path(setting("CHAT_DATA", "data")), setting("CHAT_PROVIDER", "openai")
    service = Service(folder, provider, setting("CHAT_MODEL"))
    routes = [
        Route("/", page),
        Route("/chats/{chat}", service.send, methods=["POST"]),
        Route("/chats/{chat}", service.read),
        Route("/chats/{chat}", service.erase, methods=["DELETE"]),
        Route("/chats", service.erase, methods=["DELETE"]),
    ]
    handlers = {Refused: refused}
    return Starlette(routes=routes, lifespan=service.lifespan, exception_handlers=handlers)
