"""What `Meter` says of a block of code."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from linnet.evaluate import meter as module
from linnet.evaluate.meter import Meter, memory, peak_resident


def test_memory_is_the_peak_of_the_block_and_files_apart() -> None:
    with Meter() as before:
        pass
    with Meter() as meter:
        held = np.ones(8 << 20)  # 64 MiB
        looked = False
        while not looked and meter.anonymous is not None:  # until the sampling thread has had its turn
            looked = meter.anonymous - (before.anonymous or 0) > 50 << 20
            time.sleep(0.01)
        assert held.sum() > 0
        del held
    if meter.anonymous is None or before.anonymous is None:
        pytest.skip("this system does not tell anonymous memory")
    assert meter.anonymous - before.anonymous > 50 << 20
    assert meter.mapped is not None


@pytest.mark.parametrize("text", [None, "", "RssAnon:\t\n", "RssAnon:\t 5 kB\n", "no colon"])
def test_systems_that_do_not_tell_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    path = tmp_path / "status"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(module, "STATUS", path)
    assert memory() is None
    with Meter() as meter:
        pass
    assert (meter.anonymous, meter.mapped) == (None, None)
    assert meter.seconds > 0


def test_what_is_resident_now_is_no_more_than_the_peak() -> None:
    now = memory()
    if now is None:
        pytest.skip("this system does not tell anonymous memory")
    assert 0 < now.anonymous < peak_resident() * 1.1
