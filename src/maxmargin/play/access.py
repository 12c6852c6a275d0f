"""Who may ask: only the page that this program opened, on this machine.

Any web page that is open in the same browser can send requests to 127.0.0.1. Three things keep it out: it
does not know the token in the address; a name of its own that it points to 127.0.0.1 (DNS rebinding) shows in
the header ``Host``; and what browsers tell about the sender shows in ``Origin``.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

__all__ = ["ADDRESS", "Access"]

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
