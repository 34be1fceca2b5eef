"""Feed every reader damaged files: ``python -m tools.fuzz [--mutations N] [--seed N] [NAME…]`` (``make fuzz``).

Seeds are what our own writers write, excerpts kept in `tools.fuzz.excerpts`, and beginnings of the real files under
LINNET_DATA where they are. Each mutation of a seed must give documents (or concepts, or files) or an error of
`linnet.errors`; within seconds, without a peak of memory, and without memory left behind. Documents must come through
the codec as they are. Then files are made larger: four times the content may take nine times as long.

A reader runs in a process of its own, every mutation follows from seed, number and the files it is made of. What is
neither is printed with its file, which is kept; exit status 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence

from tools.fuzz.run import HEAD, Result, fuzz
from tools.fuzz.seeds import Target, targets

MUTATIONS = 10_000
LARGER = 4  # pieces of each reader's files that make them larger, besides what is known to be good; 0 is neither


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="readers, such as pubtator or kb/mesh; all by default")
    parser.add_argument("--mutations", type=int, default=MUTATIONS, help="of each reader")
    parser.add_argument("--larger", type=int, default=LARGER, help="pieces that make files of each reader larger")
    parser.add_argument("--seed", type=int, default=13, help="another seed is other mutations")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "linnet-fuzz"), help="folder of faults")  # noqa: PTH118
    return parser.parse_args(arguments)


def told(wanted: Sequence[Target], seed: int) -> str:
    """Return what the mutations are made of: others are made where the real files are not there."""
    seeds = sum(len(target.seeds) for target in wanted)
    real = sum(target.real for target in wanted)
    where = f"real files for {real} of them" if real else "no real files: set LINNET_DATA to have theirs too"
    return f"{len(wanted)} readers, {seeds} seeds, {where}; --seed {seed}\n\n"


def main(arguments: Sequence[str]) -> int:
    """Fuzz the named targets, or all, and print a line for each."""
    options = parsed(arguments)
    everything = targets()
    wanted = [target for target in everything if not options.names or target.name in options.names]
    if unknown := set(options.names) - {target.name for target in everything}:
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(one.name for one in everything)}")
    results: list[Result] = []
    sys.stdout.write(f"{told(wanted, options.seed)}{HEAD}\n")
    for target in wanted:
        results.append(fuzz(target, options))
        sys.stdout.write(f"{results[-1].row()}\n")
        sys.stdout.flush()
    for result in results:
        for fault, places in result.faults.items():
            sys.stdout.write(f"\n{result.name}: {fault}\n  {places[0]}\n")
    total = sum(result.mutations for result in results)
    seconds = sum(result.seconds for result in results)
    faults = sum(len(result.faults) for result in results)
    sys.stdout.write(
        f"\n{len(results)} readers, {total:,} mutations, {seconds:,.0f} s of processor time, {faults} faults\n"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
