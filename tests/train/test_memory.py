"""What a training does about memory that would grow with every new size of a batch."""

from __future__ import annotations

import ctypes
import os

import pytest

from linnet.train.memory import KERNELS, keep_few_kernels, trim


def test_what_the_user_says_of_kernels_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KERNELS, "7")
    keep_few_kernels()
    assert os.environ[KERNELS] == "7"
    monkeypatch.delenv(KERNELS)
    keep_few_kernels()
    assert 0 < int(os.environ[KERNELS]) < 1024, "what oneDNN keeps by itself"


def test_memory_is_given_back_where_the_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    trim()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    trim()  # another library than glibc
