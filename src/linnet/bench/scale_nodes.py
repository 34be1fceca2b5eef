"""Nodes of a Ray cluster on this machine, one core each; each in a network of its own where that can be had.

A namespace of the network is to its processes what a machine of its own is: another address, which others reach through
a bridge. It takes Linux, ``ip`` and root. Without these, nodes are processes at one address.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from signal import SIGKILL
from typing import Any

from linnet.errors import LinnetError, MissingExtraError
from linnet.scale.job import Gather

__all__ = ["cluster"]

BRIDGE = "linnet-bench"  # a name of at most 15 letters
NETWORK = "10.77.0"  # nodes have its addresses 1, 2 …
LEADER = f"{NETWORK}.254"
PATIENCE = 60.0  # seconds that nodes have to join

logger = logging.getLogger(__name__)


@contextmanager
def cluster(nodes: int) -> Iterator[Gather]:
    """Give what gathers workers on so many nodes; the leader's node has no core.

    Raises:
        MissingExtraError: Ray is not installed.
        LinnetError: a node does not join.
    """
    try:
        import ray  # noqa: PLC0415 - an extra
        from ray.cluster_utils import Cluster  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("ray", extra="ray", wanted_by="--nodes") from error
    from linnet.scale.on_ray import Actors  # noqa: PLC0415 - as above

    with ExitStack() as stack:
        networks = _networks_if_possible(nodes, stack)
        address = LEADER if networks else None
        head = {"num_cpus": 0, "include_dashboard": False, "node_ip_address": address}
        made: Any = Cluster(initialize_head=True, head_node_args=head)
        stack.callback(made.shutdown)
        stack.callback(ray.shutdown)
        ray.init(made.address, log_to_driver=False, logging_level=logging.ERROR, _node_ip_address=address)
        for number in range(1, nodes + 1):  # one after the other: nodes of one disk take each other's sockets
            if networks:
                stack.enter_context(_node(networks[number - 1], f"{NETWORK}.{number}", made.address))
            else:
                made.add_node(num_cpus=1)
            _wait_for(number, ray.cluster_resources)
        stack.callback(ray.shutdown)  # before the nodes end, each of whose deaths it would tell
        yield Actors


def _wait_for(cores: int, resources: Callable[[], Mapping[str, float]]) -> None:
    end = time.monotonic() + PATIENCE
    while resources().get("CPU", 0) < cores:
        if time.monotonic() > end:
            raise LinnetError(f"a node of Ray did not join within {PATIENCE:.0f} s")
        time.sleep(0.1)


def _networks_if_possible(count: int, stack: ExitStack) -> Sequence[str]:
    try:
        return stack.enter_context(_networks(count))
    except (LinnetError, OSError) as error:
        logger.info("nodes share the network of this machine: %s", error)
        return ()


@contextmanager
def _networks(count: int) -> Iterator[Sequence[str]]:
    """Make so many networks that reach each other and this machine, and remove them with all that runs in them."""
    names = [f"{BRIDGE}-{number}" for number in range(1, count + 1)]
    with ExitStack() as stack:
        _ip("link", "add", BRIDGE, "type", "bridge")
        stack.callback(_ip, "link", "del", BRIDGE)
        _ip("addr", "add", f"{LEADER}/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        for number, name in enumerate(names, 1):
            _ip("netns", "add", name)
            stack.callback(_remove, name)
            cable = f"linnet{number}"
            _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
            stack.callback(_ip, "link", "del", cable)
            _ip("link", "set", cable, "master", BRIDGE, "up")
            _ip("-n", name, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                _ip("-n", name, "link", "set", device, "up")
        yield names


def _remove(name: str) -> None:
    """Remove a network, and end what runs in it."""
    for pid in _ip("netns", "pids", name).split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), SIGKILL)
    _ip("netns", "del", name)


@contextmanager
def _node(network: str, address: str, leader: str) -> Iterator[None]:
    """Start a node in a network; it ends with the network at the latest."""
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", f"--address={leader}"]
    command = ["ip", "netns", "exec", network, *ray, f"--node-ip-address={address}", "--num-cpus=1"]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    null = subprocess.DEVNULL
    started = subprocess.Popen(command, env=environment, stdout=null, stderr=null)  # noqa: S603 - Ray
    try:
        yield
    finally:
        started.kill()
        started.wait()


def _ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)  # noqa: S603, S607 - of the system
    if done.returncode:
        raise LinnetError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
