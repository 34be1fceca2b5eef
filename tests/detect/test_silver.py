"""Silver labels: what names say of texts that nobody has annotated."""

from __future__ import annotations

import random

from linnet.data import Document, Mention, Span
from linnet.detect.silver import SELDOM, silver, stem_of
from linnet.text.words import UNKNOWN, labels_of, spans_of

NAMES = ["breast cancer", "familial adenoma", "renal failure", "gout"]
FILLERS = ["the", "of", "patient", "familial", "renal", "cancer", "disease", "xanthoma", "and", "1", ","]


def texts(count: int, seed: int = 0) -> tuple[list[Document], list[list[Mention]]]:
    rng = random.Random(seed)
    docs, found = [], []
    for number in range(count):
        text, own = "", []
        for _ in range(rng.randrange(1, 12)):
            name = rng.choice(NAMES) if rng.random() < 0.3 else ""
            if name:
                own.append(Mention(len(text), len(text) + len(name), types=("Disease",)))
            text += (name or rng.choice(FILLERS)) + " "
        docs.append(Document(str(number), text))
        found.append(own)
    return docs, found


def slow(docs: list[Document], found: list[list[Mention]], *, rare: int) -> list[list[str]]:
    """The label of each word, as the module says it: M of a mention, O outside, ? in doubt."""
    stems = [[stem_of(doc.text[start:end]) for start, end in spans_of(doc.text)] for doc in docs]
    inside = [
        [any(m.start <= start and end <= m.end for m in some) for start, end in spans_of(doc.text)]
        for doc, some in zip(docs, found, strict=True)
    ]
    pairs = [pair for one, other in zip(stems, inside, strict=True) for pair in zip(one, other, strict=True)]
    held = {stem_of(word) for name in NAMES for word in name.split()}

    def doubtful(word: str) -> bool:
        count, within = sum(one == word for one, _ in pairs), sum(pair == (word, True) for pair in pairs)
        if not any(map(str.isalpha, word)):
            return False
        return count < rare or within / count >= SELDOM if word in held else count < rare and len(word) >= 3

    made = []
    for doc, some, words, within in zip(docs, found, stems, inside, strict=True):
        maybe = [not match and doubtful(word) for word, match in zip(words, within, strict=True)]
        doubt = []
        for place, word in enumerate(words):
            sides = [n for n in (place - 1, place + 1) if 0 <= n < len(words)]
            alone = word in held and not any(maybe[n] or within[n] for n in sides)
            doubt.append(maybe[place] and not alone)
        labels = ["?" if each else "O" for each in doubt]
        for mention in some:
            own = [
                n for n, (start, end) in enumerate(spans_of(doc.text)) if mention.start <= start and end <= mention.end
            ]
            touched = any(doubt[n] for n in (own[0] - 1, own[-1] + 1) if 0 <= n < len(words))
            for n in own:
                labels[n] = "?" if touched else "M"
        made.append(labels)
    return made


def test_labels_are_those_of_the_slow_way() -> None:
    seen = set()
    for seed in range(40):
        docs, found = texts(random.Random(seed).randrange(1, 9), seed)
        for rare in (1, 3):
            wanted = slow(docs, found, rare=rare)
            for doc, row in zip(silver(docs, found, names=NAMES, rare=rare), wanted, strict=True):
                labels = labels_of(doc, spans_of(doc.text), ["O", "B-Disease", "I-Disease"], "BIO")
                assert ["?" if n == UNKNOWN else "O" if n == 0 else "M" for n in labels] == row
                seen |= set(row)
    assert seen == {"?", "O", "M"}


def test_what_people_marked_is_not_looked_at() -> None:
    doc = Document("1", "No gout here.", mentions=(Mention(0, 2, source="gold"),), reviewed=(Span(0, 2),))
    [made] = silver([doc], [[Mention(3, 7)]], names=NAMES, rare=1)
    assert [made.surface(mention) for mention in made.mentions or ()] == ["gout"]
    assert made.reviewed == (Span(0, len(doc.text)),)


def test_texts_without_words_and_without_matches() -> None:
    made = silver([Document("1", ""), Document("2", " \n"), Document("3", "Xanthoma")], [[], [], []], names=[])
    assert [(doc.mentions, doc.reviewed) for doc in made] == [((), ())] * 3
