"""Small corpora written by hand in the layouts of the published ones: name of the corpus -> files below its folder."""

from __future__ import annotations

import zipfile
from pathlib import Path

CRAFT_TEXT = "Lens fiber cells 🧬 grow.\n\nNeurons and epithelial cells of the lens.\n"
CRAFT = {
    "CRAFT-5.0.2/articles/txt/11319941.txt": CRAFT_TEXT,
    "CRAFT-5.0.2/articles/txt/12546709.txt": "No cells here, agenesis of the corpus callosum in XpdTTD.\n",
    "CRAFT-5.0.2/articles/ids/craft-ids-train.txt": "11319941\n",
    "CRAFT-5.0.2/articles/ids/craft-ids-dev.txt": "12546709\n",
    "CRAFT-5.0.2/concept-annotation/CL/CL/knowtator/11319941.txt.knowtator.xml": """<?xml version="1.0"?>
<annotations textSource="11319941.txt">
  <annotation>
    <mention id="CL_Instance_1" />
    <annotator id="CL_Instance_0">An annotator</annotator>
    <span start="0" end="16" />
    <spannedText>Lens fiber cells</spannedText>
  </annotation>
  <annotation>
    <mention id="CL_Instance_2" />
    <span start="39" end="55" />
    <span start="63" end="67" />
    <spannedText>epithelial cells ... lens</spannedText>
  </annotation>
  <annotation>
    <mention id="CL_Instance_3" />
    <span start="27" end="34" />
    <spannedText>Neurons</spannedText>
  </annotation>
  <annotation><mention id="CL_Instance_4" /></annotation>
  <classMention id="CL_Instance_1"><mentionClass id="CL:0011004">lens fiber cell</mentionClass></classMention>
  <classMention id="CL_Instance_2"><mentionClass id="CL:0002224">lens epithelial cell</mentionClass></classMention>
  <classMention id="CL_Instance_3"><mentionClass id="CL:0000540">neuron</mentionClass></classMention>
</annotations>
""",
    "CRAFT-5.0.2/concept-annotation/UBERON/UBERON/knowtator-2/11319941.txt.knowtator.xml": """<?xml version="1.0"?>
<knowtator-project>
  <document id="11319941" text-file="11319941.txt">
    <annotation annotator="An annotator" id="UBERON_1" type="identity">
      <class id="UBERON:0000965" label="lens of camera-type eye"/>
      <span end="4" id="11319941-1" start="0">Lens</span>
    </annotation>
    <graph-space id="Old Knowtator Relations"/>
  </document>
</knowtator-project>
""",
    "CRAFT-5.0.2/concept-annotation/CL/CL+extensions/knowtator/11319941.txt.knowtator.xml": """<?xml version="1.0"?>
<annotations textSource="11319941.txt">
  <annotation><mention id="X1" /><span start="5" end="10" /><spannedText>fiber</spannedText></annotation>
  <classMention id="X1"><mentionClass id="CL_EXT:fiber">fiber</mentionClass></classMention>
</annotations>
""",
}
MONDO = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<knowtator-project>
    <document id="12546709" text-file="12546709.txt">
        <annotation annotator="Default" id="12546709-1" motivation="" type="identity">
            <class id="http://purl.obolibrary.org/obo/MONDO_0009022" label="'corpus callosum, agenesis of'"/>
            <span end="26" id="12546709-2" start="15">agenesis of</span>
            <span end="46" id="12546709-3" start="31">corpus callosum</span>
        </annotation>{}
    </document>
</knowtator-project>
"""
GENOTYPE = """
        <annotation annotator="Default" id="12546709-4" motivation="" type="identity">
            <class id="http://purl.obolibrary.org/obo/MONDO_0018053" label="trichothiodystrophy"/>
            <span end="56" id="12546709-5" start="53">TTD</span>
        </annotation>"""
for kind, more in (("without", ""), ("with", GENOTYPE)):
    folder = f"CRAFT-5.0.2/concept-annotation/MONDO/MONDO_{kind}_genotype_annotations/knowtator-2"
    CRAFT[f"{folder}/12546709.xml"] = MONDO.format(more)
COMETA_HEAD = "ID\tTerm\tGeneral SNOMED Label\tGeneral SNOMED ID\tSpecific SNOMED Label\tSpecific SNOMED ID\tExample\n"
COMETA = {
    f"cometa/splits/{kind}/{split}.csv": COMETA_HEAD + rows
    for kind, rows in {
        "stratified_general": "1\ttummy ache\tAbdominal pain\t21522001\tStomach ache\t271681002\t"
        'I had "Tummy  ache" today\n'
        '2\tache\tPain\t22253000\tPain\t22253000\t"Headaches, and an ache."\n'
        "3\tmigraine\tMigraine\t37796009\tMigraine\t37796009\tMy head hurts\n",
        "zeroshot_specific": "4\tache\tPain\t22253000\tDull pain\t83644001\tan ache\n",
    }.items()
    for split in ("train", "dev", "test")
}
AAP = {
    f"datasets/AskAPatient/AskAPatient.fold-{fold}.{split}.txt": f"22253000\tpain\taching \xe9 all over {fold}\n"
    "21433011000036107\tparacetamol\ttylenol\nCONCEPT_LESS\tnone\tweird\n"
    for fold in range(10)
    for split in ("train", "validation", "test")
}
BIOC = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection><source>S</source>'
BIOC += "<date>D</date><key>K</key>"
GNORMPLUS_DOCUMENT = """<document><id>10064105</id><passage><infon key="type">title</infon><offset>0</offset>
<text>Human p53 and kinases.</text>
<annotation id="0"><infon key="type">Gene</infon><infon key="Gene">7157(Tax:9606)</infon>
<location offset="6" length="3"/><text>p53</text></annotation>
<annotation id="1"><infon key="type">FamilyName</infon><infon key="FamilyName">5594,5595</infon>
<location offset="15" length="7"/><text>kinases</text></annotation></passage>
<passage><infon key="type">abstract</infon><offset>22</offset><text>SH2 domains bind.</text>
<annotation id="2"><infon key="type">DomainMotif</infon>
<location offset="23" length="11"/><text>SH2 domains</text></annotation>
<annotation id="3"><infon key="type">Gene</infon><infon key="Gene">1</infon>
<location offset="23" length="6"/><text>absent</text></annotation></passage></document>"""
GNORMPLUS = {
    f"GNormPlusCorpus/{name}.BioC.xml": f"{BIOC}{GNORMPLUS_DOCUMENT}</collection>"
    for name in ("BC2GNtrain", "BC2GNtest", "NLMIAT")
}
NLM_GENE_DOCUMENT = """<document><id>24886643</id><passage><infon key="type">title</infon><offset>0</offset>
<text>TP53 and receptors.</text>
<annotation id="0"><infon key="NCBI Gene identifier">7157</infon><infon key="type">Gene</infon>
<location offset="0" length="4"/><text>TP53</text></annotation>
<annotation id="1"><infon key="NCBI Gene identifier">12458,12772;12775</infon><infon key="type">Gene</infon>
<location offset="9" length="9"/><text>receptors</text></annotation>
<annotation id="2"><infon key="NCBI Gene identifier">-111</infon><infon key="type">Gene</infon>
<location offset="9" length="9"/><text>receptors</text></annotation>
<annotation id="3"><infon key="NCBI Gene identifier">-</infon><infon key="type">Domain</infon>
<location offset="9" length="9"/><text>receptors</text></annotation></passage></document>"""
NLM_GENE = {
    "Corpus/Pmidlist.Train.txt": "24886643\n\n",
    "Corpus/Pmidlist.Test.txt": "24886643",
    "Corpus/FINAL/24886643.BioC.XML": f"{BIOC}{NLM_GENE_DOCUMENT}</collection>",
}
LINNAEUS = {
    "manual-corpus-species-1.0/tags.tsv": "#species id\tdocument\tstart\tend\ttext\tcode\n"
    "species:ncbi:4932\tpmcA102792\t0\t5\tYeast\t\n"
    "species:ncbi:10090?0.7|species:ncbi:10116?0.3\tpmcA102792\t11\t15\tmice\tl\n"
    "species:ncbi:9606\tpmcA102792\t17\t20\tmen\t\n",
    "manual-corpus-species-1.0/txt/pmcA102792.txt": "Yeast, and mice and men.\n",
    "manual-corpus-species-1.0/txt/pmcA200000.txt": "Nobody.\n",
}
S800 = {
    "S800.tsv": "4932\tsacch001:12345678\t0\t4\tYeast\n9606\tsacch001:12345678\t22\t24\tmen\n",
    "pubmedid.tsv": "sacch001\tPMID:12345678\tmycology\t5\tSome journal\nvir002\tPMID:2\tvirology\t7\tOther\n",
    "abstracts/sacch001.txt": "Yeast in general.\n\nOf men and yeast.\n",
    "abstracts/vir002.txt": "Nothing\n",
    "split/train.txt": "12345678\n",
    "split/devel.txt": "2\n",
    "split/test.txt": "",
}
BIOID_HEAD = "thomas_article,doi,don_article,figure,annot id,paper id,first left,last right,length,byte length,"
BIOID_HEAD += "left alphanum,text,right alphanum,obj,overlap,identical span,overlap_label_count\n"
BIOID = {
    "BioIDtraining_2/annotations.csv": BIOID_HEAD
    + "a,10.1/1,100,Figure_1-A,1,1,0,3,3,3,,p53,,NCBI gene:7157,,,1\n"
    + 'a,10.1/1,100,Figure_1-A,2,1,8,12,4,4,,"HeLa",,CVCL_0030,,,1\n'
    + "a,10.1/1,100,Figure_1-A,3,1,22,31,9,9,,lysosomes,,GO:0005764,,,1\n"
    + "a,10.1/1,100,Figure_1-A,4,1,16,20,4,4,,GFP,,protein:GFP,,,1\n"
    + "a,10.1/1,100,Figure_1-A,5,1,40,45,5,5,,liver,,Uberon:UBERON:0002107|Uniprot:P05201,,,1\n",
    "BioIDtraining_2/caption_bioc/100.xml": f"{BIOC}"
    '<document><id>1-A</id><infon key="pmc_id">100</infon><infon key="figure">Figure 1-A</infon>'
    '<infon key="sourcedata_figure_dir">Figure_1-A</infon><passage><offset>0</offset>'
    "<text>p53 of HeLa and GFP on lysosomes of the liver.</text>"
    '<annotation id="1"><location offset="99" length="3"/><text>p53</text></annotation></passage></document>'
    '<document><id>1-B</id><infon key="pmc_id">100</infon><infon key="sourcedata_figure_dir">Figure_1-B</infon>'
    "<passage><offset>0</offset><text>Nothing.</text></passage></document></collection>",
}
TMVAR = {
    "tmVar3Corpus.txt": "1|t|BRAF V600E and rs11169748.\n1|a|And c.35delG, R1K.\n1\t0\t4\tBRAF\tGene\t673\n"
    "1\t5\t10\tV600E\tProteinMutation\ttmVar:p|SUB|V|600|E;HGVS:p.V600E;VariantGroup:2;CorrespondingGene:673;"
    "RS#:113488022;CA#:123643\n"
    "1\t15\t25\trs11169748\tSNP\ttmVar:rs11169748;VariantGroup:20;RS#:11169748\n"
    "1\t31\t38\tc.35delG\tDNAMutation\ttmVar:c|DEL|35|G;HGVS:c.35delG;VariantGroup:0;CorrespondingGene:2706,1\n"
    "1\t41\t44\tR1K\tProteinMutation\tp|SUB|R|1|K\n\n"
}
EXCERPTS = {
    "ask_a_patient": AAP,
    "bioid": BIOID,
    "cometa": COMETA,
    "craft": CRAFT,
    "gnormplus": GNORMPLUS,
    "linnaeus": LINNAEUS,
    "nlm_gene": NLM_GENE,
    "s800": S800,
    "tmvar": TMVAR,
}


def put(folder: Path, name: str) -> Path:
    """Write the excerpt of a corpus into `folder` and return it."""
    for place, content in EXCERPTS[name].items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="latin-1" if name == "ask_a_patient" else "utf-8", newline="\n")
    return folder


def zipped(path: Path, name: str) -> bytes:
    """Return the excerpt of a corpus as a zip archive, written to `path`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for place, content in EXCERPTS[name].items():
            out.writestr(place, content.encode("latin-1" if name == "ask_a_patient" else "utf-8"))
    return path.read_bytes()
