"""What waits for a pipeline: a row for each client, which have their turns, so that nobody waits for a greedy one."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable

from linnet.serve.jobs import Item, Job
from linnet.serve.settings import Settings

__all__ = ["Full", "Waiting"]


class Full(Exception):  # noqa: N818 - no error of the program: the client is told when to come again
    """There is no room for a job; ``mine`` says whether it is the client's own share that is full."""

    def __init__(self, *, mine: bool) -> None:
        super().__init__("the client's share of the queue is full" if mine else "the queue is full")


class Waiting:
    """A queue between the loop of an application and the thread of a pipeline.

    Args:
        settings: how much may wait, and what makes a batch.
        coming: says whether requests are just coming in, for which a batch waits a moment.
    """

    def __init__(self, settings: Settings, coming: Callable[[], bool]) -> None:
        self._settings, self._coming = settings, coming
        self._rows: OrderedDict[str, deque[Item]] = OrderedDict()
        self._characters: Counter[str] = Counter()  # of each client
        self._news = threading.Condition()
        self._documents, self._total, self._closed = 0, 0, False

    @property
    def documents(self) -> int:
        """How many documents wait."""
        return self._documents

    @property
    def characters(self) -> int:
        """How many characters wait."""
        return self._total

    def put(self, job: Job) -> bool:
        """Add all documents of a job; return False where the queue is closed.

        Raises:
            Full: there is no room for them; a job is always taken where nothing waits.
        """
        size, most = sum(len(doc.text) for doc in job.docs), self._settings.waiting
        with self._news:
            if self._closed or not job.docs:
                return not self._closed
            if self._total and self._total + size > most:
                raise Full(mine=False)
            if self._characters[job.client] and self._characters[job.client] + size > most // 2:
                raise Full(mine=True)
            row = self._rows.setdefault(job.client, deque())
            row.extend(Item(job, place) for place in range(len(job.docs)))
            self._characters[job.client] += size
            self._documents += len(job.docs)
            self._total += size
            self._news.notify()
            return True

    def take(self) -> list[Item]:
        """Wait for the next batch, documents under the same conditions; empty when the queue is closed and done."""
        with self._news:
            while True:
                self._news.wait_for(lambda: self._rows or self._closed)
                if self._coming() and not self._closed:
                    self._news.wait_for(self._is_enough, self._settings.linger)
                batch = self._batch()
                if batch or (self._closed and not self._rows):
                    return batch

    def close(self) -> None:
        """Take nothing more; what waits is still done."""
        with self._news:
            self._closed = True
            self._news.notify()

    def _is_enough(self) -> bool:
        return self._documents >= self._settings.batch or self._total >= self._settings.batch_text or self._closed

    def _batch(self) -> list[Item]:
        """Take a document of each client in turn, until there are enough; who was passed over begins the next batch."""
        batch: list[Item] = []
        room, passed = self._settings.batch_text, OrderedDict[str, deque[Item]]()
        while self._rows and len(batch) < self._settings.batch:
            client, row = self._rows.popitem(last=False)
            first = row[0]
            if batch and not first.job.abandoned and not _goes_with(first, batch[0], room):
                passed[client] = row
                continue
            self._drop(client, row.popleft())
            if not first.job.abandoned:
                batch.append(first)
                room -= len(first.doc.text)
            if row:
                self._rows[client] = row  # behind all others
            else:
                self._characters.pop(client, None)
        passed.update(self._rows)
        self._rows = passed
        return batch

    def _drop(self, client: str, item: Item) -> None:
        size = len(item.doc.text)
        self._characters[client] -= size
        self._documents -= 1
        self._total -= size


def _goes_with(item: Item, first: Item, room: int) -> bool:
    return len(item.doc.text) <= room and item.job.allow == first.job.allow
