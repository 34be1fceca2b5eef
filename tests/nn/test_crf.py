"""Chains of labels against all rows written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from linnet.nn.crf import Rules, log_partition, rules_of
from linnet.text.chains import backward, best, forward, log_sum
from linnet.text.tagging import Scheme, faults

LABELS = ["O", "B-A", "I-A", "B-B", "I-B"]


def random_rules(count: int, seed: int = 0) -> Rules:
    torch.manual_seed(seed)
    return Rules(torch.randn(count), torch.randn(count, count), torch.randn(count))


def score(row: tuple[int, ...], emissions: Tensor, rules: Rules) -> float:
    total = rules.begin[row[0]] + rules.end[row[-1]] + sum(emissions[place, label] for place, label in enumerate(row))
    return float(total + sum(rules.follow[pair] for pair in itertools.pairwise(row)))


@pytest.mark.parametrize("length", [1, 2, 4])
def test_sum_and_best_are_those_of_all_rows_written_out(length: int) -> None:
    rules = random_rules(3)
    emissions = torch.randn(2, 4, 3)
    lengths = torch.tensor([length, 4])
    sums = log_partition(emissions, lengths, rules)
    for row, count in enumerate(lengths.tolist()):
        ways = list(itertools.product(range(3), repeat=count))
        scores = [score(way, emissions[row], rules) for way in ways]
        assert float(sums[row]) == pytest.approx(float(np.logaddexp.reduce(scores)), abs=1e-4)
        assert best(emissions.numpy(), lengths.numpy(), rules.arrays())[row] == list(ways[int(np.argmax(scores))])


def test_forward_and_backward_meet_at_every_word() -> None:
    rules, emissions, lengths = random_rules(4), torch.randn(3, 6, 4), torch.tensor([6, 2, 1])
    whole = log_partition(emissions, lengths, rules)
    given, some = (emissions.numpy(), rules.arrays())
    meeting = log_sum(forward(given, some) + backward(given, lengths.numpy(), some), 2)
    for row, length in enumerate(lengths.tolist()):
        np.testing.assert_allclose(meeting[row, :length], float(whole[row]), atol=1e-4)


@pytest.mark.parametrize("scheme", ["BIO", "BIOES", "BILOU"])
def test_the_best_labels_break_no_rule(scheme: Scheme) -> None:
    marks = {"BIO": "BI", "BIOES": "BIES", "BILOU": "BILU"}[scheme]
    labels = ["O", *(f"{mark}-{kind}" for kind in "AB" for mark in marks)]
    torch.manual_seed(1)
    emissions, lengths = torch.randn(20, 9, len(labels)) * 3, torch.arange(20) % 9 + 1
    for row in best(emissions.numpy(), lengths.numpy(), rules_of(labels, scheme).arrays()):
        assert faults([labels[label] for label in row], scheme) == []


def test_the_sum_has_a_gradient_where_labels_are_forbidden() -> None:
    emissions = torch.randn(2, 5, len(LABELS), requires_grad=True)
    log_partition(emissions, torch.tensor([5, 3]), rules_of(LABELS, "BIO")).sum().backward()  # type: ignore[no-untyped-call]
    assert emissions.grad is not None
    assert emissions.grad.isfinite().all()
    assert torch.allclose(emissions.grad[0].sum(dim=1), torch.ones(5), atol=1e-4)  # marginals of each word
