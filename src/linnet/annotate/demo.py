"""A workbench to try: one user who needs no password, and a project with the notes that come with Linnet.

Who that user is, the table of identities says, as of somebody who signs in at a provider: a name could be anybody's.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from linnet.annotate.documents import add_documents
from linnet.annotate.drawing import draw_documents
from linnet.annotate.jobs import enqueue
from linnet.annotate.journal import lock
from linnet.annotate.models import kb_called
from linnet.annotate.people import add_guideline, add_project, add_user
from linnet.annotate.sampling import DEFAULT
from linnet.annotate.store import Store
from linnet.annotate.tables import identity, now, project, round_, user
from linnet.corpora import read
from linnet.errors import DataError

__all__ = ["ISSUER", "KB", "NOTES", "PROJECT", "SETTINGS", "demo_user", "make_demo"]

ISSUER = "linnet:demo"  # no address, as that of every provider is
NAME = "you"
PROJECT = "Demo"
KB = "hpo"
NOTES = Path(__file__).parents[1] / "demo" / "notes"
SETTINGS = {"untrained": "hpo", "recipe": "own_letters"}  # the notes are letters, and few
GUIDELINES = (
    "Accept a suggestion if its words name the concept, also where the finding is denied, a relative's or uncertain: "
    "what the letter says of a finding is not shown here, and exports keep it as it was suggested.\n"
    "Reject what names nothing, or something else.\n"
    "Mark the longest words that name one finding.\n"
    "If no concept fits, link it to none (key 0) and say why.\n"
)
DRAWN = 10
SEED = 3  # none of the ten is one to be read without suggestions: nobody who begins would know why


def demo_user(db: sa.Connection) -> int | None:
    """Return the number of the user who needs no password, None in every other workbench."""
    theirs = sa.select(user.c.id).join(identity, identity.c.user == user.c.id)
    found: int | None = db.scalar(theirs.where(identity.c.issuer == ISSUER, user.c.hash.is_(None), ~user.c.disabled))
    return found


def make_demo(store: Store) -> None:
    """Fill a new workbench; one that is filled stays as it is. The knowledge base is built where there is none.

    Raises:
        DataError: it is a workbench of people with passwords.
    """
    kb_called(KB)
    with store.write() as db:
        lock(db)
        id = demo_user(db) or _begin(db)
        begun = db.scalar(sa.select(round_.c.id).limit(1)) is not None
        made = db.scalar(sa.select(project.c.id).order_by(project.c.id).limit(1))
    if not begun and made is not None:
        draw_documents(store, made, id, DRAWN, strategy=DEFAULT, seed=SEED)


def _begin(db: sa.Connection) -> int:
    """Add the user, the project and its documents, and ask for predictions; all of it or nothing."""
    if db.scalar(sa.select(user.c.id).limit(1)) is not None:
        raise DataError("this is a workbench of people with passwords: start it without --demo, or with another --data")
    id = add_user(db, NAME, admin=True)
    db.execute(identity.insert().values(issuer=ISSUER, subject=NAME, user=id, made=now(db)))
    made = add_project(db, PROJECT, id, kb=KB, settings=SETTINGS)
    add_guideline(db, made, id, GUIDELINES)
    add_documents(db, made, id, read(NOTES), format="text")
    enqueue(db, made, "predict", user=id)
    return id
