"""Checks before a preview answers: that its packages are installed, and who sends a request.

A request must come from this machine, from the page itself, and with the token. Starlette is
imported with the first request, so that this module can be imported without the extra.
"""

from collections.abc import Mapping
from secrets import compare_digest
from typing import TYPE_CHECKING, Any

from promptdsl.foundation.errors import require
from promptdsl.preview.session import tunnel_command

if TYPE_CHECKING:
    from starlette.responses import JSONResponse, Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PACKAGES = ("starlette", "uvicorn", "watchfiles")
"""The packages of the extra ``preview``."""
TOKEN_HEADER = "x-promptdsl-token"
"""The header in which the page sends the token of its address."""
USUAL_PORT = 80
"""The port that a browser does not write into an address."""
PATHS: Mapping[str, str] = {"/": "GET", "/states": "GET", "/choices": "POST"}
"""The paths of requests, each with its method. ``/`` needs no token: the page has no data."""
DEFAULT_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
"""The headers of each response that does not have its own."""
OTHER_PORT_PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>Another port</title>
<h1>This preview is at port {port}</h1>
<p>Your browser asked for another port, so the preview refuses to answer: a page of another site
could ask like this. Use the same port at both ends of a tunnel:</p>
<pre>{command}</pre>
<p>Then open the address that <code>promptdsl preview</code> printed.</p></html>
"""


def check_packages() -> None:
    """Raise :class:`PromptError` for a missing package; the error names the extra to install.

    >>> from promptdsl.preview import check_packages
    >>> check_packages()
    """
    for package in PACKAGES:
        require(package, "preview")


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
                defaults = [
                    (name.encode(), text.encode()) for name, text in DEFAULT_HEADERS.items()
                ]
                message["headers"] = headers + [row for row in defaults if row[0] not in names]
            await send(message)

        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: "Scope") -> "Response | None":
        """Return the response that refuses a request; ``None`` for a request of the page."""
        from starlette.datastructures import Headers

        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return self._refused_host(hosts)
        origins = headers.getlist("origin")
        if any(origin not in [f"http://{host}" for host in self._hosts] for origin in origins):
            return refused(403, "the request is from a page of another origin")
        path: str = scope["path"]
        if scope["type"] != "http" or path not in PATHS:
            return refused(404, "the preview has no such path")
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

    def _refused_host(self, hosts: list[str]) -> "Response":
        """Return the response for a wrong host: for another port, a page that explains it."""
        name = hosts[0].rpartition(":")[0] or hosts[0] if len(hosts) == 1 else ""
        if name not in ("127.0.0.1", "localhost"):
            return refused(403, "the host is not this machine")
        from starlette.responses import HTMLResponse

        page = OTHER_PORT_PAGE.format(port=self._port, command=tunnel_command(self._port))
        return HTMLResponse(page, 403)


def refused(status: int, why: str, **headers: str) -> "JSONResponse":
    """Return the response that refuses a request."""
    from starlette.responses import JSONResponse

    return JSONResponse({"error": why}, status, headers)
