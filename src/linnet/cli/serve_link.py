"""``linnet serve --link``: its options, and the linking server alone."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnet.cli.common import Group
from linnet.cli.terminal import say
from linnet.errors import LinnetError
from linnet.serve.loopback import is_loopback

if TYPE_CHECKING:
    from linnet.pipeline import Pipeline
    from linnet.serve.settings import Settings

__all__ = ["Asked", "Everybody", "Kbs", "KeysFile", "LongestText", "ServeGroup", "Sources", "Timeout", "Workers"]

LINK = "--link"

Sources = Annotated[
    list[str] | None,
    typer.Option(
        LINK,
        metavar="[PIPELINE ...]",
        help="Link texts over HTTP with these pipelines: recipes (names or files) or trained folders; default: as "
        "linnet link. Without --data there is no workbench.",
    ),
]
Kbs = Annotated[
    list[str] | None,
    typer.Option("--kb", help="With --link: knowledge base, a name (hpo) or a file; repeatable: mentions of each."),
]
KeysFile = Annotated[
    Path | None,
    typer.Option(
        "--api-keys",
        help="With --link: file of keys, one a line, that clients must send; also from LINNET_API_KEYS.",
    ),
]
Everybody = Annotated[
    bool, typer.Option("--without-keys", help="With --link: answer other machines, though they send no key.")
]
Workers = Annotated[int, typer.Option(min=1, help="With --link: processes that answer, each with all pipelines.")]
LongestText = Annotated[int, typer.Option("--max-text", min=1, help="With --link: characters of one text, at most.")]
Timeout = Annotated[
    float, typer.Option(min=0.1, help="With --link: seconds that a document may take, waiting included.")
]


class ServeGroup(Group):
    """Lets ``--link`` take several values, or none: the default recipe."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options."""
        return super().parse_args(ctx, spread(args))


def spread(args: Iterable[str]) -> list[str]:
    """Return arguments in which each value of ``--link`` has its own ``--link``.

    >>> spread(["--link", "hpo", "mine", "--kb", "hpo"])
    ['--link', 'hpo', '--link', 'mine', '--kb', 'hpo']
    >>> spread(["--link", "--port", "0"])
    ['--link', '', '--port', '0']
    """
    made, given = list[str](), list(args)
    while given:
        word = given.pop(0)
        made.append(word)
        if word == LINK:
            values = []
            while given and not given[0].startswith("-"):
                values.append(given.pop(0))
            made += [part for value in values for part in (LINK, value)][1:] if values else [""]
    return made


@dataclass(frozen=True)
class Asked:
    """The options of linking."""

    sources: tuple[str, ...]
    kbs: tuple[str, ...]
    keys: Path | None
    everybody: bool
    workers: int
    text: int
    timeout: float

    @classmethod
    def of(
        cls,
        sources: Sequence[str] | None,
        kbs: Sequence[str] | None,
        keys: Path | None,
        everybody: bool,
        workers: int,
        text: int,
        timeout: float,
    ) -> Asked | None:
        """Return them, None without ``--link``.

        Raises:
            LinnetError: an option that ``--link`` alone has.
        """
        if not sources:
            lonely = {"--kb": kbs, "--api-keys": keys, "--without-keys": everybody, "--workers": workers > 1}
            if wrong := next((name for name, value in lonely.items() if value), None):
                raise LinnetError(f"{wrong} goes with --link: linnet serve --link [PIPELINE ...] {wrong} ...")
            return None
        return cls(tuple(sources), tuple(kbs or ()), keys, everybody, workers, text, timeout)

    def settings(self) -> Settings:
        """Return the limits of the server."""
        from linnet.serve.settings import Settings  # noqa: PLC0415 - all other commands do without

        usual = Settings()
        longest = max(usual.request, self.text)
        return Settings(text=self.text, request=longest, waiting=max(usual.waiting, 4 * longest), seconds=self.timeout)

    def pipelines(self) -> dict[str, Pipeline]:
        """Load the pipelines for a workbench, which has tokens, and one process.

        Raises:
            LinnetError: an option that a workbench does not have, or as `linnet.serve.linking.load_pipelines`.
        """
        if self.keys is not None or self.everybody:
            raise LinnetError(
                "--api-keys and --without-keys are of the linking server; with --data, people have tokens"
            )
        if self.workers > 1:
            raise LinnetError("--workers is of the linking server alone: leave out --data")
        from linnet.serve.linking import load_pipelines  # noqa: PLC0415 - as above

        return load_pipelines(self.sources, self.kbs)


def serve_link(asked: Asked, host: str, port: int, *, quiet: bool, verbose: bool) -> None:
    """Serve linking alone, until a signal comes."""
    for module in ("linnet.serve.app", "linnet.serve.metrics", "linnet.serve.server"):
        importlib.import_module(module)  # say which part of the extra is missing
    from linnet.serve.keys import ENVIRONMENT, read_keys  # noqa: PLC0415 - all other commands do without the extra
    from linnet.serve.run import Plan, run  # noqa: PLC0415 - as above
    from linnet.serve.server import bind  # noqa: PLC0415 - as above

    keys = read_keys(asked.keys)
    level = logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO
    plan = Plan(asked.sources, asked.kbs, keys, asked.everybody, asked.settings(), level)
    with bind(host, port) as sockets:
        if not keys and not asked.everybody and not all(is_loopback(str(one.getsockname()[0])) for one in sockets):
            raise LinnetError(
                f"without keys, the server listens at this machine alone: give --api-keys FILE or {ENVIRONMENT}, or "
                f"say --without-keys, or leave out --host {host}"
            )
        if not run(plan, sockets, lambda port: _greet(host, port), workers=asked.workers, chatty=verbose):
            raise typer.Exit(1)


def shown_address(host: str, port: int) -> str:
    """Return where a server is, as one opens it.

    >>> shown_address("::1", 80), shown_address("0.0.0.0", 8421)
    ('http://[::1]:80', 'http://localhost:8421')
    """
    name = f"[{host}]" if ":" in host else "localhost" if host in ("127.0.0.1", "0.0.0.0") else host  # noqa: S104
    return f"http://{name}:{port}"


def _greet(host: str, port: int) -> None:
    say(f"Linnet links at {shown_address(host, port)}")
