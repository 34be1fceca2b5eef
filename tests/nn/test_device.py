from __future__ import annotations

import itertools
import time

import pytest
import torch

from linnet.errors import LinnetError
from linnet.nn import device
from linnet.nn.device import autocast, bf16_gain, choose_device, has_bf16

CPU = torch.device("cpu")


def test_the_environment_decides_what_is_automatic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_DEVICE", "cpu")
    assert choose_device() == CPU
    monkeypatch.setenv("LINNET_DEVICE", "gpu")
    with pytest.raises(LinnetError, match=r"'gpu' \(from LINNET_DEVICE\): not there; what there is: auto, .*cpu"):
        choose_device()
    assert choose_device("cpu") == CPU


def test_the_fastest_there_is_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device() == CPU
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device().type == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device().type == "cuda"
    assert choose_device("cuda:1").index == 1
    with pytest.raises(LinnetError, match="'cuda:2': not there"):
        choose_device("cuda:2")


def test_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("cuda", "cpu:x", "quantum", "", "cpu:1"):
        with pytest.raises(LinnetError, match="not there"):
            choose_device(name)


def test_bf16_is_used_where_the_processor_has_it_and_gains_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    one = torch.ones(2, 2)
    for has, gain in ((True, 2.0), (True, 0.6), (False, 2.0)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda has=has: {"avx512_bf16": has}, raising=False)
        monkeypatch.setattr(device, "bf16_gain", lambda gain=gain: gain)
        assert has_bf16(CPU) == (has and gain > 1)
        with autocast(CPU):
            assert (one @ one).dtype == (torch.bfloat16 if has and gain > 1 else torch.float32)
    assert not has_bf16(torch.device("mps"))


def test_the_gain_is_that_of_the_fastest_runs_and_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # seconds of float32 and bfloat16 in turns; the first of each warms up, others are slow beside other work
    runs = [9, 9, 3, 5, 4, 2, 3, 2, 7, 8]
    clock = itertools.accumulate(itertools.chain.from_iterable((0, seconds) for seconds in runs))
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    bf16_gain.cache_clear()
    try:
        assert bf16_gain() == 1.5
        assert bf16_gain() == 1.5
    finally:
        bf16_gain.cache_clear()


def test_it_can_be_asked_for_and_refused() -> None:
    one = torch.ones(2, 2)
    with autocast(CPU, bf16=True):
        assert (one @ one).dtype == torch.bfloat16
        with autocast(CPU, bf16=False):
            assert (one @ one).dtype == torch.float32
