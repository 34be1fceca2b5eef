"""Linking of texts in the workbench: the routes of the linking server, behind sign-in."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from starlette.testclient import TestClient

import linnet
from linnet.annotate.api.access import PREFIX
from linnet.annotate.api.app import make_app
from linnet.annotate.api.workbench import Settings
from linnet.kb import KnowledgeBase
from linnet.serve.linking import Linking
from tests.annotate.api import Person, Site


def test_who_has_signed_in_links(site: Site, kb: KnowledgeBase) -> None:
    linking = Linking({"small": linnet.load("dictionary", kb=kb)})
    app = make_app(site.store, Settings(site.folder, largest_body=100), linking)
    try:
        with TestClient(app, base_url="http://localhost") as client:
            me = {"Authorization": f"Bearer {site.person().token}"}
            asked = {"text": "Seizures." + " " * 200}  # the limits are those of linking
            assert client.post(f"{PREFIX}/link", json=asked).status_code == 401
            assert client.post(f"{PREFIX}/link", json=asked, headers=me).json()["names"] == {"HP:0001250": "Seizure"}
            assert client.get(f"{PREFIX}/concepts/HP:0001250", headers=me).json()["name"] == "Seizure"
            assert client.get(f"{PREFIX}/metrics", headers=me).status_code == 403
            assert client.get(f"{PREFIX}/health").json()["status"] == "ok"
    finally:
        linking.close()


def test_without_pipelines_there_is_nothing_to_link_with(root: Person) -> None:
    assert root.get("/pipelines")["pipelines"] == []
    assert "start it with --link" in root.post("/link", {"text": "Fits."}, 404)["detail"]
    assert "linnet_requests_total" in root.ask("GET", "/metrics").text
