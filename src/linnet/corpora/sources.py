"""From what a person names (a file, a folder, a pattern) to files, their formats, names and documents."""

from __future__ import annotations

import glob
import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from linnet.corpora.formats import FORMATS, READABLE, parted, readable, suffix
from linnet.data import Document
from linnet.errors import FormatError
from linnet.text.files import STDIO, head, shown
from linnet.text.raw_input import refuse_no_text
from linnet.text.remote import is_database, is_url, list_files

__all__ = [
    "Found",
    "Named",
    "find",
    "locate",
    "sniff",
    "stem",
    "texts_of_brat",
    "unique_names",
    "visible",
]

logger = logging.getLogger(__name__)

WILD = re.compile(r"[*?\[]")
PUBMED = re.compile(r"<(?:MedlineCitation|PubmedArticle|PubmedBookArticle)")
BIOC = re.compile(r"<collection\b")
BIOC_JSON = re.compile(r'"(?:passages|PubTator3|documents)"\s*:\s*\[')
JATS = re.compile(r"<(?:\w+:)?(?:article|pmc-articleset)[\s>]")
OURS = re.compile(r'\{\s*"id"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"text"\s*:')  # JSON Lines, whatever is kept in meta
AN_OBJECT = re.compile(r'\s*(?:\[\s*)*\{\s*["}]')
A_TEXT = re.compile(r'"text"\s*:\s*"')
A_MEMBER = r'\s*"\w+"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)'  # of an object, with a text, a number or null
JSON = {
    "texoo": re.compile(r'"class"\s*:\s*"(?:Document|\w*Annotation)"|"begin"\s*:\s*\d+\s*,\s*"length"\s*:'),
    "bigbio": re.compile(r'"document_id"\s*:|"offsets"\s*:\s*\[\s*\[\s*\d'),
    "medcat": re.compile(rf'"projects"\s*:\s*\[|\A\{{(?:{A_MEMBER}\s*,)*\s*"[ct]uis"\s*:'),
    "bioc_json": BIOC_JSON,
    "label_studio": re.compile(r'"(?:completed_by|annotation_id|from_name|was_cancelled)"\s*:|"data"\s*:\s*\{'),
}
HIDDEN = (".", "~$")  # how names of files begin that are not read: the second are Word's, beside what is open there
OFFICE = frozenset({".docx", ".doc", ".odt", ".pdf", ".rtf"})
CURE = "; save those of Word, PDF and RTF as plain text (.txt, in UTF-8), and they are read too"
RELEASE = "pubmed_release"
IN_RELEASE = re.compile(r"(?:pubmed|medline)(\d\d)n(\d{4,6})\.xml(?:\.gz)?", re.IGNORECASE)
WEBANNO = "#FORMAT=WebAnno TSV 3"
PUBTATOR = re.compile(r"[^|\t\r\n]+\|[ta]\|")
CONLL = re.compile(r"^(?:-DOCSTART-|\S+[ \t](?:\S+[ \t])*(?:O|[BIELSU]-\S+)(?:[ \t]\S+)*\r?$)", re.MULTILINE)
MANIFEST, JOB, UNFINISHED = "manifest.json", b'"linnet job"', b'"finished": false'  # of a job of shards
GSC_FIRST = re.compile(r"[^\t\r\n]+\r?\n[^\r\n]+\r?\n")
GSC_MENTION = re.compile(r"^\d+\t\d+\t[^\r\n]+\t[A-Za-z][\w.-]*:\S+\r?$", re.MULTILINE)


class Found(NamedTuple):
    """A file, and its path below the folder that was asked for (or as it was given).

    ``url`` is the address of one that is elsewhere, whose path serves for names alone; the others are as of `Named`.
    """

    path: Path
    relative: str
    url: str = ""
    size: int = 0
    changed: str = ""

    @property
    def source(self) -> str | Path:
        """What it is read from."""
        return self.url or self.path


class Named(NamedTuple):
    """A file or an address, what its documents are called where they have no ids, and how it is read if that is known.

    ``options`` are pairs of keywords of the reader of ``format``; of one that is elsewhere, ``size`` is its bytes and
    ``changed`` a text that changes with it, where they are known.
    """

    path: Path | str
    name: str
    format: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    size: int = 0
    changed: str = ""


def stem(path: str | Path) -> str:
    """Return the file name without its suffix, ``.gz`` aside.

    >>> stem("a/note.1.txt.gz"), stem("-")
    ('note.1', 'stdin')
    """
    if str(path) == STDIO:
        return "stdin"
    return parted(path)[0]


def find(source: str | Path, suffixes: Sequence[str]) -> list[Found]:
    """Return the files that `source` means: itself, those below a folder, or those that match a pattern.

    Args:
        source: a path, a pattern, ``-``, or an address.
        suffixes: of the files wanted from a folder.

    Raises:
        FormatError: a folder or pattern without files.
    """
    path = Path(source)
    if is_url(source):
        return _find_remote(str(source), suffixes)
    if path.is_dir():
        everything = sorted(_walk(path), key=lambda item: item.relative.split("/"))
        found = [item for item in everything if suffix(item.path) in suffixes]
        if not found:
            endings = Counter(suffix(item.path) for item in everything)
            cure = CURE if OFFICE & endings.keys() else _by_pattern(path, endings)
            wanted = ", ".join(suffixes) or "a known suffix"
            raise FormatError(source, f"this folder holds no file ending in {wanted}{cure}")
        texts = texts_of_brat(found)
        rest = (item for item in everything if suffix(item.path) not in suffixes)
        if others := Counter(suffix(item.path) or "no suffix" for item in rest if not texts or item.path not in texts):
            named = ", ".join(f"{ending} ({count})" for ending, count in others.most_common(5))
            told = f"files that were not read, as their endings are not known: {others.total():,}"
            logger.warning("%s: %s: %s%s", source, told, named, CURE if others.keys() & OFFICE else "")
        return found
    if str(source) == STDIO or not WILD.search(str(source)) or os.path.lexists(path):
        return [Found(path, str(source))]
    # Path.glob takes no absolute patterns
    matches = sorted(name for name in glob.glob(str(source), recursive=True) if not Path(name).is_dir())  # noqa: PTH207
    if not matches:
        raise FormatError(source, "no file matches this pattern")
    return [Found(Path(name), name) for name in matches]


def _by_pattern(folder: Path, endings: Counter[str]) -> str:
    """Return how the files of a folder are named whose ending is none that is looked for there."""
    ending = max(filter(None, endings), key=endings.__getitem__, default="")
    return f"; name those that it holds by a pattern: '{folder}/**/*{ending}'" if ending else ""


def _find_remote(url: str, suffixes: Sequence[str]) -> list[Found]:
    """Return the files that an address means; a database is one."""
    if is_database(url):
        return [Found(Path(url), url, url)]
    found = [Found(Path(one.url), one.relative, one.url, one.size, one.changed) for one in list_files(url)]
    if len(found) == 1 and url.rstrip("/").endswith(found[0].relative):  # the file itself, whatever it is called
        return found
    wanted = [item for item in found if suffix(item.path) in suffixes]
    if not wanted:
        raise FormatError(url, f"holds no file ending in {', '.join(suffixes) or 'a known suffix'}")
    return wanted


def visible(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield what matches `pattern` below `folder` and is not hidden, in no certain order.

    Hidden is what is being unpacked, or was when its process died, and the ``._NAME`` beside files from a Mac.

    >>> sorted(path.name for path in visible(Path(__file__).parent, "pubtator*.py"))
    ['pubtator.py', 'pubtator_write.py']
    """
    for path in folder.glob(pattern):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def texts_of_brat(files: Iterable[Found]) -> set[Path]:
    """Return the texts that brat's reader reads with the ``.ann`` files among `files`, were they there.

    >>> sorted(path.name for path in texts_of_brat([Found(Path("7.ann"), "7.ann"), Found(Path("a.xml"), "a.xml")]))
    ['7.txt', '7.txt.gz']
    """
    names = [item.path.with_name(stem(item.path)) for item in files if suffix(item.path) == ".ann"]
    return {Path(f"{name}{ending}") for name in names for ending in (".txt", ".txt.gz")}


def _walk(folder: Path) -> Iterator[Found]:
    """Yield the files below `folder`; linked folders too, each folder once, so that circles of links end."""

    def refuse(error: OSError) -> None:
        raise FormatError(error.filename, f"this folder cannot be read: {error.strerror}") from error

    entered = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=refuse):
        state = Path(place).stat()
        if (state.st_dev, state.st_ino) in entered:
            folders.clear()
            continue
        entered.add((state.st_dev, state.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(place)
        below = "" if here == folder else f"{here.relative_to(folder).as_posix()}/"
        for name in _of_job(here, names):
            if not name.startswith(HIDDEN):
                yield Found(here / name, f"{below}{name}")


def _of_job(folder: Path, names: list[str]) -> list[str]:
    """Return the files of a folder that hold documents: of one that a job of shards wrote, the shards alone."""
    if MANIFEST not in names or JOB not in (told := head(folder / MANIFEST, 1_000)):
        return names
    if UNFINISHED in told:
        logger.warning("%s: the job that writes there is not finished: not all its documents are read", folder)
    return [name for name in names if name.startswith("shard-")]


def sniff(head: bytes) -> str | None:
    r"""Return the format that the first bytes of a file show, or None.

    >>> sniff(b'{"id": "1", "text": ""}'), sniff(b"A note."), sniff(b"7\nFits.\n0\t4\tFits\tHP:0001250\n")
    ('jsonl', None, 'gsc')
    """
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if re.match(r'[\[{]\s*"?', text) and text[0] in "[{":
        return _sniff_json(text)
    if text.startswith("<"):
        return _sniff_markup(text)
    if text.startswith(WEBANNO):
        return "webanno"
    if PUBTATOR.match(text):
        return "pubtator"
    if GSC_FIRST.match(text) and GSC_MENTION.search(text):
        return "gsc"
    return "conll" if CONLL.search(text) else None


def lines_of_bigbio(head: bytes) -> bool:
    """Return whether a file of JSON Lines begins with BigBIO's documents, whose texts are lists where ours are texts.

    >>> lines_of_bigbio(b'{"document_id": "7", "passages": [{"text": ["Fits."]'), lines_of_bigbio(b'{"id": "7"')
    (True, False)
    """
    text = head.decode("utf-8", "replace")
    return '"passages"' in text and sniff(head) == "bigbio" and not A_TEXT.search(text)


def _sniff_json(text: str) -> str | None:
    if not OURS.match(text):
        for name, pattern in JSON.items():
            if pattern.search(text):
                return name
    return "jsonl" if text[0] == "{" and '"text"' in text else None


def _sniff_markup(text: str) -> str | None:
    if text[:15].lower() == "<!doctype html>":
        return "html"
    for name, pattern in (("pubmed", PUBMED), ("jats", JATS), ("bioc", BIOC)):
        if pattern.search(text):
            return name
    return None


def unique_names(files: Sequence[Found]) -> dict[Found, str]:
    """Return a name for every file: its stem, or with its folders and its ending where two stems are the same.

    >>> list(unique_names([Found(Path("x/a/1.txt"), "a/1.txt"), Found(Path("x/b/1.txt"), "b/1.txt")]).values())
    ['a/1', 'b/1']
    >>> list(unique_names([Found(Path("x/1.txt"), "1.txt"), Found(Path("x/1.json"), "1.json")]).values())
    ['1.txt', '1.json']
    """
    return dict(zip(files, _names_of(files), strict=True))


def _names_of(files: Sequence[Found]) -> list[str]:
    names = [stem(file.path) for file in files]
    stems = Counter(names)
    alike = [number for number, name in enumerate(names) if stems[name] > 1]
    longer = Counter(_without_suffix(files[number]) for number in alike)
    whole = Counter(files[number].relative for number in alike)
    for number in alike:
        file = files[number]
        names[number] = _without_suffix(file)
        if longer[names[number]] > 1:
            names[number] = str(file.path) if whole[file.relative] > 1 else file.relative
    # bytes of a file name that are no UTF-8 would be half characters, which few formats can hold
    return [name.encode("utf-8", "backslashreplace").decode() for name in names]


def _without_suffix(file: Found) -> str:
    folder, slash, _ = Path(file.relative).as_posix().rpartition("/")
    return f"{folder}{slash}{stem(file.path)}"


def locate(sources: Sequence[str | Path | Document], format: str | None) -> list[Named | Document]:
    """Return the files that are meant, each with a name of its own, and the documents among what is given.

    Args:
        sources: files, folders, patterns and addresses, and documents, which are passed on.
        format: of the files wanted from folders; None takes all that are known.

    Raises:
        FormatError: a folder or pattern without files.
    """
    wanted = (FORMATS[format],) if format else FORMATS.values()
    kinds = (known.suffixes for known in wanted if known.read and (format or not known.asked))
    suffixes = tuple(dict.fromkeys(chain.from_iterable(kinds)))
    found: list[Found | Document] = []
    for source in sources:
        found += [source] if isinstance(source, Document) else find(source, suffixes)
    texts = texts_of_brat(item for item in found if isinstance(item, Found))
    found = [item for item in found if isinstance(item, Document) or not texts or item.path not in texts]
    names = iter(_names_of([item for item in found if isinstance(item, Found)]))
    named = [
        item if isinstance(item, Document) else Named(item.source, next(names), None, (), *item[3:]) for item in found
    ]
    return _of_releases(named, format) if format in (None, RELEASE) else named


def _of_releases(items: list[Named | Document], format: str | None) -> list[Named | Document]:
    """Return the same with the files of a PubMed release in its order, where the first one is, each with its index."""
    named = {number: item for number, item in enumerate(items) if isinstance(item, Named)}
    found = ((number, item, _in_release(item.path)) for number, item in named.items())
    files = [(match.groups(), str(item.path), number) for number, item, match in found if match]
    if format and (strange := [item.path for item in named.values() if not _in_release(item.path)]):
        raise FormatError(strange[0], "is not called as files of a release are: pubmed25n0001.xml.gz")
    if len(files) < (1 if format else 2):
        return items
    from linnet.corpora.pubmed_release import index  # noqa: PLC0415 - most files are of none

    places = [number for *_, number in sorted(files)]
    kept = (("kept", index([named[number].path for number in places])),)
    first, theirs = min(places), set(places)
    others = [item for number, item in enumerate(items) if number not in theirs]
    of_release = [named[number]._replace(format=RELEASE, options=kept) for number in places]
    return [*others[:first], *of_release, *others[first:]]


def _in_release(path: str | Path) -> re.Match[str] | None:
    return IN_RELEASE.fullmatch(path.name if isinstance(path, Path) else path.rpartition("/")[2])


def guess(path: str | Path) -> str:
    """Return the format that `path` is in, by suffix where that says it, else by content."""
    if is_database(path):
        return "sql"
    ending = readable(suffix(path), path)
    for name, format in FORMATS.items():
        if format.alone and format.read and ending in format.suffixes and name != "text":
            return "bigbio" if name == "jsonl" and lines_of_bigbio(head(path)) else name
    first = head(path)
    content = sniff(first)
    if ending in FORMATS["text"].suffixes:
        return content if content == "pubtator" else "text"  # PubTator is published as .txt; notes are anything
    if content:
        return content
    ours = [name for name, format in FORMATS.items() if format.read and ending in format.suffixes]
    if len(ours) == 1:
        return ours[0]  # its reader says what is wrong, with the line
    is_json = AN_OBJECT.match(first.decode("utf-8", "replace").lstrip("\ufeff"))
    if not ending and not is_json:
        return "text"
    refuse_no_text(first, shown(path))
    problem = f"cannot tell its format from the suffix {ending!r} and the content"
    if is_json:
        problem = "is JSON, but of no format that is known"
    named = "published corpora are read by name, such as s800:all with --data DIR (docs/corpora.md)"
    told = f"{problem}; say which it is (--from, or format=; text is any note): {', '.join(READABLE)}; {named}"
    raise FormatError(shown(path), told)
