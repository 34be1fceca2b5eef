"""Trained folders and knowledge bases to the Hugging Face Hub: what is pushed, what speaks against it, and the push.

Nothing is pushed but the files of a saved pipeline, each one that its checksums list, or the file of a knowledge base.
Repositories are private unless the caller says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linnet import __version__
from linnet.checksums import LIST, check_files, is_sealed
from linnet.errors import FormatError, KnowledgeBaseError, LinnetError
from linnet.fit.hub_card import bundle_card, kb_card, pipeline_card
from linnet.home import TRAINED, kb_path, read_json
from linnet.kb import KnowledgeBase
from linnet.recipes.bundle import SUFFIXES, read_contents
from linnet.recipes.config import SEEN
from linnet.recipes.hub import TYPES, Kind, Manifest, Repository, client, explained
from linnet.recipes.knowledge_bases import kb_of_version
from linnet.recipes.listed import MANIFEST, PICKLED
from linnet.reporter import warn
from linnet.text.files import read_text

__all__ = ["LICENSED", "Parcel", "gather", "push"]

TOP = re.compile(r"pipeline\.toml|card\.md|seen\.json|curve\.csv|curve-[\w-]+\.svg")
COMPONENT = re.compile(r"\d+-[\w-]+")
OWN = ("config.json", LIST)  # files of a component that its checksums do not list
LICENSED = {  # vocabularies that must not be passed on to people without a licence, and how their ids begin
    "umls": ("UMLS:", "the UMLS, whose licence forbids passing it on to people without one"),
    "snomed": ("SNOMEDCT:", "SNOMED CT, which only holders of a licence may have"),
}
SAMPLE = 1000  # concepts whose ids are looked at
README = "README.md"
LATER = "Nothing is lost here: push it again later"


@dataclass
class Parcel:
    """What is to be pushed.

    Args:
        kind: of what.
        path: the trained folder, or the file of the knowledge base.
        files: what is pushed of it, by name.
        kb: the knowledge base, of a trained folder if it is here.
        kb_name: what the folder calls it.
        kb_version: its version.
        concerns: what speaks against passing it on, as sentences.
        notes: what one should know.
    """

    kind: Kind
    path: Path
    files: Mapping[str, Path]
    kb: KnowledgeBase | None
    kb_name: str
    kb_version: str
    concerns: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def card(self, id: str, *, licence: str = "") -> str:
        """Return the README of the repository `id`."""
        if self.kind == "kb" and self.kb is not None:
            return kb_card(self.kb, id=id, licence=licence)
        if self.kind == "bundle":
            return bundle_card(self.path, id=id, licence=licence)
        return pipeline_card(self.path, self.files, id=id, licence=licence)


def gather(source: str | Path) -> Parcel:
    """Return what is to be pushed of a trained folder or a knowledge base, given by name or file, or of a bundle.

    Raises:
        FormatError: a folder that is no trained one, is damaged, or holds what is not of it.
        KnowledgeBaseError: there is no such knowledge base.
    """
    folder = Path(source)
    if folder.is_dir():
        return _gather_pipeline(folder)
    if folder.is_file() and folder.name.endswith(SUFFIXES):
        contents = read_contents(folder)
        notes = [f"it needs the knowledge base {kb}, version {version}" for kb, version in contents.kbs.items()]
        return Parcel("bundle", folder, {folder.name: folder}, None, "", "", list(contents.concerns), notes)
    path = kb_path(source)
    if not path.is_file():
        raise KnowledgeBaseError(f"{source}: neither a trained folder nor a knowledge base; see linnet kb list")
    kb = KnowledgeBase.open(path)
    name = f"{path.stem}.kb"
    concerns, notes = _terms(kb)
    return Parcel("kb", path, {name: kb.file}, kb, path.stem, kb.version, concerns, notes)


def _gather_pipeline(folder: Path) -> Parcel:
    if missing := [name for name in TRAINED if not (folder / name).is_file()]:
        raise FormatError(folder, f"is no trained folder: it has no {missing[0]}")
    files = dict(_files(folder))
    try:
        recipe = tomllib.loads(read_text(folder / "pipeline.toml"))
    except ValueError as error:
        raise FormatError(folder / "pipeline.toml", f"not TOML: {error}") from error
    name, version = str(recipe.get("kb", "")), str(recipe.get("kb_version", ""))
    kb = _kb_of(name, version)
    concerns, notes = _terms(kb) if kb is not None else ([], [])
    concerns = [f"its parts hold names of {concern}" for concern in concerns]
    if kb is None:
        concerns.append(f"its knowledge base {name} (version {version}) is not here, so its licence is not known")
    if Path(name).is_absolute():
        concerns.append(
            f"pipeline.toml names a path of this machine: {name}; train with a knowledge base that has a name"
        )
    if SEEN in files:
        seen = len(read_json(files[SEEN]))
        notes.append(
            f"it has learned from {seen:,} texts, and may hold words of them: are you allowed to pass these on?"
        )
    return Parcel("pipeline", folder, files, kb, name, version, concerns, notes)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a trained folder by name; anything else in it is refused."""
    listed = set(_listed(folder))
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise FormatError(path, "is a link, which is not pushed: put the file in its place")
        if path.is_dir():
            continue
        known = TOP.fullmatch(name) if "/" not in name else path in listed or path.name in OWN or _is_sealed(path)
        if not known or not ("/" not in name or COMPONENT.fullmatch(name.split("/")[0])):
            raise FormatError(path, "is not of the trained pipeline, and would be pushed with it: move it away")
        if path.suffix in PICKLED:
            raise FormatError(path, "is a pickle, which can run code where it is read: not pushed")
        yield name, path


def _listed(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob(LIST)):
        check_files(path.parent)
        yield from (path.parent / name for name in read_json(path))


def _is_sealed(path: Path) -> bool:
    with path.open("rb") as file:
        return is_sealed(file)


def _kb_of(name: str, version: str) -> KnowledgeBase | None:
    """Return the knowledge base that a folder was made with, if it is here."""
    path = kb_path(name) if name else Path()
    if path.is_file():
        kb = KnowledgeBase.open(path)
        if kb.comes_from(version):
            return kb
    return kb_of_version(version)


def _terms(kb: KnowledgeBase) -> tuple[list[str], list[str]]:
    """Return what speaks against passing on a knowledge base, and what is to be known of its sources."""
    used = {str(source.get("vocabulary", "")) for source in kb.sources}
    step = max(1, len(kb) // SAMPLE)
    ids = [kb.id(row) for row in range(0, len(kb), step)]
    concerns = [
        why for name, (prefix, why) in LICENSED.items() if name in used or any(id.startswith(prefix) for id in ids)
    ]
    notes = []
    for source in kb.sources:
        what = f"{source.get('vocabulary', 'source')} {source.get('release', '')}".strip()
        notes.append(f"{what}: {source.get('licence') or 'no licence is recorded; look it up before you pass it on'}")
    return concerns, notes


def push(parcel: Parcel, repository: Repository, *, public: bool = False, licence: str = "") -> str:
    """Push what was gathered as one commit; return the address of the commit.

    Args:
        parcel: what.
        repository: where to; it is made if there is none.
        public: whoever likes may read it.
        licence: as the Hub calls it.

    Raises:
        MissingExtraError: the extra ``hub`` is not installed.
        LinnetError: no network, no permission, or a public repository where a private one is wanted.
    """
    hub = client()
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete  # noqa: PLC0415 - of the extra

    kind = TYPES[parcel.kind]
    digests = {name: _digest(path) for name, path in parcel.files.items()}
    manifest = Manifest(parcel.kind, digests, parcel.kb_name, parcel.kb_version)
    told = json.dumps({"linnet": __version__, **manifest._asdict()}, indent=1).encode()
    written = {MANIFEST: told, README: parcel.card(repository.id, licence=licence).encode()}
    with explained(repository.id, way=LATER):
        hub.create_repo(repository.id, private=not public, repo_type=kind, exist_ok=True)
        info = hub.repo_info(repository.id, repo_type=kind)
    if not (info.private or public):
        raise LinnetError(f"{repository.id} is public at the Hub: give another name, or --public")
    if info.private and public:
        warn(f"{repository.id} was private at the Hub, and stays so: make it public in its settings there")
    there = {one.rfilename for one in info.siblings or ()} - {".gitattributes", *digests, *written}
    operations: list[Any] = [CommitOperationDelete(name) for name in sorted(there)]
    operations += [CommitOperationAdd(name, data) for name, data in written.items()]
    operations += [CommitOperationAdd(name, str(path)) for name, path in parcel.files.items()]
    message = f"{parcel.path.name} by Linnet {__version__}"
    with explained(repository.id, way=LATER):
        done = hub.create_commit(
            repository.id, operations, commit_message=message, repo_type=kind, revision=repository.revision
        )
    return str(done.commit_url)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
