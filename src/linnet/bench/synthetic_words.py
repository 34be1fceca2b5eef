"""Words for synthetic terminologies: recombined medical morphemes, or recombined words of a real knowledge base."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.kb import KnowledgeBase

__all__ = ["Words", "words_for"]

PREFIXES = (
    "a acro an ante anti auto bi brady bronchio cardio cerebro chemo chondro chrono contra cranio crypto cyto de dermo "
    "di dys ecto en endo entero epi erythro eu ex extra fibro gastro glyco gyno haemo hemi hepato hetero histo homo "
    "hydro hyper hypo immuno infra inter intra iso juxta kerato leuko lipo macro mega melano meningo meso meta micro "
    "mono morpho multi myo neo nephro neuro oligo onco osteo oto pachy pan para patho peri phago pharyngo poly post "
    "pre pro pseudo psycho pyo radio retro rhino sclero semi sub super supra syn tachy thermo trans tri ultra uni"
)
ROOTS = (
    "aden alges amyl angi ankyl aort arter arthr ather bili blast blephar brachi bronch burs calcane carcin card carp "
    "cephal cervic chol chondr chori clavic col condyl corne cortic cost crani cyst dactyl dent derm duoden embol "
    "encephal enter epitheli esophag fasci femor fibr gangli gastr gingiv gloss glomerul gluc gonad gravid hepat "
    "herni hyster ile immun infarct ischi kerat labyrinth lact laryng lipid lith lumb lymph malac mamm mastoid medull "
    "melan mening metabol muc my myel myring narc nas necr nephr neur nod ocul odont omphal oophor ophthalm orch osse "
    "oste ot ovari palat pancreat parot pector pelv pericardi periton phalang pharyng phleb phren plasm pleur pneum "
    "proct prostat psych pulmon pyel rachi ren retin rhabd rhin sacr salping sarc schiz scler sial sinus somat spermat "
    "spin splen spondyl stern stomat synovi tars tendin test thalam thorac thromb thym thyr tonsill trache trich "
    "trigemin tympan ulcer ungu ureter urethr uter vagin valv vascul ven ventricul vertebr vesic vitre xanth"
)
SUFFIXES = (
    "aemia algia ary ase ation atic cele centesis cidal coele crine cyte cytosis desis ectasia ectomy emesis genesis "
    "genic gram graphy ia iasis ic id ine itis ium lysis lytic malacia megaly meter oid ol oma one opathy opia opsy "
    "osis ostomy otomy ous oxide pathic penia pexy phagia phasia philia plasty plegia pnoea poiesis ptosis rrhagia "
    "rrhaphy rrhoea schisis sclerosis scopy spasm stasis stenosis tripsy trophy uria ate amide azole cillin mab mycin"
)
COMMON = (
    "of disease acute left chronic disorder right syndrome due structure and type with entire in injury fracture the "
    "product tablet oral finding procedure protein upper to deficiency by primary congenital malignant neoplasm joint "
    "infection on without open lower region severe acid factor receptor cell other for human test level mild artery "
    "bone muscle nerve skin gene serum blood urine mass unspecified 1 2 3 10 mg a b ii iii"
)
OFFSET = 2.7  # Zipf-Mandelbrot: flattens the first ranks as in real text


class Words(NamedTuple):
    """A vocabulary, how likely each word is, and the parts that rare words are put together from.

    ``cumulative`` float64 (words) is the cumulative probability by rank.
    """

    words: Sequence[str]
    cumulative: npt.NDArray[np.float64]
    heads: Sequence[str]
    middles: Sequence[str]
    tails: Sequence[str]


def words_for(size: int, rng: np.random.Generator, kb: KnowledgeBase | None) -> Words:
    """Return a vocabulary of about `size` words in Zipf's order, the frequent words of `kb` first if there is one."""
    if kb is None:
        common, heads, middles, tails = (text.split() for text in (COMMON, PREFIXES, ROOTS, SUFFIXES))
    else:
        common, heads, middles, tails = _parts(kb)
    combined = list(dict.fromkeys(f"{a}{b}{c}" for a, b, c in _combinations(heads, middles, tails, size, rng)))
    known = set(common)
    words = [*common, *(word for word in combined if word not in known)]
    weights = 1.0 / (np.arange(len(words)) + OFFSET)
    cumulative = np.cumsum(weights) / weights.sum()
    return Words(words, cumulative, heads, middles, tails)


def _combinations(
    heads: Sequence[str], middles: Sequence[str], tails: Sequence[str], size: int, rng: np.random.Generator
) -> list[tuple[str, str, str]]:
    columns = [rng.integers(len(parts), size=size) for parts in (heads, middles, tails)]
    return [(heads[a], middles[b], tails[c]) for a, b, c in zip(*(column.tolist() for column in columns), strict=True)]


def _parts(kb: KnowledgeBase) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the words of `kb` by frequency, and the beginnings, middles and ends of its long words."""
    counts: Counter[str] = Counter()
    for name in kb.names():
        counts.update(name.text.lower().split())
    words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    long = [word for word in words if len(word) > 5 and word.isalpha()] or ROOTS.split()
    cuts = [(word[: len(word) // 2], word[len(word) // 3 : -len(word) // 3], word[len(word) // 2 :]) for word in long]
    heads, middles, tails = (list(dict.fromkeys(parts)) for parts in itertools.islice(zip(*cuts, strict=True), 3))
    return words, heads, middles, tails
