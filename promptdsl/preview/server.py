"""The server of a preview: the page, the stream of its states, and what a reader chooses.

Who may ask it what comes first: this machine, from the page itself, with the token.
"""

import asyncio
import json
import logging
import os
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from html import unescape
from secrets import compare_digest
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from promptdsl.page import live_page_html
from promptdsl.preview.keepers import ColdKeeper, Keeper, NurseryKeeper
from promptdsl.preview.session import Choices, PreviewJob, Session, tunnel_command

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


# Who may ask the server what: this machine, from the page itself, with the token.

TOKEN_HEADER = "x-promptdsl-token"
USUAL_PORT = 80
"""The port that a browser leaves out."""
PATHS: Mapping[str, str] = {"/": "GET", "/states": "GET", "/choices": "POST"}
"""What can be asked for, and how. The page at ``/`` holds nothing: it needs no token."""
HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
"""The headers of each response, unless it has its own."""
OTHER_PORT = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>Another port</title>
<h1>This preview is at port {port}</h1>
<p>Your browser asked for another port, so the preview refuses to answer: a page of another site
could ask like this. Use the same port at both ends of a tunnel:</p>
<pre>{command}</pre>
<p>Then open the address that <code>promptdsl preview</code> printed.</p></html>
"""


class Guard:
    """Refuses each request that the page of this preview would not send."""

    def __init__(self, app: "ASGIApp", *, port: int, token: str) -> None:
        self._app, self._port, self._token = app, port, token
        self._hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
        if port == USUAL_PORT:
            self._hosts += ["127.0.0.1", "localhost"]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                headers: list[tuple[bytes, bytes]] = [*message.get("headers", [])]
                names = {name for name, _ in headers}
                more = [(name.encode(), text.encode()) for name, text in HEADERS.items()]
                message["headers"] = headers + [row for row in more if row[0] not in names]
            await send(message)

        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: "Scope") -> "Response | None":
        """Return what is answered instead, ``None`` for a request of the page."""
        from starlette.datastructures import Headers

        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return self._refused_host(hosts)
        origins = headers.getlist("origin")
        if any(origin not in [f"http://{host}" for host in self._hosts] for origin in origins):
            return refused(403, "a page of another origin asks")
        path: str = scope["path"]
        if scope["type"] != "http" or path not in PATHS:
            return refused(404, "there is nothing here")
        method: Any = scope["method"]
        if method != PATHS[path]:
            return refused(405, f"only {PATHS[path]} is allowed", allow=PATHS[path])
        if path == "/":
            return None
        tokens = headers.getlist(TOKEN_HEADER)
        if len(tokens) != 1 or not compare_digest(tokens[0].encode(), self._token.encode()):
            return refused(403, "the token is missing or wrong")
        if method == "POST" and headers.get("content-type") != "application/json":
            return refused(415, "only application/json is allowed")
        return None

    def _refused_host(self, hosts: list[str]) -> Response:
        name = hosts[0].rpartition(":")[0] or hosts[0] if len(hosts) == 1 else ""
        if name not in ("127.0.0.1", "localhost"):
            return refused(403, "the host is not this machine")
        page = OTHER_PORT.format(port=self._port, command=tunnel_command(self._port))
        return HTMLResponse(page, 403)


def refused(status: int, why: str, **headers: str) -> JSONResponse:
    """Return the response that refuses a request."""
    return JSONResponse({"error": why}, status, headers)


# The server of a preview: the page, the stream of its states, and what a reader chooses.

LARGEST = 64 * 1024
"""The bytes of a request's body."""


def listening_socket(port: int) -> socket.socket:
    """Return a socket of this machine that listens; the port 0 is one that is free.

    Raises :class:`OSError` for a port that is taken.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would share the port with another program
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(100)
    except OSError:
        listening.close()
        raise
    return listening


def serve(
    job: PreviewJob,
    command: Sequence[str],
    listening: socket.socket,
    *,
    title: str,
    started: Callable[[str], None],
) -> None:
    """Serve a preview until Ctrl-C. ``command`` starts its other processes.

    ``started`` is called with the address when the preview can be opened.
    """
    token = secrets.token_urlsafe(32)
    port: int = listening.getsockname()[1]
    started(f"http://127.0.0.1:{port}/#token={token}")
    asyncio.run(_serve(job, command, listening, title=title, token=token))


async def _serve(
    job: PreviewJob,
    command: Sequence[str],
    listening: socket.socket,
    *,
    title: str,
    token: str,
) -> None:
    keeper: Keeper = ColdKeeper(command)
    if not job.is_cold:
        keeper = nursery = NurseryKeeper(command)
        await nursery.open()
    session = Session(job, keeper)
    app = Guard(_app(session, title), port=listening.getsockname()[1], token=token)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off",
        proxy_headers=False, ws="none", http="h11", loop="asyncio",
        timeout_graceful_shutdown=1,  # a client may not read what it asked for
    )  # fmt: skip
    server = _Server(config)

    def stop() -> None:
        session.end()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # who is still here is left
        server.force_exit = server.should_exit
        server.should_exit = True

    running = asyncio.create_task(session.run())
    running.add_done_callback(lambda _: stop())
    loop = asyncio.get_running_loop()

    def interrupted(number: int, frame: object) -> None:
        del number, frame
        loop.call_soon_threadsafe(stop)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if os.name == "posix" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # not with nohup
        numbers.append(signal.SIGHUP)
    for number in numbers:
        signal.signal(number, interrupted)
    await server.serve(sockets=[listening])
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


class _Server(uvicorn.Server):
    """A server that leaves signals alone: here they also end the streams."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield


def _app(session: Session, title: str) -> Starlette:
    html = live_page_html(title)
    _, _, rest = html.partition(' content="')
    rules = unescape(rest.partition('"')[0]) + "; frame-ancestors 'none'"

    async def page(_: Request) -> Response:
        return HTMLResponse(html, headers={"content-security-policy": rules})

    async def states(_: Request) -> Response:
        return StreamingResponse(session.states(), media_type="application/x-ndjson")

    async def choices(request: Request) -> Response:
        body = bytearray()
        try:
            async for part in request.stream():
                body += part
                if len(body) > LARGEST:
                    return refused(413, "the body is too large")
            session.choose(Choices.from_data(json.loads(body)))
        except (ValueError, RecursionError) as error:
            return refused(400, str(error))
        except ClientDisconnect:
            return refused(400, "the body ended too early")
        return JSONResponse({})

    return Starlette(
        routes=[
            Route("/", page, methods=["GET"]),
            Route("/states", states, methods=["GET"]),
            Route("/choices", choices, methods=["POST"]),
        ]
    )


def open_browser(address: str) -> None:
    """Open an address in the browser of the reader, if there is a screen."""
    has_screen = sys.platform != "linux" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_screen:
        webbrowser.open(address)
