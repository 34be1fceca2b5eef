"""One document of 40 pages, reranked: ``python tests/rerank/long_document.py KB [WAY [TOP_K]]``.

The document is made of development abstracts of BC5CDR (LINNET_DATA), one behind the other, until it has 2,000
mentions. The network is MiniLM as it comes: training changes neither memory nor time. Without a way of reading each one
is measured in a process of its own, so that the peak of memory is its own. Exit status 1 if one needs more than 4 GiB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from linnet.corpora.catalog import read_corpus
from linnet.data import Document, Mention, Passage, Span
from linnet.evaluate.meter import mib, peak_resident
from linnet.kb import KnowledgeBase
from linnet.pipeline import Abbreviations, Sentences
from linnet.text.packing import Packing

__all__ = ["MOST", "joined"]

MENTIONS = 2_000
MOST = 4 << 30  # bytes
WAYS = ("multi", "passage", "document", "multi-isolated", "passage-isolated", "document-isolated")
TOP = (5, 20)


def joined(docs: Iterable[Document], mentions: int) -> Document:
    """Return documents as one with so many mentions, each of them a passage."""
    text = ""
    found: list[Mention] = []
    passages = []
    for doc in docs:
        start = len(text)
        for mention in (doc.mentions or ())[: mentions - len(found)]:
            parts = tuple(Span(a + start, b + start) for a, b in mention.parts)
            found.append(Mention(mention.start + start, mention.end + start, parts=parts, source="gold"))
        text += doc.text + "\n"
        passages.append(Passage(start, len(text), "abstract"))
        if len(found) == mentions:
            break
    return Document("long", text, passages=tuple(passages), mentions=tuple(found))


def measured(kb: Path, way: str, top_k: int) -> str:
    """Return what one way of reading takes, as a line of text."""
    from linnet.rerank.cross_encoder import CrossEncoder
    from linnet.retrieve.ngram import Ngram

    packing, _, isolated = way.partition("-")
    opened = KnowledgeBase.open(kb)
    doc = joined(read_corpus("bc5cdr", split="dev"), MENTIONS)
    docs = Ngram(kb=opened, k=top_k)(Abbreviations()(Sentences()([doc])))
    cross = CrossEncoder(kb=opened, packing=cast("Packing", packing), isolated=bool(isolated), top_k=top_k)
    cross.trained = True
    _ = cross.reader  # the network is there before the clock runs
    before, started, worked = peak_resident(), time.perf_counter(), time.process_time()
    [done] = cross(docs)
    seconds, processor = time.perf_counter() - started, time.process_time() - worked
    said = f"{len(doc.text):,} characters, {len(done.mentions or ()):,} mentions, top {top_k}"
    took = f"{processor:.0f} s of processor in {seconds:.0f} s"
    return f"{way}: {said}: {took}, {mib(before)} before, {mib(peak_resident())} in all"


def main() -> int:
    """Measure what the command line names."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("kb", type=Path)
    options.add_argument("way", nargs="?", choices=WAYS)
    options.add_argument("top_k", nargs="?", type=int, default=TOP[0])
    given = options.parse_args()
    if given.way:
        sys.stdout.write(measured(given.kb, given.way, given.top_k) + "\n")
        return int(peak_resident() > MOST)
    commands = [[sys.executable, __file__, given.kb, way, str(top_k)] for top_k in TOP for way in WAYS]
    return max(subprocess.run(command, check=False).returncode for command in commands)


if __name__ == "__main__":
    raise SystemExit(main())
