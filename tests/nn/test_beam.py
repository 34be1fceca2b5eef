"""Beam search under a prefix tree: what it writes is what Transformers writes, whatever the batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
import torch
from tests.tiny_models import tiny_bert, tiny_seq2seq
from torch import nn

from linnet.nn.beam import Ints, Written, search_beams
from linnet.nn.seq2seq import Seq2Seq
from linnet.nn.texts import padded
from linnet.text.token_batches import TokenText

BEAMS = 5


class Steps(NamedTuple):
    counts: Ints
    tokens: Ints
    targets: Ints


class Nested:
    """The plainest prefix tree: dictionaries in dictionaries, numbered."""

    root = 0

    def __init__(self, names: Sequence[tuple[int, ...]]) -> None:
        self.nodes: list[dict[int, int]] = [{}]
        self.written: dict[int, tuple[int, ...]] = {}
        for name in names:
            node = 0
            for token in name:
                if token not in self.nodes[node]:
                    self.nodes[node][token] = len(self.nodes)
                    self.nodes.append({})
                node = self.nodes[node][token]
            self.written[node] = name

    def step(self, states: Ints) -> Steps:
        pairs = [sorted(self.nodes[state].items()) for state in states.tolist()]
        flat = np.array([pair for own in pairs for pair in own], np.int64).reshape(-1, 2)
        return Steps(np.array([len(own) for own in pairs], np.int64), flat[:, 0], flat[:, 1])

    def allowed(self, tokens: Sequence[int]) -> list[int]:
        node: int | None = 0
        for token in tokens:
            node = None if node is None else self.nodes[node].get(token)
        return sorted(self.nodes[node]) if node is not None else []


@pytest.fixture(params=["bart", "t5", "pair"], scope="module")
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seq2Seq:
    """A network of random weights."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    if request.param == "pair":
        made = Seq2Seq.pair(tiny_bert(folder))
        with torch.no_grad():  # its new weights are so small that all tokens are about as probable
            for weight in cast("nn.Module", made.backbone.decoder).parameters():
                weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)), alpha=0.3)
        return made
    return Seq2Seq.load(tiny_seq2seq(folder, request.param))


def random_tree(network: Seq2Seq, count: int, *, seed: int) -> Nested:
    """A tree of random names, many of them beginnings of others."""
    rng = np.random.default_rng(seed)
    vocabulary = [token for token in range(4, min(14, len(network.tokenizer))) if token != network.end]
    names = [tuple(rng.choice(vocabulary, rng.integers(1, 7)).tolist()) for _ in range(count)]
    names += [name[: len(name) // 2] for name in names if len(name) > 2]
    return Nested([(*name, network.end) for name in dict.fromkeys(names)])


def asked(network: Seq2Seq, count: int) -> tuple[list[TokenText], Any]:
    rng = np.random.default_rng(5)
    texts = [
        TokenText(tuple(rng.integers(4, len(network.tokenizer), rng.integers(3, 12)).tolist()), (0, 1))
        for _ in range(count)
    ]
    prompts = [[network.start, 4 + n % 5, 5] for n in range(count)]
    return texts, prompts


def write(
    network: Seq2Seq, trees: Sequence[Nested], texts: Sequence[TokenText], prompts: Any, **options: Any
) -> list[list[Written]]:
    ids, mask, _ = padded(texts, padding=network.tokenizer.pad_token_id)
    with torch.inference_mode():
        return search_beams(network, trees, network.encode(ids, mask), mask, prompts, **options)


def by_transformers(
    network: Seq2Seq, tree: Nested, texts: Sequence[TokenText], prompts: Any, *, penalty: float
) -> list[list[tuple[tuple[int, ...], float]]]:
    """What ``transformers.generate`` writes, with scores; beams that no name is left for are left out."""
    ids, mask, _ = padded(texts, padding=network.tokenizer.pad_token_id)
    width, shown = len(prompts[0]), torch.tensor(prompts)
    found = network.backbone.generate(  # type: ignore[operator]
        input_ids=ids, attention_mask=mask, decoder_input_ids=shown, num_beams=BEAMS, num_return_sequences=BEAMS,
        max_new_tokens=12, length_penalty=penalty, early_stopping=False, eos_token_id=network.end,
        pad_token_id=network.tokenizer.pad_token_id, output_scores=True, return_dict_in_generate=True, do_sample=False,
        prefix_allowed_tokens_fn=lambda _, written: tree.allowed(written[width:].tolist()) or [network.end],
    )  # fmt: skip
    answers: list[list[tuple[tuple[int, ...], float]]] = [[] for _ in texts]
    for place, (tokens, score) in enumerate(
        zip(found.sequences[:, width:].tolist(), found.sequences_scores.tolist(), strict=True)
    ):
        name = tuple(tokens[: tokens.index(network.end) + 1]) if network.end in tokens else ()
        if score > -1e6 and name in tree.written.values():
            answers[place // BEAMS].append((name, score))
    return answers


@pytest.mark.parametrize("penalty", [1.0, 0.0, 2.0])
@pytest.mark.parametrize("count", [3, 40])
def test_it_writes_what_transformers_writes(network: Seq2Seq, count: int, penalty: float) -> None:
    tree = random_tree(network, count, seed=count)
    texts, prompts = asked(network, 8)
    ours = write(network, [tree] * 8, texts, prompts, beams=BEAMS, length_penalty=penalty)
    theirs = by_transformers(network, tree, texts, prompts, penalty=penalty)
    for mine, other in zip(ours, theirs, strict=True):
        assert [tree.written[one.state] for one in mine] == [name for name, _ in other]
        assert [one.score for one in mine] == pytest.approx([score for _, score in other], abs=1e-4)


def test_any_batch_gives_what_one_gives(network: Seq2Seq) -> None:
    trees = [random_tree(network, 10 + number % 3, seed=number % 3) for number in range(9)]
    texts, prompts = asked(network, 9)
    whole = write(network, trees, texts, prompts)
    alone = [write(network, trees[n : n + 1], texts[n : n + 1], prompts[n : n + 1])[0] for n in range(9)]
    assert [[one.state for one in own] for own in whole] == [[one.state for one in own] for own in alone]
    for own, other in zip(whole, alone, strict=True):
        assert [one.score for one in own] == pytest.approx([one.score for one in other], abs=1e-4)


def test_prompts_of_a_pair_may_differ_in_length(network: Seq2Seq) -> None:
    if not network.packed:
        pytest.skip("prompts of this network are of one length")
    trees = [random_tree(network, 12, seed=number) for number in range(7)]
    texts, prompts = asked(network, 7)
    ragged = [[*prompt, *range(5, 5 + number)] for number, prompt in enumerate(prompts)]
    whole = write(network, trees, texts, ragged)
    alone = [write(network, trees[n : n + 1], texts[n : n + 1], ragged[n : n + 1])[0] for n in range(7)]
    assert [[one.state for one in own] for own in whole] == [[one.state for one in own] for own in alone]
    for own, other in zip(whole, alone, strict=True):
        assert [one.score for one in own] == pytest.approx([one.score for one in other], abs=1e-4)


def test_as_many_beams_as_names_find_them_all_with_their_probabilities(network: Seq2Seq) -> None:
    tree = random_tree(network, 12, seed=4)
    texts, prompts = asked(network, 2)
    found = write(network, [tree, tree], texts, prompts, beams=len(tree.nodes), length_penalty=1.0)
    ids, mask, _ = padded(texts, padding=network.tokenizer.pad_token_id)
    for place, own in enumerate(found):
        assert sorted(tree.written[one.state] for one in own) == sorted(tree.written.values())
        for one in own:
            name = tree.written[one.state]
            following = torch.tensor([[*prompts[place][1:], *name]])
            with torch.inference_mode():
                encoded = network.encode(ids[place : place + 1], mask[place : place + 1])
                logs = network.logits(encoded, mask[place : place + 1], following).log_softmax(-1)[0]
            total = sum(float(logs[2 + n, token]) for n, token in enumerate(name))
            assert one.score == pytest.approx(total / len(name), abs=1e-4)


def test_names_longer_than_the_window_are_given_up(network: Seq2Seq) -> None:
    tree = Nested([(5, 6, 7, network.end), (5, network.end)])
    texts, prompts = asked(network, 1)
    [found] = write(network, [tree], texts, prompts, longest=3)
    assert [tree.written[one.state] for one in found] == [(5, network.end)]


def test_an_empty_tree_has_no_names(network: Seq2Seq) -> None:
    texts, prompts = asked(network, 2)
    empty, full = Nested([]), Nested([(5, network.end)])
    assert [len(own) for own in write(network, [empty, full], texts, prompts)] == [0, 1]
