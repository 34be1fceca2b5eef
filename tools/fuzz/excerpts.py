"""Seeds of fuzzing: small files of formats that are only read, and of vocabularies with more in them than names."""

from __future__ import annotations

import json
from pathlib import Path

from tests.vocabularies import test_damaged

MESH = Path(test_damaged.__file__).parent / "mesh"
TEXT = "Breast and ovarian cancer (BOC) in β-thalassemia.\nSeizures, 🧬 and fits.\n"
PUBMED = b"""<?xml version="1.0" encoding="utf-8"?>
<PubmedArticleSet><PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">9</PMID><Article>
<ArticleTitle>A <i>title</i>.</ArticleTitle><Abstract><AbstractText Label="AIM">One.</AbstractText>
<AbstractText Label="END">Two.</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>
"""
WEBANNO = """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value


#Text=Renal \U0001fad8 cysts .
1-1\t0-5\tRenal\thttp://purl.obolibrary.org/obo/HP_0000107[1]|*[2]\tDisease[1]|Organ[2]\t
1-2\t6-8\t\U0001fad8\thttp://purl.obolibrary.org/obo/HP_0000107[1]\tDisease[1]\t
1-3\t9-14\tcysts\t_\t_\t
1-3.1\t9-11\tcy\t*\t*\t
1-4\t15-16\t.\t_\t_\t
"""
JATS = """<article><front><article-meta><article-id pub-id-type="pmc">35</article-id>
<title-group><article-title>Renal <italic>cysts</italic></article-title></title-group>
<abstract><sec><title>Background</title><p>Cysts occur.</p></sec></abstract></article-meta></front>
<body><sec sec-type="methods"><title>Methods</title><p>Given x<sub>2</sub> to
<list><list-item><p>rats</p></list-item></list>.
<table-wrap><label>Table 1</label>
<table><tr><th>Drug</th></tr><tr><td>Lithium</td></tr></table></table-wrap></p></sec></body>
</article>"""
MEDCAT = {
    "start": 7, "end": 11, "value": "knee", "cui": "S-72696002", "id": 9, "user": "ann", "validated": True,
    "correct": True, "deleted": False, "alternative": False, "killed": False, "manually_created": False, "acc": 1.0,
    "meta_anns": [{"name": "Experiencer", "value": "Patient", "acc": 1.0, "validated": True}],
}  # fmt: skip
MEDCAT_DOCUMENT = {"id": 7, "name": "n", "text": "A left knee.", "last_modified": "2020", "annotations": [MEDCAT]}
REGION = {
    "value": {"start": 2, "end": 13, "text": "Renal cysts", "labels": ["Disease"]},
    "id": "r1", "from_name": "label", "to_name": "note", "type": "labels",
}  # fmt: skip
TASK = {
    "id": 5, "data": {"note": "A Renal cysts."}, "predictions": [],
    "annotations": [{"id": 1, "completed_by": 1, "result": [REGION], "was_cancelled": False, "ground_truth": False}],
}  # fmt: skip
EXCERPTS: dict[str, dict[str, bytes]] = {  # of formats that are only read
    "jats": {"x.nxml": JATS.encode()},
    "label_studio": {"x.json": json.dumps([TASK]).encode()},
    "medcat": {"x.json": json.dumps({"projects": [{"name": "k", "id": 1, "documents": [MEDCAT_DOCUMENT]}]}).encode()},
    "webanno": {"x.tsv": WEBANNO.encode()},
    "pubmed": {"x.xml": PUBMED},
    "pubmed_release": {"pubmed25n0001.xml": PUBMED},
    "text": {"x.txt": TEXT.encode()},
    "text_lines": {"x.txt": TEXT.encode()},
}
OBO = r"""format-version: 1.2
default-namespace: z

[Term] ! the first
id: Z:1 ! lion
name: Lion \(male\) {xref="PMID:1"} ! king
alt_id: Z:11
def: "A \"big\" cat\: large, {tawny}! \nTwo lines." [PMID:1, http\://x.y/\]] {source="a"}
synonym: "leo" EXACT latin [PMID:1]
synonym: "big \"cat\"  here" BROAD []
synonym: "cub" NARROW layperson [] {modifier="1"} ! note
exact_synonym: "panthera" []
xref: UMLS:C1 "lion" {source="x"}
is_a: Z:2 {source="x"} ! cat
relationship: part_of Z:2 ! cat
subset: small

[Term]
id: Z:2
name: cat

[Term]
id: Z:3
name: obsolete tiger
is_obsolete: true
replaced_by: Z:1
consider: Z:2

[Typedef]
id: part_of
name: part of
is_transitive: true
"""
MESH_SUPPLEMENT = """*NEWRECORD
RECTYPE = C
NM = lithium test
RN = 52665-69-7
SY = Li test|T109|LAB|NRW|UNK (19XX)|900308|abcdef
HM = *Lead/analogs & derivatives
HM = Signs
NO = a supplementary record
ST = T109
UI = C000101

"""
CONCEPTS = [
    {"id": "X:1", "names": [{"text": "one"}, {"text": "first", "scope": "broad", "language": "de", "source": "s"}],
     "definition": "The first.", "types": ["T"], "parents": ["X:2"], "xrefs": ["Y:1"]},
    {"id": "X:2", "names": [{"text": "two"}]},
    {"id": "X:3", "names": [{"text": "three"}], "replaced_by": "X:1"},
    {"id": "X:4", "names": [{"text": "four"}], "replaced_by": ""},
]  # fmt: skip
COLUMNS = "id\tname\tsynonyms\ttypes\tdefinition\tparents\txrefs\treplaced_by\tlanguage\tscope\n"
TABLE = f"{COLUMNS}X:1\tone\tfirst|1st\tT|U\tThe first.\tX:2\tY:1|Z:1\t\ten\tbroad\n"
TABLE += "X:2\ttwo\t\t\t\t\t\t\t\t\nX:3\tthree\t\t\t\t\t\tX:1\t\t\n"
ROWS = [
    {"id": "X:1", "name": "one", "synonyms": ["first"], "types": "T|U", "parents": ["X:2"], "scope": "related"},
    {"id": "X:2", "name": "two"}, {"id": "X:3", "name": "", "replaced_by": "-"},
]  # fmt: skip
VOCABULARIES: dict[str, tuple[bytes, ...]] = {  # besides what `tests.vocabularies.test_damaged` has of each
    "concepts": ("".join(f"{json.dumps(one)}\n" for one in CONCEPTS).encode(),),
    "hpo": (OBO.replace("Z:", "HP:000000").encode(),),
    "mesh": (
        (MESH / "descriptors.bin").read_bytes(),
        b"<DescriptorRecordSet>" + (MESH / "fever.xml").read_bytes() + b"</DescriptorRecordSet>",
        MESH_SUPPLEMENT.encode(),
    ),
    "obo": (OBO.encode(),),
    "table": (
        TABLE.encode(),
        TABLE.replace("\t", ";").encode(),
        "".join(f"{json.dumps(one)}\n" for one in ROWS).encode(),
    ),
}
