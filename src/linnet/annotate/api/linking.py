"""Linking of texts that belong to no project: the routes of the linking server, with the pipelines of ``--link``."""

from __future__ import annotations

from linnet.annotate.api.guard import make_router
from linnet.serve.routes import add_routes

__all__ = ["router"]

router = add_routes(make_router())
