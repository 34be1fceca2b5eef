"""BC5CDR's way of writing BioC, turned into what its PubTator files say of the same documents.

For a composite mention ("renal and hepatic toxicity") BC5CDR's BioC has an annotation with the infon ``CompositeRole``
= ``CompositeMention`` and all the ids, and beside it one ``IndividualMention`` for each conjunct, with one id and often
discontinuous. PubTator has the composite alone, and the texts of the conjuncts in a 7th column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from linnet.corpora.ids import to_curie
from linnet.data import JSON, Document, Mention

__all__ = ["fold", "like_pubtator"]

ROLE = "CompositeRole"
USUAL = "|"


def fold(doc: Document) -> Document:
    """Return `doc` with every individual mention folded into its composite, whose meta then has ``conjuncts``.

    An individual mention belongs to the first composite that spans it, has a type of it and names its concept. One
    that has no composite stays a mention. References of relations to a folded mention lead to its composite.

    >>> parts = [Mention(0, 8, concepts=("X:1", "X:2"), meta={"infons": {"CompositeRole": "CompositeMention"}}),
    ...          Mention(0, 3, concepts=("X:1",), meta={"infons": {"CompositeRole": "IndividualMention"}}),
    ...          Mention(4, 8, concepts=("X:2",), meta={"infons": {"CompositeRole": "IndividualMention"}})]
    >>> [(m.concepts, m.meta) for m in fold(Document("d", "red pain", mentions=tuple(parts))).mentions]
    [(('X:1', 'X:2'), {'conjuncts': 'red|pain'})]
    """
    if not doc.mentions:
        return doc
    roles = [_role(mention) for mention in doc.mentions]
    if not any(roles):
        return doc
    composites = [i for i, role in enumerate(roles) if role == "CompositeMention"]
    owner: dict[int, int] = {}
    texts: dict[int, list[str]] = {}
    for i, mention in enumerate(doc.mentions):
        mine = _composite(mention, doc.mentions, composites) if roles[i] == "IndividualMention" else None
        if mine is not None:
            owner[i] = mine
            # the text as annotated, where it differs from what the offsets say
            texts.setdefault(mine, []).append(str(mention.meta.get("text", doc.surface(mention))))
    kept = tuple(
        _folded(mention, texts[i]) if i in texts else mention
        for i, mention in enumerate(doc.mentions)
        if i not in owner
    )
    moved = {doc.mentions[i].id: doc.mentions[to].id for i, to in owner.items() if doc.mentions[i].id}
    return replace(doc, mentions=kept, meta=_redirected(doc.meta, moved))


def _role(mention: Mention) -> JSON:
    infons = mention.meta.get("infons")
    return infons.get(ROLE) if isinstance(infons, Mapping) else None


def _composite(individual: Mention, mentions: Sequence[Mention], composites: Sequence[int]) -> int | None:
    for i in composites:
        composite = mentions[i]
        if (
            composite.start <= individual.start
            and individual.end <= composite.end
            and composite.types == individual.types
            and set(individual.concepts or ()) <= set(composite.concepts or ())
        ):
            return i
    return None


def _folded(composite: Mention, texts: Sequence[str]) -> Mention:
    meta: dict[str, JSON] = {key: value for key, value in composite.meta.items() if key != "infons"}
    infons = {key: value for key, value in cast("Any", composite.meta["infons"]).items() if key != ROLE}
    if infons:
        meta["infons"] = infons
    return replace(composite, meta={**meta, "conjuncts": USUAL.join(texts)})


def _redirected(meta: Mapping[str, JSON], moved: Mapping[str, str]) -> Mapping[str, JSON]:
    relations = cast("Any", meta.get("relations", ()))
    if not any(arg["ref"] in moved for relation in relations for arg in relation.get("args", ())):
        return meta
    changed = []
    for relation in relations:
        args = [{**arg, "ref": moved.get(arg["ref"], arg["ref"])} for arg in relation.get("args", ())]
        changed.append({**relation, "args": args} if args else relation)
    return {**meta, "relations": changed}


def like_pubtator(doc: Document) -> Document:
    """Return `doc` folded and without what PubTator has no place for, so that both files give equal documents.

    Ids of mentions, infons of passages and of the collection go. Relations that name concepts in infons (BC5CDR:
    ``Chemical`` and ``Disease``) get them as arguments ``arg1`` and ``arg2``.
    """
    doc = fold(doc)
    meta: dict[str, JSON] = {key: value for key, value in doc.meta.items() if key != "collection"}
    if "relations" in meta:
        meta["relations"] = [_relation(relation) for relation in cast("Any", meta["relations"])]
    return replace(
        doc,
        passages=tuple(replace(passage, meta={}) for passage in doc.passages),
        mentions=None if doc.mentions is None else tuple(replace(mention, id="") for mention in doc.mentions),
        meta=meta,
    )


def _relation(relation: Mapping[str, Any]) -> Mapping[str, JSON]:
    if relation.get("args") or not relation.get("meta"):
        return relation
    args = [
        {"role": f"arg{i}", "ref": to_curie(str(id), type)} for i, (type, id) in enumerate(relation["meta"].items(), 1)
    ]
    return {"type": relation.get("type", ""), "args": args}
