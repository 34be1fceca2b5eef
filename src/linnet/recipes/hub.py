"""Trained folders and knowledge bases at the Hugging Face Hub: their names, what they hold, and how they come here.

A repository of Linnet's has a list of its files with their SHA-256, ``linnet.json``; only these are taken, and each is
compared. A trained folder is kept under ``LINNET_HOME/hub`` by its commit, so that ``hf:OWNER/NAME`` is fetched once
and loaded without a network from then on; `pull` asks again. ``HF_ENDPOINT`` names another Hub, ``HF_TOKEN`` who asks.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from linnet.errors import FormatError, KnowledgeBaseError, LinnetError, MissingExtraError
from linnet.home import home, kb_named, put, read_json, scratch, writable
from linnet.kb import KnowledgeBase
from linnet.recipes.listed import MANIFEST, is_inside
from linnet.text.files import replacing, replacing_folder

__all__ = ["Kind", "Manifest", "Pulled", "Repository", "client", "explained", "folder_of", "pull"]

logger = logging.getLogger(__name__)

MAIN = "main"
NAME = re.compile(r"(?:hf:)?(\w[\w.-]*/\w[\w.-]*)(?:@(\w[\w./-]*))?", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40,64}")  # nothing else becomes the name of a folder
COPY = "What was pulled elsewhere can be copied: LINNET_HOME, or the folder"
REFS = "refs.json"  # of a repository under LINNET_HOME/hub: the commit that each revision was when it was asked for
Kind: TypeAlias = Literal["pipeline", "kb", "bundle"]
TYPES: Mapping[Kind, str] = {"pipeline": "model", "kb": "dataset", "bundle": "model"}  # what the Hub calls them


class Repository(NamedTuple):
    """A repository at the Hub, and a branch, tag or commit of it.

    >>> Repository.of("hf:ward7/letters@v2")
    Repository(id='ward7/letters', revision='v2')
    """

    id: str
    revision: str = MAIN

    @classmethod
    def of(cls, name: str) -> Repository:
        """Return the repository that is called OWNER/NAME, with ``hf:`` or without, and ``@REVISION`` if need be.

        Raises:
            LinnetError: no such name.
        """
        found = NAME.fullmatch(name)
        if found is None or ".." in name:
            raise LinnetError(f"{name!r} is no name at the Hub: expected OWNER/NAME, or OWNER/NAME@REVISION")
        return cls(found[1], found[2] or MAIN)

    @property
    def folder(self) -> Path:
        """Where its commits are kept."""
        owner, _, name = self.id.partition("/")
        return home() / "hub" / owner / name

    @property
    def kept(self) -> Path | None:
        """The folder of the revision, if it was pulled."""
        commit = str(self._refs.get(self.revision, self.revision))
        folder = self.folder / commit
        return folder if COMMIT.fullmatch(commit) and folder.is_dir() else None

    @property
    def _refs(self) -> dict[str, Any]:
        with suppress(FormatError):
            return read_json(self.folder / REFS)
        return {}

    def remember(self, commit: str) -> None:
        """Note which commit the revision is."""
        refs = {**self._refs, self.revision: commit}
        with replacing(writable(self.folder) / REFS) as file:
            json.dump(refs, file, indent=1)


class Manifest(NamedTuple):
    """What a repository holds: a trained folder, a knowledge base or a bundle, as files by name with their SHA-256."""

    kind: Kind
    files: Mapping[str, str]
    kb: str = ""
    kb_version: str = ""

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Return what a file says, as `Manifest._asdict` gave it.

        Raises:
            FormatError: it says something else, or names files that are not inside the repository.
        """
        value = read_json(path)
        kind = next((known for known in TYPES if known == value.get("kind")), None)
        files = value.get("files")
        if kind is None or not isinstance(files, dict) or not all(map(is_inside, files)):
            raise FormatError(path.name, "is no list of Linnet's: pull a repository that linnet push made")
        if kind != "pipeline" and len(files) != 1:
            raise FormatError(path.name, f"lists several files of a {kind}, which is one")
        files = {name: str(digest) for name, digest in files.items()}
        return cls(kind, files, str(value.get("kb", "")), str(value.get("kb_version", "")))


class Pulled(NamedTuple):
    """What was pulled: its list, where it is now, and of which commit."""

    manifest: Manifest
    path: Path
    commit: str


def folder_of(name: str) -> Path:
    """Return the folder of the pipeline that is called `name` at the Hub; pulled, with a line in the log, if need be.

    Raises:
        LinnetError: it is not here and cannot be pulled, or is no trained folder.
    """
    repository = Repository.of(name)
    if (kept := repository.kept) is not None:
        return kept
    logger.info("%s is not here yet: pulling it from the Hugging Face Hub", name)
    found = pull(repository)
    if found.manifest.kind == "kb":
        raise LinnetError(f"{name} is a knowledge base, not a pipeline; it is {found.path} now: use it with --kb")
    return found.path


def pull(repository: Repository, *, output: Path | None = None) -> Pulled:
    """Fetch a trained folder or a knowledge base from the Hub.

    Args:
        repository: its name and revision.
        output: a new folder, or a new file of a knowledge base; None keeps it under LINNET_HOME.

    Raises:
        MissingExtraError: the extra ``hub`` is not installed.
        LinnetError: no network, no such repository or revision, no permission, a file that is not what the list says.
    """
    hub = client()
    kind, info = _find(hub, repository)
    commit = str(info.sha)
    if not COMMIT.fullmatch(commit):
        raise LinnetError(f"{repository.id}: the Hub answers {commit[:100]!r} for the commit: is it one?")
    beside = writable(home() / "hub" if output is None else output.absolute().parent)  # on a disk with room for it
    with scratch(beside, ".pull-") as folder:
        fetch = _Fetch(hub, repository.id, TYPES[kind], commit, folder)
        if MANIFEST not in {one.rfilename for one in info.siblings or ()}:
            raise LinnetError(f"{repository.id} at the Hub has no {MANIFEST}: it was not made by linnet push")
        manifest = Manifest.read(fetch(MANIFEST))
        if TYPES[manifest.kind] != TYPES[kind]:
            raise LinnetError(f"{repository.id} at the Hub says that it is a {manifest.kind}, but is a {TYPES[kind]}")
        return Pulled(manifest, TAKEN[manifest.kind](repository, manifest, fetch, output), commit)


def _find(hub: Any, repository: Repository) -> tuple[Kind, Any]:
    """Return what kind a repository is, and what the Hub says of it: pipelines are models, knowledge bases datasets."""
    from huggingface_hub.errors import RepositoryNotFoundError  # noqa: PLC0415 - of the extra

    with explained(repository.id):
        with suppress(RepositoryNotFoundError):
            return "pipeline", hub.model_info(repository.id, revision=repository.revision)
        return "kb", hub.dataset_info(repository.id, revision=repository.revision)


class _Fetch(NamedTuple):
    """Fetches files of one commit into a folder."""

    hub: Any
    id: str
    type: str
    commit: str
    folder: Path

    def __call__(self, name: str, sha256: str = "") -> Path:
        options = {"repo_type": self.type, "revision": self.commit, "local_dir": self.folder}
        with explained(self.id):
            path = Path(self.hub.hf_hub_download(self.id, name, **options))
        if sha256:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != sha256:
                problem = f"its SHA-256 is {digest}, {MANIFEST} says {sha256}: damaged, or changed at the Hub"
                raise LinnetError(f"{self.id}: {name}: {problem}; pull again, or ask who pushed it")
        return path


def _take_pipeline(repository: Repository, manifest: Manifest, fetch: _Fetch, output: Path | None) -> Path:
    target = output or repository.folder / fetch.commit
    if output is not None or not target.is_dir():
        writable(target.parent)
        with replacing_folder(target) as part:
            for name, digest in manifest.files.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(fetch(name, digest), part / name)
    if output is None:
        repository.remember(fetch.commit)
    return target


def _take_kb(_repository: Repository, manifest: Manifest, fetch: _Fetch, output: Path | None) -> Path:
    [(name, digest)] = manifest.files.items()
    target = output or kb_named(Path(name).stem)
    if target.exists():
        there = KnowledgeBase.open(target)
        if there.version == manifest.kb_version:
            return target
        way = f"{target} is there already, with version {there.version}, and is not replaced; give -o another name"
        raise KnowledgeBaseError(f"{name} has version {manifest.kb_version}: {way}")
    found = KnowledgeBase.open(fetch(name, digest))
    if found.version != manifest.kb_version:
        raise KnowledgeBaseError(f"{name} has version {found.version}, {MANIFEST} says {manifest.kb_version}")
    found.close()
    writable(target.parent)
    put(found.path, target)
    return target


def _take_bundle(repository: Repository, manifest: Manifest, fetch: _Fetch, output: Path | None) -> Path:
    from linnet.recipes.bundle import install  # noqa: PLC0415 - few repositories hold one

    [(name, digest)] = manifest.files.items()
    done = install(fetch(name, digest), output=output or repository.folder / fetch.commit)
    if output is None:
        repository.remember(fetch.commit)
    return done.path


TAKEN: Mapping[Kind, Callable[[Repository, Manifest, _Fetch, Path | None], Path]] = {
    "pipeline": _take_pipeline,
    "kb": _take_kb,
    "bundle": _take_bundle,
}


# --- the client ------------------------------------------------------------------------------------------------------


def client() -> Any:
    """Return ``huggingface_hub.HfApi`` for the Hub that the environment names, without telemetry.

    Raises:
        MissingExtraError: the extra ``hub`` is not installed.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when it is imported
    try:
        from huggingface_hub import HfApi  # noqa: PLC0415 - an extra, and half a second
        from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingExtraError("huggingface_hub", extra="hub", wanted_by="the Hugging Face Hub") from error
    disable_progress_bars()
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)


@contextmanager
def explained(id: str, *, way: str = COPY) -> Iterator[None]:
    """Turn what goes wrong at the Hub into an error with a remedy.

    Args:
        id: the repository.
        way: what to do where there is no network.

    Raises:
        LinnetError: in the place of whatever `huggingface_hub` raises.
    """
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError  # noqa: PLC0415 - of the extra

    try:
        yield
    except (HfHubHTTPError, LocalTokenNotFoundError) as error:
        raise LinnetError(_refused(id, error)) from error
    except Exception as error:  # of many kinds, some of them of the HTTP library below
        raise LinnetError(f"{id}: the Hub cannot be reached ({_line(error)}); is there a network? {way}") from error


def _refused(id: str, error: Exception) -> str:
    from huggingface_hub import errors  # noqa: PLC0415 - of the extra

    if isinstance(error, errors.RevisionNotFoundError):
        return f"{id}: the Hub knows the repository, but no such revision"
    unseen = isinstance(error, (errors.RepositoryNotFoundError, errors.LocalTokenNotFoundError))
    if unseen or (isinstance(error, errors.HfHubHTTPError) and error.response.status_code in (401, 403)):
        way = "if it is private, log in with `hf auth login` or set HF_TOKEN"
        return f"{id}: the Hub knows no such repository, or does not show or open it to you; {way}"
    return f"{id}: the Hub refused ({_line(error)})"


def _line(error: BaseException) -> str:
    """Return what an error says in one line, with what it came from."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    cause = f": {_line(error.__cause__)}" if error.__cause__ is not None and str(error.__cause__) not in said else ""
    return f"{said}{cause}"[:300]
