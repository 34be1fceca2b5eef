"""``linnet doctor``: what of Linnet works here, and what is missing for the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from linnet.cli.common import table
from linnet.cli.terminal import say

__all__ = ["doctor"]


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    devices: Annotated[
        bool, typer.Option("--devices", help="Also ask PyTorch for its devices, which takes seconds.")
    ] = False,
) -> None:
    """Say what is installed, what each feature lacks, and whether anything is broken (exit code 1)."""
    from linnet.cli.diagnosis import diagnose  # noqa: PLC0415 - imports knowledge bases, which --help does without

    found = diagnose(devices=devices)
    if as_json:
        print(json.dumps(found, indent=1))  # all ASCII: nothing in it can move the cursor
    else:
        _show(found)
    if found["problems"]:
        raise typer.Exit(1)


def _show(found: Mapping[str, Any]) -> None:
    say(f"linnet {found['linnet']} in {found['installed_in']}")
    say(f"Python {found['python']}, {found['platform']}")
    for name, folder in found["folders"].items():
        say(f"{name}: " + ", ".join(filter(None, (folder["path"], folder["state"]))))
    say("devices: " + _devices(found["devices"]))
    say("encoders: " + (", ".join(one["name"] for one in found["encoders"]) or "none; the extra neural brings minilm"))
    if host := found["endpoint"]["host"]:
        leaves = "text leaves this machine" if found["endpoint"]["leaves_the_machine"] else "this machine"
        say(f"LINNET_ENDPOINT: {host} ({leaves}), used by the component endpoint alone")
    if found["plugins"]:
        say("components of other packages: " + ", ".join(f"{name} ({of})" for name, of in found["plugins"].items()))
    rows = [(name, extra["gives"], *_state(extra)) for name, extra in found["extras"].items()]
    table("extras", ("extra", "what it gives", "installed", "to install"), rows)
    _show_kbs(found["knowledge_bases"])
    for problem in found["problems"]:
        say(f"broken: {problem}")
    if not found["problems"]:
        say("nothing is broken")


def _state(extra: Mapping[str, Any]) -> tuple[str, str]:
    if extra["installed"]:
        return "yes", ""
    lacks = [name if what == "not installed" else f"{name} {what}" for name, what in extra["missing"].items()]
    return f"lacks {', '.join(lacks)}", extra["install"]


def _devices(devices: Mapping[str, Any]) -> str:
    told = [f"{devices['cpu_cores']} processor cores"]
    told += [f"{path} is there" for path in devices["accelerators"]]
    if devices["asked"]:
        told.append(f"PyTorch {devices['torch']} has {', '.join(devices['found'])} and takes {devices['chosen']}")
    else:
        told.append(f"PyTorch {devices['torch']}; --devices asks it" if devices["torch"] else "no PyTorch")
    return "; ".join(told)


def _show_kbs(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        say("knowledge bases: none; `linnet kb build --from hpo` makes one")
        return
    rows = []
    for kb in found:
        stale = [file["file"] for file in kb["side_files"] if not file["current"]]
        files = f"{len(kb['side_files'])}, " + (
            f"to be renewed at next use: {', '.join(stale)}" if stale else "current"
        )
        counts = (kb["version"], f"{kb['concepts']:,}", f"{kb['names']:,}") if not kb["problem"] else ("", "", "")
        rows.append((kb["name"], *counts, kb["problem"] or (files if kb["side_files"] else "none")))
    table("knowledge bases", ("name", "version", "concepts", "names", "side files"), rows, right=(2, 3))
