"""``linnet push`` and ``linnet pull``: trained folders and knowledge bases to and from the Hugging Face Hub."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, listen
from linnet.cli.terminal import say
from linnet.errors import LinnetError

__all__ = ["pull", "push"]

logger = logging.getLogger(__name__)

Name = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="Repository at the Hub; @REVISION is a branch of it.")]


def push(
    source: Annotated[
        str, typer.Argument(help="Trained folder, knowledge base (name or file), or bundle: an archive of both.")
    ],
    name: Name,
    public: Annotated[bool, typer.Option("--public", help="Let everybody read it; otherwise private.")] = False,
    licence: Annotated[str, typer.Option("--license", help="Its licence, as the Hub calls it: apache-2.0, …")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Push despite a licence or path that speaks against it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be pushed; send nothing.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Push a trained folder or a knowledge base to the Hugging Face Hub, with a model card."""
    from linnet.fit.hub_push import gather  # noqa: PLC0415 - brings all of training along
    from linnet.fit.hub_push import push as send  # noqa: PLC0415 - as above
    from linnet.recipes.hub import Repository  # noqa: PLC0415 - as above

    listen(quiet=quiet, verbose=verbose)
    repository, parcel = Repository.of(name), gather(source)
    for note in parcel.notes:
        logger.info("%s", note)
    if dry_run:
        for file, path in parcel.files.items():
            say(f"{file}  {path.stat().st_size:,} bytes")
        card = parcel.card(repository.id, licence=licence)
        say("\n  ".join(["README.md, the model card:", *card.split("\n")]))
    for concern in parcel.concerns if yes or dry_run else ():
        logger.warning("warning: %s", concern)
    if parcel.concerns and not (yes or dry_run):
        raise LinnetError(f"{source} was not pushed: {'; '.join(parcel.concerns)}. If you may pass it on, add --yes")
    if not dry_run:
        say(send(parcel, repository, public=public, licence=licence))


def pull(
    name: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="OWNER/NAME at the Hub (@REVISION: branch, tag, commit), or a bundle."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="New folder, or new file of a knowledge base.")
    ] = None,
    sha256: Annotated[str, typer.Option("--sha256", metavar="HEX", help="SHA-256 that a bundle must have.")] = "",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Pull a trained folder, knowledge base or bundle that was pushed to the Hugging Face Hub; or install a bundle."""
    from linnet.recipes.bundle import SUFFIXES  # noqa: PLC0415 - brings knowledge bases along
    from linnet.recipes.hub import Repository  # noqa: PLC0415 - as above
    from linnet.recipes.hub import pull as fetch  # noqa: PLC0415 - as above

    listen(quiet=quiet, verbose=verbose)
    if Path(name).is_file() or name.endswith(SUFFIXES):
        _install(Path(name), output, sha256)
        return
    if sha256:
        raise LinnetError("--sha256 is of a bundle, a file; for the Hub, name a commit: OWNER/NAME@COMMIT")
    found = fetch(Repository.of(name), output=output)
    say(f"{found.path} (commit {found.commit})")
    if found.manifest.kind == "kb":
        logger.info("a knowledge base: --kb %s", found.path if output else found.path.stem)
        return
    logger.info("a pipeline: --pipeline %s", found.path if output else f"hf:{name.removeprefix('hf:')}")
    if found.manifest.kind == "pipeline":
        _tell_kb(found.manifest.kb, found.manifest.kb_version)


def _tell_kb(kb: str, version: str) -> None:
    """Say which knowledge base a pipeline needs, and what it is called here."""
    from linnet.recipes.knowledge_bases import kb_of_version  # noqa: PLC0415 - see above

    there = kb_of_version(version)
    state = f"which is {there.path.stem} here" if there is not None else "which is not here: pull or build it"
    logger.info("it needs the knowledge base %s, version %s, %s", kb, version, state)


def _install(archive: Path, output: Path | None, sha256: str) -> None:
    from linnet.recipes.bundle import install  # noqa: PLC0415 - see above

    done = install(archive, output=output, sha256=sha256)
    say(str(done.path))
    logger.info("a pipeline: --pipeline %s", done.path if output else done.name)
    for name, path in done.kbs.items():
        logger.info("its knowledge base %s is %s", name, path)
    for name, version in done.missing.items():
        _tell_kb(name, version)
