"""What the server counts, as Prometheus reads it; in several processes the figures of all of them together."""

from __future__ import annotations

import os
from typing import Any

from linnet.errors import MissingExtraError

try:
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
except ModuleNotFoundError as error:
    raise MissingExtraError("prometheus_client", extra="serve", wanted_by="linking over HTTP") from error

__all__ = ["CONTENT_TYPE", "FOLDER", "Metrics", "forget"]

CONTENT_TYPE = CONTENT_TYPE_LATEST
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where several processes share what they count
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
DOCUMENTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters of one application.

    >>> metrics = Metrics()
    >>> metrics.requests.labels("/link", "200").inc()
    >>> b'linnet_requests_total{route="/link",status="200"} 1.0' in metrics.text()
    True
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        shared: dict[str, Any] = {"registry": self._registry}
        self.requests = Counter("linnet_requests", "Requests that were answered.", ("route", "status"), **shared)
        self.seconds = Histogram(
            "linnet_request_seconds", "Seconds until an answer began.", ("route",), buckets=SECONDS, **shared
        )
        self.documents = Counter("linnet_documents", "Documents that were linked.", ("pipeline",), **shared)
        self.characters = Counter("linnet_characters", "Characters that were linked.", ("pipeline",), **shared)
        self.failures = Counter("linnet_failures", "Documents that could not be linked.", ("pipeline",), **shared)
        self.batches = Histogram(
            "linnet_batch_documents", "Documents linked together.", ("pipeline",), buckets=DOCUMENTS, **shared
        )
        self.linking = Counter(
            "linnet_linking_seconds", "Seconds that pipelines were at work.", ("pipeline",), **shared
        )
        self.waiting = Gauge(
            "linnet_queue_documents", "Documents that wait.", ("pipeline",), multiprocess_mode="livesum", **shared
        )

    def text(self) -> bytes:
        """Return all of them in the text format of Prometheus."""
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415 - checks the folder

        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def forget(process: int | None) -> None:
    """Leave out what a process that died says of now, such as what waits; what it has counted stays."""
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - as above

    mark_process_dead(process)  # type: ignore[no-untyped-call]
