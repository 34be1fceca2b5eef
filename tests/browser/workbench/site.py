"""A workbench that runs as a process, seen from its programs: people, projects and documents are made over HTTP."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.annotate.served import ask

PASSWORD = "correct horse battery"
KB = "small"  # the knowledge base under LINNET_HOME: that of the fixture `kb`
NOTES = (
    ("note-1", "Seizures since birth. Short stature, short fingers and short toes.\nNo fits in the last year."),
    ("note-2", "Cleft palate was repaired. Atrial septal defect; epileptic seizures are rare."),
    ("note-3", "A common cold, otherwise well. Small stature, as her mother."),
)


@dataclass(eq=False)
class Person:
    """Somebody with a password, who is signed in as a program, too."""

    site: Site
    user: int
    name: str
    keys: dict[str, str] = field(repr=False)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request; what is refused fails the test."""
        answer = ask(self.site.port, method, path, body, **self.keys, **headers)
        refused = isinstance(answer, dict) and str(answer.get("type", "")).startswith("/problems/")
        assert not refused, f"{method} {path}: {answer}"
        return answer

    def project(self, *notes: tuple[str, str], kb: str = KB, **more: Any) -> int:
        """Make a project with documents and return its number."""
        name = f"Project {next(self.site.numbers)}"
        project = int(self.ask("POST", "/projects", {"name": name, "kb": kb, **more})["project"])
        for id, text in notes:
            self.ask("POST", f"/projects/{project}/pastes", {"name": id, "text": text})
        return project

    def draw(self, project: int, n: int = 10) -> list[int]:
        """Draw documents to read, and return the assignments; chance decides which come without suggestions."""
        drawn = self.ask("POST", f"/projects/{project}/samples", {"n": n, "seed": 3})
        return [int(id) for id in drawn["assignments"]]

    def invite(self, project: int, role: str = "annotator", name: str = "") -> Person:
        """Return somebody new with a role in a project."""
        made = self.site.person(name or role)
        self.ask("PUT", f"/projects/{project}/members/{made.user}", {"role": role})
        return made

    def give(self, project: int, documents: Sequence[int], *people: Person) -> list[int]:
        """Give documents to people, and return the assignments."""
        given = {"documents": list(documents), "users": [one.user for one in people]}
        return [int(id) for id in self.ask("POST", f"/projects/{project}/assignments", given)["assignments"]]

    def take(self, project: int) -> list[int]:
        """Take all documents, with their suggestions, and return the assignments."""
        documents = self.ask("GET", f"/projects/{project}/documents")["documents"]
        return self.give(project, [one["document"] for one in documents], self)


@dataclass(eq=False)
class Site:
    """The server: where it listens, and the link that it printed at its first start."""

    port: int
    link: str
    numbers: itertools.count[int] = field(default_factory=itertools.count, repr=False)
    root: Person = field(init=False, repr=False)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def begin(self) -> None:
        """Use the link up: from then on there is an administrator."""
        self.root = self.admit(self.link)

    def admit(self, link: str) -> Person:
        """Return who sets a password by a link."""
        me = ask(self.port, "POST", "/session/password", {"link": link, "password": PASSWORD})
        return Person(self, me["user"], me["name"], {"Cookie": me["cookie"], "X-CSRF-Token": me["csrf"]})

    def invitation(self, name: str = "somebody", *, admin: bool = False) -> tuple[str, str]:
        """Return the name of a new user, and the secret of the link that sets a password."""
        name = f"{name} {next(self.numbers)}"
        return name, self.root.ask("POST", "/users", {"name": name, "admin": admin})["link"]

    def person(self, name: str = "somebody", *, admin: bool = False) -> Person:
        """Return a new user of the workbench, who has a password."""
        return self.admit(self.invitation(name, admin=admin)[1])
