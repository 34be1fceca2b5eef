"""``python -m tests.scale.on_nodes SOURCE OUT KILLS``: leads a job on two nodes of Ray, kills some; see OUT.json."""

from __future__ import annotations

import json
import logging
import random
import sys
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

from linnet.errors import LinnetError
from linnet.pipeline import Pipeline
from linnet.scale.job import Job, Told, run
from linnet.scale.on_ray import connect
from linnet.scale.units import Inputs
from tests.scale.parts import marking


def failing() -> Pipeline:
    raise LinnetError("there is no pipeline")


def lead(cluster: Any, source: str, out: str, kills: int) -> dict[str, Any]:
    gather, cores = connect(cluster.address)
    chance, killed = random.Random(kills), 0

    def kill(told: Told) -> None:
        nonlocal killed
        # a node that is between two shards, or has none yet, dies without loss: then another one is killed
        if told.lost < kills and told.counts["documents"] > 100 * killed:
            nodes = sorted(cluster.worker_nodes, key=lambda node: str(node.unique_id))
            cluster.remove_node(chance.choice(nodes), allow_graceful=False)
            cluster.add_node(num_cpus=1)
            killed += 1

    told = run(Job(Inputs((source,)), Path(out), marking, {"pipeline": 1}, 2, size=50, gather=gather), tell=kill)
    try:
        said = ""
        run(Job(Inputs((source,)), Path(f"{out}-not"), failing, {}, gather=gather))
    except LinnetError as error:
        said = str(error)
    return {"cores": cores, "killed": killed, "lost": told.lost, "documents": told.counts["documents"], "said": said}


def main(source: str, out: str, kills: str) -> None:
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        Path(f"{out}.json").write_text(json.dumps(lead(cluster, source, out, int(kills))))
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
