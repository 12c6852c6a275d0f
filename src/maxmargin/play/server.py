"""The server of the playground: the page's files and the answers to its questions, on this machine only."""

from __future__ import annotations

import errno
import json
import re
import secrets
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, NamedTuple

from maxmargin.errors import InvalidInput, MaxMarginError
from maxmargin.play.answers import QUESTIONS, answer
from maxmargin.play.steps import load_learners
from maxmargin.reporting.assets import page_style

__all__ = ["LARGEST_BODY", "Playground"]


LARGEST_BODY = 1_000_000  # bytes
LONGEST_ANSWER = 15.0  # seconds; every question has a limit of time that is shorter
SECONDS_FOR_ROOM = 0.1  # between two looks whether a connection that waits can be taken
SECONDS_OF_SILENCE = 600  # then a connection that the browser keeps open is closed

# Nothing may be loaded from anywhere else, nor may another page embed this one.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Playground(ThreadingHTTPServer):
    """A running playground.

    Parameters
    ----------
    port : int, default 0
        0 takes a free one.

    Attributes
    ----------
    access : Access
        Its ``url`` is the address to open.

    Examples
    --------
    >>> from maxmargin.play import Playground
    >>> with Playground() as playground:  # serve_forever() would answer until Ctrl-C
    ...     playground.access.url.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True  # Ctrl-C does not wait for fits
    request_queue_size = socket.SOMAXCONN  # connections that wait to be taken; as many as the system lets

    def __init__(self, port: int = 0) -> None:
        # First of all: a port that is taken closes the server before it was ever open.
        self._answering, self._changed = 0, threading.Condition()
        super().__init__((ADDRESS, port), _Handler)
        self.access = Access(self.server_address[1])
        # The learners load scikit-learn: nobody should wait for that at the first step.
        try:
            threading.Thread(target=self._prepare, daemon=True).start()
        except RuntimeError as error:
            self.server_close()
            raise MaxMarginError(
                "the system starts no further thread, and each answer of the playground needs one; end "
                "other programs, or let this user have more processes (ulimit -u)"
            ) from error

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count the answers under way, for which the end of the program waits."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Take a connection; where there is no room for one, wait, as it will still be there at once."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                time.sleep(SECONDS_FOR_ROOM)
            raise

    def server_close(self) -> None:
        """Take no more questions, and wait for the answers: no thread may be in the core when Python ends."""
        super().server_close()
        with self._changed:
            self._changed.wait_for(lambda: self._answering == 0, timeout=LONGEST_ANSWER)

    def _count(self, more: int) -> None:
        with self._changed:
            self._answering += more
            self._changed.notify_all()

    def _prepare(self) -> None:
        with self.answering(), suppress(OSError, ImportError):  # the first request for a step reports them
            load_learners()

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Everything that can be had without asking a question, by name."""
        return pages()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore closed connections: a browser closes them with the page."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Playground
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "maxmargin", ""
    timeout = SECONDS_OF_SILENCE
    # Waiting to fill a packet would hold every small answer back for 40 ms.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Send a file."""
        if self._is_refused():
            return
        page = self.server.pages.get(self.server.access.name_in(self.path))
        if page is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        else:
            self._send(HTTPStatus.OK, page.content, page.kind)

    do_HEAD = do_GET  # noqa: N815 - the name is the standard library's

    def do_POST(self) -> None:
        """Answer a question."""
        if self._is_refused():
            return
        body = self._read_body()
        if body is None:
            return
        question = self.server.access.name_in(self.path)
        if question not in QUESTIONS:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such question")
            return
        try:
            with self.server.answering():
                found = answer(question, _parse(body))
        except MaxMarginError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except Exception as error:
            traceback.print_exc()
            message = f"this is a mistake in maxmargin, please report it: {type(error).__name__}: {error}"
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, message)
        else:
            self._send(HTTPStatus.OK, json.dumps(found, allow_nan=False).encode(), "application/json")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing: the address contains the token."""

    # ------------------------------------------------------------ parts

    def _is_refused(self) -> bool:
        why = self.server.access.refusal(self.path, self.headers.get("Host"), self.headers.get("Origin"))
        if why is not None:
            self.close_connection = True  # its body, if it has one, stays unread
            self._refuse(HTTPStatus.FORBIDDEN, why)
        return why is not None

    def _read_body(self) -> bytes | None:
        """Return what was sent, or refuse it and return None."""
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > LARGEST_BODY:
            found = length[:20] or "none"
            message = f"a request needs a Content-Length of up to {LARGEST_BODY:,} bytes; got {found}"
        elif kind != "application/json":
            message = f"a request must be application/json; got {kind[:60] or 'nothing'}"
        else:
            return self.rfile.read(int(length))
        self.close_connection = True
        self._refuse(HTTPStatus.BAD_REQUEST, message)
        return None

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._send(status, json.dumps({"error": message}).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        # Headers and content in one piece: two would be two packets.
        self._headers_buffer: list[bytes]
        self._headers_buffer.append(b"\r\n" + (content if self.command != "HEAD" else b""))
        self.flush_headers()


def _parse(body: bytes) -> Any:
    """Read JSON; NaN and infinity, which Python would take, are none."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidInput("the request is nested too deeply") from None
    except ValueError as error:
        raise InvalidInput(f"the request is not JSON: {error}") from None


def _refuse_constant(name: str) -> Callable[..., Any]:
    raise ValueError(f"{name} is not a number in JSON")


# ------------------------------------------------------------------------------------------------
# Access control: only the page that this program opened, on this machine.
#
# Any web page that is open in the same browser can send requests to 127.0.0.1. Three things keep it out:
# it does not know the token in the address; a name of its own that it points to 127.0.0.1 (DNS rebinding)
# shows in the header ``Host``; and what browsers tell about the sender shows in ``Origin``.

ADDRESS = "127.0.0.1"


@dataclass(frozen=True)
class Access:
    """The address of one run of the playground, which is also the permission to use it."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def url(self) -> str:
        """The address to open; relative links on the page carry the token along."""
        return f"http://{ADDRESS}:{self.port}/{self.token}/"

    def refusal(self, path: str, host: str | None, origin: str | None) -> str | None:
        """Return why a request is refused, or None; `host` and `origin` are its headers."""
        hosts = {f"{ADDRESS}:{self.port}", f"localhost:{self.port}"}
        if host is None or host.lower() not in hosts:
            return f"this page answers to {ADDRESS} only; the request was sent to another name"
        if origin is not None and origin.lower() not in {f"http://{own}" for own in hosts}:
            return "the request comes from another page"
        given = path.lstrip("/").split("/", 1)[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return "the address lacks the token: open the one that maxmargin play printed"
        return None

    def name_in(self, path: str) -> str:
        """Return what is asked for, without token and query: "" is the page itself."""
        return path.lstrip("/").partition("/")[2].partition("?")[0]


# ------------------------------------------------------------------------------------------------
# The files of the page, read once; what is not among them does not exist for a browser.

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


class Page(NamedTuple):
    """Something that a browser can load."""

    content: bytes
    kind: str


def pages() -> dict[str, Page]:
    """Return everything that can be loaded, by its path below the token; "" is the page itself.

    Examples
    --------
    >>> pages()["main.js"].kind
    'text/javascript'
    """
    found = {"pages.css": Page(page_style().encode(), "text/css")}
    for file in files("maxmargin.play").joinpath("assets").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        if suffix in KINDS:
            found[file.name] = Page(file.read_bytes(), KINDS[suffix])
    found[""] = found.pop("index.html")
    return found
