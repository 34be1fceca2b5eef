"""The prefix tree of names against nested dicts, its file, and names as tokenizers see them."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Concept, Name
from linnet.errors import DataError, LinnetWarning
from linnet.kb import KnowledgeBase, Mask
from linnet.kb.edit import edit
from linnet.nn import trie_build
from linnet.nn.trie import Trie, TrieFile

END, VOCABULARY, CONCEPTS = 3, 6, 5
Tokens = tuple[int, ...]
TEXTS = (
    "cold", "colds", "Cold", "common cold", "c", "€", "heart attack", "heart", "heart attacks of the heart",
    "🦠", "👩‍⚕️ visit", "Ω-3", "1", "x" * 300, " ".join(["renal cyst"] * 30), "palate [SEP] cleft", "cleft, palate",
)  # fmt: skip


# --- a reference -----------------------------------------------------------------------------------------------------


def reference(names: Sequence[tuple[int, Tokens]]) -> dict[int, Any]:
    """Return a tree of nested dicts: token → tree, and in the end −1 → [(name, concept)]."""
    tree: dict[int, Any] = {}
    for row, (concept, tokens) in enumerate(names):
        node = tree
        for token in (*tokens, END):
            node = node.setdefault(token, {})
        node.setdefault(-1, []).append((row, concept))
    return tree


def assert_same(trie: Trie, tree: dict[int, Any]) -> None:
    """Walk through both, a level of all states at a time."""
    level = [(trie.root, tree)]
    while level:
        counts, tokens, targets = trie.step(np.array([state for state, _ in level]))
        assert [array.dtype for array in (counts, tokens, targets)] == [np.int64] * 3
        assert counts.tolist() == [len(node.keys() - {-1}) for _, node in level]
        assert tokens.tolist() == [token for _, node in level for token in sorted(node.keys() - {-1})]
        for state, node in level:
            assert trie.names(state).tolist() == [row for row, _ in node.get(-1, [])]
            assert trie.concepts(state).tolist() == sorted({concept for _, concept in node.get(-1, [])})
        children = [node[token] for _, node in level for token in sorted(node.keys() - {-1})]
        level = list(zip(targets.tolist(), children, strict=True))


def tree_of(names: Sequence[tuple[int, Tokens]]) -> Trie:
    """Return the tree of names that are tokens already."""
    given = [(row, concept, str(row)) for row, (concept, _) in enumerate(names)]
    return Trie.of(given, lambda rows: [list(names[int(row)][1]) for row in rows], end=END, vocabulary=VOCABULARY)


def mask(*concepts: int) -> Mask:
    return Mask(np.isin(np.arange(CONCEPTS), concepts), "")


def walk(trie: Trie) -> Iterator[tuple[Tokens, list[int]]]:
    """Yield the tokens of everything that can be generated, and the names that it is."""
    states = [trie.root]
    written: list[Tokens] = [()]
    while states:
        counts, tokens, states_behind = trie.step(states)
        of = np.repeat(np.arange(len(states)), counts)
        written = [(*written[place], token) for place, token in zip(of.tolist(), tokens.tolist(), strict=True)]
        states = states_behind.tolist()
        for state, own in zip(states, written, strict=True):
            if len(rows := trie.names(state)):
                yield own, rows.tolist()


some_tokens = st.lists(st.sampled_from([token for token in range(VOCABULARY) if token != END]), min_size=1, max_size=7)
some_names = st.lists(st.tuples(st.integers(0, CONCEPTS - 1), some_tokens.map(tuple)), max_size=25)
some_concepts = st.sets(st.integers(0, CONCEPTS - 1)).map(lambda rows: mask(*rows))


@given(some_names)
def test_it_is_what_nested_dicts_are(names: list[tuple[int, Tokens]]) -> None:
    assert_same(tree_of(names), reference(names))


@given(some_names, some_concepts, some_concepts)
def test_restricted_it_is_the_tree_of_the_names_that_stay(
    names: list[tuple[int, Tokens]], allowed: Mask, also: Mask
) -> None:
    trie = tree_of(names)
    restricted = trie.allowing(allowed)
    for found, concepts in (
        (restricted, allowed),
        (restricted.allowing(also), allowed & also),
        (trie, mask(*range(5))),
    ):
        tree = reference(names)
        for path in prune(tree, concepts):
            assert found.find(path) is None
        assert_same(found, tree)


def prune(tree: dict[int, Any], allowed: Mask, path: Tokens = ()) -> Iterator[Tokens]:
    """Take from nested dicts what leads to no allowed concept, and yield what that was."""
    if -1 in tree:
        tree[-1] = [(row, concept) for row, concept in tree[-1] if concept in allowed]
    for token in [token for token in tree if token != -1]:
        yield from prune(tree[token], allowed, (*path, token))
        if not any(tree[token].values()):
            del tree[token]
            yield (*path, token)


@given(some_names, some_tokens)
def test_beginnings_are_found_and_nothing_else(names: list[tuple[int, Tokens]], tokens: list[int]) -> None:
    trie = tree_of(names)
    for _, own in names:
        assert trie.find(own) is not None
    assert (trie.find(tokens) is None) == (not any(own[: len(tokens)] == tuple(tokens) for _, own in names))
    whole = trie.find([*tokens, END])
    same = [row for row, (_, own) in enumerate(names) if own == tuple(tokens)]
    assert (trie.names(whole).tolist() if whole is not None else []) == same


def test_states_are_taken_in_any_order_and_more_than_once() -> None:
    trie = tree_of([(0, (1, 2)), (1, (1, 2, 2)), (2, (4,)), (3, (1, 2))])
    assert trie.find([]) == trie.root == 0
    begun, ended, root = trie.find([1, 2]), trie.find([4, END]), trie.root
    counts, tokens, targets = trie.step(np.array([begun, ended, root, begun, root]))
    assert counts.tolist() == [2, 0, 2, 2, 2]
    assert tokens.tolist() == [2, END, 1, 4, 2, END, 1, 4]
    assert targets[0] == targets[4] == trie.find([1, 2, 2])
    assert trie.names(int(targets[1])).tolist() == [0, 3]
    assert [len(array) for array in trie.step(np.empty(0, np.int64))] == [0, 0, 0]


def test_a_tree_of_no_names_leads_nowhere() -> None:
    trie = tree_of([])
    for empty in (trie, trie.allowing(mask(1)), tree_of([(0, (1, 2)), (0, (1,))]).allowing(mask(1))):
        assert empty.step([0]).counts.tolist() == [0]
        assert empty.find([1]) is None
        assert empty.names(0).tolist() == empty.concepts(0).tolist() == []


@pytest.mark.parametrize("end", [0, 1, 4])
@pytest.mark.parametrize("vocabulary", [5, 1 << 16, 250_000])
def test_any_token_may_end_names_of_any_vocabulary(end: int, vocabulary: int) -> None:
    other = [token for token in (0, 1, vocabulary - 1) if token != end]
    sequences = [other[:1], other, other[1:]]
    trie = Trie.of(
        [(n, n, str(n)) for n in range(3)], lambda _: list(map(list, sequences)), end=end, vocabulary=vocabulary
    )
    assert dict(walk(trie)) == {(*own, end): [row] for row, own in enumerate(sequences)}


@pytest.mark.parametrize("chunk", [1, 2, 1000])
def test_names_come_in_chunks(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(trie_build, "CHUNK", chunk)
    monkeypatch.setattr(trie_build, "BLOCK", chunk)
    names = [(n % CONCEPTS, tuple(token for token in (n % 3, n % 5, n % 2) if token != END)) for n in range(20)]
    assert_same(tree_of(names), reference(names))


def test_long_names_that_begin_each_other() -> None:
    names = [(n % CONCEPTS, (1,) * n) for n in (1, 40, 2, 1_000, 41, 999)]
    trie = tree_of(names)
    assert_same(trie, reference(names))
    assert {len(own) - 1 for own, _ in walk(trie.allowing(mask(0)))} == {1_000, 40}


def test_many_names_that_share_beginnings_and_ends() -> None:
    rng = np.random.default_rng(13)
    others = np.array([token for token in range(VOCABULARY) if token != END])
    drawn = [tuple(rng.choice(others, rng.integers(1, 9)).tolist()) for _ in range(3_000)]
    names = [(int(rng.integers(CONCEPTS)), tokens) for tokens in drawn]
    trie = tree_of(names)
    assert_same(trie, reference(names))
    tree = reference(names)
    assert len(list(prune(tree, mask(2)))) > 1_000
    assert_same(trie.allowing(mask(2)), tree)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [([1, END, 2], "'1' holds the token 3, which is to end names"), ([1, 6], "'1' holds the token 6, expected 0 to 5"),
     ([-1], "holds the token -1")],
)  # fmt: skip
def test_tokens_that_cannot_be_are_refused(tokens: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        tree_of([(0, (1, 2)), (1, tuple(tokens))])


def test_an_end_that_is_no_token_is_refused() -> None:
    with pytest.raises(DataError, match="end is 7, expected a token from 0 to 6"):
        Trie.of([], lambda _: [], end=7, vocabulary=7)


# --- the file --------------------------------------------------------------------------------------------------------

LETTERS = 0x110000


def letters(texts: Sequence[str]) -> list[list[int]]:
    return [list(map(ord, text)) for text in texts]


def file_of(kb: KnowledgeBase, fingerprint: str = "letters", form: Callable[[str], str] = str) -> TrieFile:
    return TrieFile(kb, letters, end=0, vocabulary=LETTERS, fingerprint=fingerprint, form=form)


def spelled(trie: Trie) -> dict[str, list[int]]:
    return {"".join(map(chr, own[:-1])): rows for own, rows in walk(trie)}


def wanted(kb: KnowledgeBase, form: Callable[[str], str] = str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for name in kb.names():
        found.setdefault(form(name.text), []).append(name.row)
    return found


@pytest.fixture
def own(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """A knowledge base that may be edited."""
    (tmp_path / "own.kb").write_bytes(kb.path.read_bytes())
    return KnowledgeBase.open(tmp_path / "own.kb")


def test_the_names_of_a_knowledge_base_can_be_generated_and_nothing_else(own: KnowledgeBase) -> None:
    made = file_of(own)
    assert spelled(made.current()) == wanted(own)
    assert made.files == [made.path]
    trie = TrieFile(
        own, lambda _: pytest.fail("made again"), end=0, vocabulary=LETTERS, fingerprint="letters"
    ).current()
    assert spelled(trie) == wanted(own)
    cold = trie.find([*letters(["Cold"])[0], 0])
    assert cold is not None
    assert trie.concepts(cold).tolist() == [own.row("X:1"), own.row("X:2")]
    assert "Old seizure" not in spelled(trie)  # retired


def test_it_follows_edits(own: KnowledgeBase) -> None:
    before = file_of(own)
    before.current()
    with edit(own.path) as change:
        change.add(Concept("X:3", (Name("Cold"), Name("Colder"))))
        change.retire("HP:0001250")
    kb = KnowledgeBase.open(own.path)
    trie = file_of(kb).current()
    assert file_of(kb).path == before.path
    assert spelled(trie) == wanted(kb)
    assert "Seizure" not in spelled(trie)
    assert len(spelled(trie)["Cold"]) == 3


def test_another_tokenizer_and_another_form_have_files_of_their_own(own: KnowledgeBase) -> None:
    as_is, lower = file_of(own), file_of(own, "letters, lower", str.lower)
    assert spelled(as_is.current()) == wanted(own)
    assert spelled(lower.current()) == wanted(own, str.lower)
    assert as_is.path != lower.path
    assert len({as_is.path, lower.path, TrieFile(own, letters, end=1, vocabulary=99, fingerprint="letters").path}) == 3


def test_names_without_tokens_are_left_out_and_told(own: KnowledgeBase) -> None:
    def form(text: str) -> str:
        return "" if "eizure" in text else text

    with pytest.warns(LinnetWarning, match="3 names have no tokens and cannot be generated: 'Seizure'"):
        trie = file_of(own, "no seizures", form).current()
    assert spelled(trie) == {text: rows for text, rows in wanted(own).items() if "eizure" not in text}


def test_only_what_is_allowed_can_be_generated(own: KnowledgeBase) -> None:
    allowed = own.mask(types=["Disease"])
    trie = file_of(own).current().allowing(allowed)
    wanted = {name.text: [name.row] for name in own.names() if name.concept in allowed}
    assert spelled(trie) == wanted == {"Cold": wanted["Cold"], "Common cold": wanted["Common cold"]}


# --- tokenizers ------------------------------------------------------------------------------------------------------


def check(trie: Trie, tokens: list[list[int]], end: int) -> None:
    """Compare what can be generated with the tokens of names, and which names it is said to be."""
    found: dict[Tokens, list[int]] = {}
    for row, own in enumerate(tokens):
        found.setdefault((*own, end), []).append(row)
    assert dict(walk(trie)) == found


def test_word_pieces_of_minilm() -> None:
    from linnet.nn.encoder import Encoder

    encoder = Encoder.load("minilm")
    end, vocabulary = encoder.tokenizer.sep_token_id, len(encoder.tokenizer)
    trie = Trie.of([(n, n, text) for n, text in enumerate(TEXTS)], encoder.pieces, end=end, vocabulary=vocabulary)
    check(trie, encoder.pieces(TEXTS), end)
    cold = trie.find([*encoder.pieces(["cold"])[0], end])
    assert cold is not None
    assert trie.names(cold).tolist() == [0, 2]  # whatever their case


def test_bytes_that_merge_otherwise_behind_a_blank() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["a heart attack of the heart", "the renal cyst", "heart"] * 3, trainer)

    def pieces(texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    assert pieces(["heart"])[0] != pieces([" heart"])[0]
    names = [(n, n, text) for n, text in enumerate(TEXTS)]
    for form in (str, lambda text: f" {text}"):
        texts = [form(text) for text in TEXTS]
        trie = Trie.of(
            ((row, concept, form(text)) for row, concept, text in names), pieces, end=0,
            vocabulary=tokenizer.get_vocab_size(),
        )  # fmt: skip
        check(trie, pieces(texts), 0)
        assert {tokenizer.decode(list(own[:-1])) for own, _ in walk(trie)} == set(texts)


@given(st.lists(st.text(string.ascii_lowercase[:3] + "é🦠 ", min_size=1, max_size=12), max_size=12))
def test_names_of_any_letters(texts: list[str]) -> None:
    trie = Trie.of(
        [(n, n, text) for n, text in enumerate(texts)], lambda some: [list(text.encode()) for text in some], end=255,
        vocabulary=256,
    )  # fmt: skip
    assert {bytes(own[:-1]).decode(): rows for own, rows in walk(trie)} == {
        text: [row for row, other in enumerate(texts) if other == text] for text in texts
    }
