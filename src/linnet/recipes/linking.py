"""Rules of linking: the default recipe, a detector in front of a pipeline or given mentions instead, hidden gold."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from linnet.data import Assertion, Document
from linnet.detect.dictionary import Dictionary
from linnet.errors import LinnetError, did_you_mean
from linnet.pipeline import Allow, Component, Detector, Joint, Pipeline
from linnet.pipeline.allow import combined
from linnet.pipeline.component import blind
from linnet.pipeline.context import Context
from linnet.pipeline.decide import Decide
from linnet.recipes.config import components, local, make, name_of, open_kb, read_recipe, recipes
from linnet.recipes.recipe import is_address
from linnet.text.known_forms import read_senses

__all__ = [
    "NOTICE",
    "add_detector",
    "add_short_forms",
    "default_recipe",
    "find_untrained",
    "hidden_gold",
    "hide_gold",
    "keep_only",
    "link_given",
]

SHOWN = 8  # short forms that a warning shows

logger = logging.getLogger(__name__)

NOTICE = (
    "Negation and family history are not interpreted: 'no cleft palate' still links cleft palate; "
    "a part context in the recipe, or --only affirmed, interprets them."
)


# Knowledge bases by the names that `linnet kb build --download` gives them, with recipes that leave out what is no
# finding, disease or drug; others are taken whole.
RECIPES = {"hpo": "hpo", "rxnorm": "rxnorm"}
MESH = "mesh"  # with its year, or joined with others, as in mesh-ctd
OF_MESH = {"Disease", "Chemical"}


def default_recipe(kb: str | None) -> str:
    """Return the default recipe for a knowledge base, given by name or file.

    Raises:
        KnowledgeBaseError: there is no such MeSH, whose types are looked at: a table of it may have none.

    >>> default_recipe(None), default_recipe("rxnorm"), default_recipe("my.kb")
    ('hpo', 'rxnorm', 'dictionary')
    """
    if kb is not None and kb.startswith(MESH) and not kb.endswith(".kb") and open_kb(kb).types().keys() >= OF_MESH:
        return MESH
    return RECIPES.get(kb or "hpo", "dictionary")


def find_untrained(source: str, *, changes: Sequence[str] = ()) -> tuple[str, list[str]]:
    """Return the recipe that trains the pipeline, and the parts that are still untrained.

    There are none of a trained folder or a server, nor of a recipe that trains nothing.
    """
    source = str(local(source))
    if is_address(source) or (source not in recipes() and Path(source).is_dir()):
        return source, []
    recipe = read_recipe(source, changes=changes)
    source = recipe.trained_by or source  # whose parts it takes
    recipe = read_recipe(source) if recipe.trained_by else recipe
    return source, list(dict.fromkeys(str(table["part"]) for table in recipe.train if "part" in table))


def add_detector(linker: Pipeline, name: str) -> Pipeline:
    """Return a pipeline with a detector in front, in the place of ``gold`` if it begins with that."""
    if linker.kb is None or "mentions" not in linker.needs:
        raise LinnetError(f"--detect {name}: {linker!r} finds mentions itself")
    if name not in components():
        hint = did_you_mean(name, components()) or ""
        raise LinnetError(f"--detect {name}: there is no such component{hint}")
    try:
        detector = make({"use": name}, linker.kb)
    except TypeError as error:  # made of other components, or of keywords that only a recipe gives
        raise LinnetError(f"--detect {name}: this component needs arguments; put it into a recipe") from error
    if "mentions" not in detector.gives or "mentions" in detector.needs:
        raise LinnetError(f"--detect {name}: this component finds no mentions; use for example dictionary")
    rest = linker.parts[1:] if name_of(linker.parts[0]) == "gold" else linker.parts
    return linker.with_parts([detector, *map(_drop_calibration, rest)])


def link_given(linker: Pipeline) -> Pipeline:
    """Return a pipeline that links given mentions as `linker` does those it finds; one that does so stays as it is.

    What finds mentions is left out. Where that gave them their candidates, too, they are looked up by name (``exact``,
    words in any order and form); networks that find and link at once link what is given.

    Raises:
        LinnetError: it links to several terminologies, or is a server's.
    """
    if "mentions" in linker.needs:
        return linker
    from linnet.pipeline.remote import RemotePipeline  # noqa: PLC0415 - most pipelines run here

    if isinstance(linker, RemotePipeline):
        raise LinnetError(f"{linker.name} finds mentions itself: let the server link with a pipeline for given ones")
    if linker.kb is None:
        raise LinnetError(f"{linker!r} links to several terminologies: load one for given mentions")
    from linnet.detect.gold import Gold  # noqa: PLC0415 - most mentions are found
    from linnet.retrieve.exact import Exact  # noqa: PLC0415 - as above

    rest = [made for part in linker.parts if (made := _for_given(part)) is not None]
    if not any("candidates" in part.gives for part in rest):
        rest.insert(0, Exact(kb=linker.kb, level="family"))
    conditions = [
        Allow(types=tuple(part.types) or None, under=tuple(part.under) or None)
        for part in linker.parts
        if isinstance(part, Dictionary)
    ]
    made = Pipeline(Gold(), *rest, name=linker.name, kb=linker.kb, allow=combined(linker.allow, *conditions))
    made.seen = linker.seen
    return made


def _for_given(part: Component) -> Component | None:
    """Return what becomes of a part where mentions are given; None for one that only finds them."""
    if isinstance(part, Joint):
        made = copy.copy(part)
        made.find = False
        return made
    if isinstance(part, Detector):
        return None
    if isinstance(part, Context):
        return replace(part, headings="keep")
    if isinstance(part, Decide) and part.calibration == "joint":
        logger.warning("probabilities were fitted on detected mentions: for given mentions they count as uncalibrated")
        decide = copy.copy(part)
        decide.confidence, decide.calibration, decide.chosen = None, "", 0.0
        return decide
    return part


def keep_only(linker: Pipeline, only: Sequence[Assertion]) -> Pipeline:
    """Return a pipeline that gives only mentions with these assertions; one without ``context`` gets it at its end."""
    if (sides := _of_each(linker, lambda one: keep_only(one, only))) is not None:
        return sides
    if not any(isinstance(part, Context) for part in linker.parts):
        return linker.with_parts([*linker.parts, Context(only=only)])
    return linker.with_parts(replace(part, only=only) if isinstance(part, Context) else part for part in linker.parts)


def add_short_forms(linker: Pipeline, files: Sequence[str]) -> Pipeline:
    """Return a pipeline whose dictionaries know the short forms in some files as well (`Dictionary.short_forms`).

    Short forms of which the knowledge base knows no sense are named in a warning.

    Raises:
        FormatError: a file cannot be read, or a row is no short form with its meaning.
        LinnetError: the pipeline has no dictionary.
    """
    if not files:
        return linker
    if (sides := _of_each(linker, lambda one: add_short_forms(one, files))) is not None:
        return sides
    tables = {file: read_senses(file) for file in files}
    parts = [_with_short_forms(part, files) for part in linker.parts]
    knowing = next((part for part in parts if isinstance(part, Dictionary)), None)
    if knowing is None:
        raise LinnetError(f"--abbreviations: {linker!r} has no dictionary; add --detect dictionary")
    for file, senses in tables.items():
        if unknown := knowing.unknown_forms(file):
            shown = ", ".join(unknown[:SHOWN]) + (", …" if len(unknown) > SHOWN else "")
            meanings = (name for short in unknown for sense in senses[short] for name in sense.names)
            if way := next(filter(None, map(knowing.kb.meant, meanings)), ""):  # ids without their prefix
                shown += f"; did you mean {way!r}?"
            logger.warning(
                "%s: the terminology knows no meaning of %s of %s short forms: %s",
                file,
                len(unknown),
                len(senses),
                shown,
            )
    return linker.with_parts(parts)


def _of_each(linker: Pipeline, change: Callable[[Pipeline], Pipeline]) -> Pipeline | None:
    """Return pipelines side by side, each of them changed; None of one that is no such."""
    if linker.kb is not None:
        return None
    from linnet.pipeline.several import Several  # noqa: PLC0415 - most texts are linked to one terminology

    if not any(isinstance(part, Several) for part in linker.parts):
        return None
    return linker.with_parts(
        replace(part, of=[change(one) for one in part.of]) if isinstance(part, Several) else part
        for part in linker.parts
    )


def _with_short_forms(part: Component, files: Sequence[str]) -> Component:
    if not isinstance(part, Dictionary):
        return part
    made = copy.copy(part)
    made.short_forms = (*part.short_forms, *files)
    made.forget()
    return made


def _drop_calibration(part: Component) -> Component:
    """Return a part that marks probabilities fitted on given spans as uncalibrated for detected ones."""
    if not isinstance(part, Decide) or part.calibration != "given-span":
        return part
    logger.warning("probabilities were fitted on given mentions: for detected mentions they count as uncalibrated")
    made = copy.copy(part)
    made.calibration, made.chosen = "", 0.0
    return made


def hide_gold(docs: Iterable[Document], linker: Component) -> Iterator[Document]:
    """Yield `docs` as `linker` may see them (`blind`), with the mentions of users if it finds mentions.

    Where it links given mentions, a document that gives none has none to link: a warning at the end says so.

    Raises:
        LinnetError: it links given mentions, and no document gives any.
    """
    spans = "mentions" in linker.needs
    hidden = seen = ungiven = 0
    for doc in docs:
        seen += 1
        ungiven += spans and doc.mentions is None
        hidden += sum(mention.source == "gold" for mention in doc.mentions or ())
        yield hidden_gold(doc, linker)
    if ungiven:
        _warn_of_ungiven(ungiven, of=seen)
    if hidden and not spans:
        logger.info(
            "%s gold mentions of the input were hidden and are not in the output; see --keep-gold", f"{hidden:,}"
        )


def hidden_gold(doc: Document, linker: Component) -> Document:
    """Return one document as `hide_gold` does.

    >>> from linnet.data import Mention
    >>> hidden_gold(Document("a", "Fits.", mentions=(Mention(0, 4, source="gold"),)), Pipeline()).mentions
    ()
    """
    if "mentions" in linker.needs:
        return blind([replace(doc, mentions=doc.mentions or ())], linker)[0]
    if all(mention.source != "gold" for mention in doc.mentions or ()):
        return doc
    users = tuple(mention for mention in doc.mentions or () if mention.source == "user")
    return replace(blind([doc], linker)[0], mentions=users)


def _warn_of_ungiven(ungiven: int, *, of: int) -> None:
    way = "this pipeline only links given mentions; add --detect dictionary"
    if ungiven == of:
        raise LinnetError(f"the input has no mentions, and {way}")
    logger.warning("%s of %s documents have no mentions and were not linked: %s", ungiven, of, way)
