"""The linking server: one application of pipelines, keys and limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from linnet.errors import MissingExtraError

try:
    import fastapi
except ModuleNotFoundError as error:
    raise MissingExtraError("fastapi", extra="serve", wanted_by="the linking server") from error

from linnet.serve.keys import Gate, Keys
from linnet.serve.limits import HEADERS, PRIVATE, Limits
from linnet.serve.linking import Linking
from linnet.serve.problems import RESPONSES, handle_errors
from linnet.serve.routes import Direct, add_routes

__all__ = ["make_app"]

UNROUTED = {
    404: "nothing answers at this address: GET /openapi.json lists what does",
    405: "this address takes another method: GET /openapi.json says which",
}


def make_app(linking: Linking, keys: Keys | None = None, *, everybody: bool = False) -> fastapi.FastAPI:
    """Return the application; ``app.state.linking`` is what its requests share, and is closed when it ends.

    Args:
        linking: the pipelines, and the limits.
        keys: of clients.
        everybody: without keys, whether other machines are answered too.

    >>> import tempfile
    >>> from starlette.testclient import TestClient
    >>> from linnet import Concept, Name, load
    >>> from linnet.kb.build import build
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build([Concept("HP:0001250", (Name("Seizure"),))], f"{folder}/small.kb")
    ...     app = make_app(Linking({"small": load("dictionary", kb=kb)}))
    ...     with TestClient(app, base_url="http://localhost") as client:
    ...         answer = client.post("/link", json={"text": "Seizures."}).json()
    >>> answer["names"]
    {'HP:0001250': 'Seizure'}
    """

    @asynccontextmanager
    async def living(_app: fastapi.FastAPI) -> AsyncIterator[None]:
        yield
        linking.close()

    app = fastapi.FastAPI(
        title="Linnet",
        version=version("linnet"),
        summary="Texts to the concepts of a terminology",
        docs_url=None,  # their pages take scripts from elsewhere
        redoc_url=None,
        lifespan=living,
    )
    app.state.linking = linking
    app.include_router(add_routes(fastapi.APIRouter(responses=RESPONSES)))
    handle_errors(app, {**HEADERS, "Cache-Control": PRIVATE}, unrouted=UNROUTED)
    app.add_middleware(Direct)
    app.add_middleware(Gate, keys=keys or Keys({}), everybody=everybody)
    app.add_middleware(Limits, largest=lambda _method, _path: linking.settings.body)
    return app
