"""What the writer of FHIR warns of: notes without patient or day, codes without a system, options that name nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from linnet.corpora.fhir_resources import NO_PREFIX, key_of, kind_of
from linnet.corpora.hospital import PATIENT, Faulty, stated, unread_day
from linnet.data import Document, Rows
from linnet.errors import did_you_mean
from linnet.reporter import warn

__all__ = ["OF_DOCUMENTS", "OF_PATIENTS", "Checks"]

OF_DOCUMENTS = "document"  # keys of ``systems`` beside prefixes
OF_PATIENTS = "patient"
SHOWN = 10  # prefixes or types that a warning shows


class Checks:
    """Counts what is wrong with the documents that are written.

    Args:
        rows: a knowledge base, whose types are known, too.
        systems: the option.
        resources: the option.
    """

    def __init__(self, rows: Rows | None, systems: Mapping[str, str], resources: Mapping[str, str]) -> None:
        self.count = self._unowned = 0
        self._undated = Faulty()
        self._systems, self._resources = systems, resources
        self._prefixes: dict[str, None] = {}
        self._types: dict[str, None] = {}
        self._bare: dict[str, None] = {}  # codes
        self._of_rows = getattr(rows, "types", dict)

    def see(self, doc: Document) -> None:
        """Take note of a document."""
        self.count += 1
        self._unowned += not stated(doc, PATIENT)
        self._undated.add(unread_day(doc))
        for mention in doc.mentions or ():
            self._types.update(dict.fromkeys(mention.types))
            for id in mention.concepts or ():
                key = key_of(id)
                self._prefixes[key] = None
                if key == NO_PREFIX and kind_of(id, mention, self._resources):  # others are left out
                    self._bare[id] = None

    def tell(self, left: int) -> None:
        """Warn.

        Args:
            left: mentions that no resource fits.
        """
        if self._unowned:
            warn(f"{self._unowned:,} notes have no patient_id in their meta: their subject is an unknown patient")
        if self._undated.count:
            said = f"{self._undated.count:,} notes have a date that cannot be read, such as {self._undated.example!r}"
            warn(f"{said}: they and their findings are written without one; give it as 2026-01-31")
        if left:
            why = "without a concept, hypothetical, or nothing of a patient's"
            warn(f"{left:,} mentions have no place in FHIR: {why}")
        if self._bare and NO_PREFIX not in self._systems:
            said = f"codes without a prefix, such as {next(iter(self._bare))!r}: {len(self._bare):,}"
            warn(f"{said}; they have no code system, by which others know codes: give systems={NO_PREFIX}=URI")
        if self._prefixes:
            self._tell_unmet()

    def _tell_unmet(self) -> None:
        """Warn of options that name a prefix or type that nothing has."""
        prefixes = self._prefixes
        for name in self._systems:
            if name not in prefixes and name not in (OF_DOCUMENTS, OF_PATIENTS):
                there = f"{_listed(prefixes)}{did_you_mean(name, prefixes)}"
                warn(f"systems: no code has the prefix {name!r}; there are {there}")
        unmet = [name for name in self._resources if name not in prefixes and name not in self._types]
        types = {**self._types, **self._of_rows()} if unmet else {}
        for name in unmet:
            if name not in types:
                there = f"the types {_listed(types) or '(none)'} and the prefixes {_listed(prefixes)}"
                hint = did_you_mean(name, [*types, *prefixes])
                warn(f"resources: no concept has the type or prefix {name!r}; there are {there}{hint}")


def _listed(names: Collection[str]) -> str:
    return ", ".join(list(names)[:SHOWN]) + (", …" if len(names) > SHOWN else "")
