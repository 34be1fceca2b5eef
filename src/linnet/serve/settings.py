"""What can be set of linking over HTTP: limits of a request, of all requests, and of time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits; a request beyond one of them is refused, and others go on.

    One client, which is a key or an address, can have half of ``requests`` and of what waits: the rest is for others.

    Args:
        text: characters of one text.
        request: characters of all texts of one request.
        documents: documents of one request.
        requests: requests that are answered at once.
        waiting: characters that wait for one pipeline.
        seconds: that a document may take, waiting included.
        read: seconds until all of a request must have come.
        write: seconds until a client must have taken the next part of a stream.
        batch: documents that are linked together, at most.
        batch_text: characters of documents that are linked together, unless one alone has more.
        linger: seconds that a batch waits for requests which are just coming in.
    """

    text: int = 1_000_000
    request: int = 2_000_000
    documents: int = 1_000
    requests: int = 1_000
    waiting: int = 8_000_000
    seconds: float = 60.0
    read: float = 15.0
    write: float = 30.0
    batch: int = 64
    batch_text: int = 200_000
    linger: float = 0.003

    @property
    def body(self) -> int:
        """Bytes of a body: all that its characters can take, escaped, and what documents hold beside their texts."""
        return 6 * self.request + (1 << 20)
