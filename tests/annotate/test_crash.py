"""Many writers at once, and writers that are killed: what was acknowledged is there, once (I3, I14)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from linnet.annotate.commands import apply
from linnet.annotate.problems import ConflictError
from linnet.annotate.store import Store, open_store
from tests.annotate.desk import Desk, command

# A process that has imported all it needs, and forks a writer for each line it is given.
WRITERS = """
import os, sys
from linnet.annotate.acts import Command
from linnet.annotate.commands import apply
from linnet.annotate.store import open_store

def write(where, stream, user, name, seq):
    store, seq, number = open_store(where), int(seq), 0
    while True:
        id = f"{name}-{number}"
        print("sends", id, seq, flush=True)
        one = Command(id=id, op="link", mention="g1", concepts=[id])
        seq = apply(store, int(stream), int(user), [one], seq).seq
        print("has", id, seq, flush=True)
        number += 1

for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        write(*line.rstrip("\\n").split("\\t"))
    print("pid", pid, 0, flush=True)
    os.waitpid(pid, 0)
    print("\\ndead", 0, 0, flush=True)
"""


def life(writers: subprocess.Popen[str], arguments: list[str], chance: random.Random) -> list[list[str]]:
    """Start a writer, kill it at a random moment, and return what it has said."""
    assert writers.stdin is not None
    assert writers.stdout is not None
    writers.stdin.write("\t".join(arguments) + "\n")
    writers.stdin.flush()
    said, enough, pid = [writers.stdout.readline().split()], chance.randint(0, 6), 0
    while not pid or len(said) < enough:
        pid = next((int(one[1]) for one in said if one[:1] == ["pid"]), 0)
        said.append(writers.stdout.readline().split())
    time.sleep(chance.random() * 0.03)
    os.kill(pid, signal.SIGKILL)
    while said[-1][:1] != ["dead"]:
        said.append(writers.stdout.readline().split())
    return [one for one in said if len(one) == 3]


def kill_writers(where: str, times: int, seed: int) -> None:
    """Kill so many writers; after each, what it was told is stored, and its last command can be sent again."""
    chance, acknowledged = random.Random(seed), list[str]()
    store = open_store(where)
    desk = Desk.open(store)
    command_line = [sys.executable, "-c", WRITERS]
    with subprocess.Popen(command_line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writers:
        for number in range(times):
            name = f"w{desk.stream}-{number}"
            said = life(writers, [where, str(desk.stream), str(desk.user), name, str(desk.read().seq)], chance)
            acknowledged += [id for verb, id, _ in said if verb == "has"]
            stored = [event.command for event in desk.events()]
            assert set(acknowledged) <= set(stored)
            sent = [(id, seq) for verb, id, seq in said if verb == "sends"]
            for id, seq in sent[-1:]:  # it may have been done or not
                again = command("link", "g1", concepts=[id]).model_copy(update={"id": id})
                apply(store, desk.stream, desk.user, [again], int(seq))
                acknowledged += [id] if id not in acknowledged else []
        assert writers.stdin is not None
        writers.stdin.close()
    assert [event.command for event in desk.events()] == acknowledged
    assert acknowledged
    assert desk.problems() == []
    store.close()


@pytest.mark.slow
def test_a_killed_writer_loses_nothing(where: str) -> None:
    kill_writers(where, 5, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_killed_writers_lose_nothing(where: str, seed: int) -> None:
    """Two hundred of them with ``LINNET_LOOP=full``, else as many as continuous integration has time for."""
    kill_writers(where, 50 if os.environ.get("LINNET_LOOP") == "full" else 10, seed=10 + seed)


@pytest.mark.slow
def test_many_writers_lose_nothing(store: Store, pool: ThreadPoolExecutor) -> None:
    """Eight writers, two on each of four documents: all are stored, in order, whoever was first."""
    desks = [Desk.open(store) for _ in range(4)]

    def write(number: int) -> list[str]:
        desk, mine, kept = desks[number % 4], random.Random(number), []
        for _ in range(12):
            one = command("link", mine.choice(["g1", "g2"]), concepts=[f"HP:{number}"])
            seq = desk.read().seq
            try:
                answer = desk.send(one, seq=seq)
            except ConflictError:
                continue
            assert desk.send(one, seq=seq) == answer
            if answer.mentions:
                kept.append(one.id)
        return kept

    acknowledged = [id for ids in pool.map(write, range(8)) for id in ids]
    stored = [event.command for desk in desks for event in desk.events()]
    assert sorted(acknowledged) == sorted(filter(None, stored))
    assert [desk.problems() for desk in desks] == [[], [], [], []]


@pytest.mark.slow
def test_two_processes_open_one_folder_at_once(tmp_path: Path) -> None:
    code = "import sys; from linnet.annotate.store import open_store; open_store(sys.argv[1])"
    starters = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [starter.wait() for starter in starters] == [0, 0, 0]
