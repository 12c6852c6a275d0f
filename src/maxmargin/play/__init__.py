"""The playground for the lecture room: a local page on which points can be moved and fits watched.

`server.Playground` answers the page's requests; each of them is read and checked by `state` and answered by
`fit`, `by_hand` or `steps` with the library's own functions. The page itself is in ``assets``.
"""

from maxmargin.play.server import Playground

__all__ = ["Playground"]
