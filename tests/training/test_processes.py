"""Two processes give the weights of one with the same global batch, also after one of them was killed.

torchrun and accelerate start them. Without a GPU, accelerate starts several processes with ``--multi_gpu`` only (for
``--cpu`` it needs MPI).
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from classes import these_first
from safetensors.numpy import load_file
from small_bases import write_bert
from small_jobs import job, small

from patent_mteb.training.jobs import train

RUN = """
import os, signal
from pathlib import Path
from transformers import TrainerCallback
from small_jobs import small
from test_processes import asked
from patent_mteb.training.jobs import train

class Kill(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 5 and os.environ["RANK"] == "1" and {kill}:
            os.kill(os.getpid(), signal.SIGKILL)

train(asked({base!r}, Path({out!r}), {mini}), small(), callbacks=[Kill()], quiet=True)
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Without dropout, whose masks two processes draw for half a batch each."""
    folder = write_bert(tmp_path_factory.mktemp("bases") / "bert")
    config = folder / "config.json"
    without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config.write_text(json.dumps(json.loads(config.read_text()) | without))
    return folder


LAUNCHERS = {
    "torchrun": ("torch.distributed.run", "--standalone", "--nproc-per-node=2"),
    "accelerate": (
        *("accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--num_machines=1"),
        *("--mixed_precision=no", "--dynamo_backend=no", "--main_process_port=0"),
    ),
}


def asked(base, out, mini):
    settings = ("max_length=24", "batch=32", f"mini_batch={mini}", "lr=0.001", "checks=4")
    return job("wipo-r3", str(base), out, *settings, max_steps=8)


def run(base, out, launcher, *, kill=False, mini=8):
    script = out.with_suffix(".py")
    script.write_text(RUN.format(base=str(base), out=str(out), kill=kill, mini=mini))
    here = Path(__file__).parent
    helpers = [str(here), str(here.with_name("helpers")), str(here.parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(helpers), "RANK": "0", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", *LAUNCHERS[launcher], str(script)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


def weights(out):
    (folder,) = (out / "models").iterdir()
    return load_file(folder / "model.safetensors")


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory):
    """A function that runs two processes to the end, once for each launcher and size of a mini-batch."""

    @functools.cache
    def of(launcher, mini):
        out = tmp_path_factory.mktemp("whole") / f"{launcher}-{mini}"  # a script accelerate.py would be its import
        done = run(base, out, launcher, mini=mini)
        assert done.returncode == 0, done.stderr[-3000:]
        return out

    return of


@pytest.mark.slow
@pytest.mark.parametrize(("launcher", "mini"), these_first(product(LAUNCHERS, (32, 8)), ("torchrun", 8)))
def test_two_processes_equal_one(base, whole, tmp_path, launcher, mini):
    train(asked(base, tmp_path / "1", mini), small(), quiet=True)
    one, two, before = weights(tmp_path / "1"), weights(whole(launcher, mini)), load_file(base / "model.safetensors")
    moved = max(np.abs(one[name] - before[name]).max() for name in one)
    apart = max(np.abs(one[name] - two[name]).max() for name in one)
    assert apart < 2e-4 < 2e-3 < moved


@pytest.mark.slow
@pytest.mark.parametrize("launcher", these_first(LAUNCHERS, "torchrun"))
def test_a_killed_process_ends_the_run_which_resumes(base, whole, tmp_path, launcher):
    killed = run(base, tmp_path / "killed", launcher, kill=True)
    assert killed.returncode != 0 and f"{-signal.SIGKILL}" in killed.stderr
    assert not (tmp_path / "killed" / "seed-42" / "done.json").exists()
    resumed = run(base, tmp_path / "killed", launcher)
    assert resumed.returncode == 0, resumed.stderr[-3000:]
    first, second = weights(tmp_path / "killed"), weights(whole(launcher, 8))
    assert all(np.array_equal(first[name], second[name]) for name in first)
