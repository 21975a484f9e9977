"""training.processes: two processes make the run of one, and may resume it after one was lost.

The two are real ones, started by torchrun and talking through gloo.
"""

import json
import os
import signal

import pytest
import torch
from tiny import TRAIN, VALIDATION, Tiny, config, plain, python
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from helpers import training
from helpers.training import checkpoints
from helpers.training.processes import DistributedContext, distributed_context, no_sync

SETTINGS = {"batch_size": 8, "accumulate": 2, "optimizer": "muon", "clip": 0.3}

# Two ranks with a Tiny; what each of them says on standard output is a line of JSON.
SCRIPT = """
import os, signal, sys
from pathlib import Path
from tiny import TRAIN, VALIDATION, Tiny, config
from helpers.training import fit
from helpers.training.processes import distributed_context

folder, settings, kill, resume = Path(sys.argv[1]), eval(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

class Mortal(Tiny):
    calls = 0

    def forward(self, ids_BT):
        self.calls += self.training
        if kill and self.calls > kill and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(ids_BT)

with distributed_context() as context:
    (folder / f"rank-{context.rank}-of-{context.size}").touch()
    fit(Mortal(), TRAIN, VALIDATION, config(**settings), folder=folder / "run",
        distributed=context, progress=False, resume=bool(resume),
        on_record=lambda r: (folder / f"seen-by-{context.rank}").touch())
"""


def two(folder, settings, *, kill=0, resume=False):
    script = folder / "script.py"
    script.write_text(SCRIPT)
    return python(
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--local-addr=127.0.0.1",
        "--nproc-per-node=2",
        script,
        folder,
        settings,
        kill,
        "yes" if resume else "",
        timeout=240,
    )


@pytest.mark.slow
@pytest.mark.skipif(not distributed.is_available(), reason="this torch has no processes")
def test_two_processes_make_the_run_of_one_and_one_may_be_killed(tmp_path):
    one = Tiny()
    wanted = training.fit(one, TRAIN, VALIDATION, config(**SETTINGS), progress=False).records
    # The second process is killed in the tenth step; the last checkpoint is of the eighth.
    assert two(tmp_path, SETTINGS, kill=2 * 9).returncode
    assert checkpoints.load(tmp_path / "run").step == 8
    # It goes on from there, again in two.
    done = two(tmp_path, SETTINGS, resume=True)
    assert done.returncode == 0, done.stderr
    made = {path.name for path in tmp_path.iterdir()}
    assert {"rank-0-of-2", "rank-1-of-2", "seen-by-0"} <= made
    assert "seen-by-1" not in made  # the first alone writes
    lines = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [line["step"] for line in found] == list(range(12))
    for line, record in zip(found, plain(wanted), strict=True):
        assert (line["validation"] is None) == (record["validation"] is None)
        for name, value in record.items():
            if value is not None:
                assert line[name] == pytest.approx(value, rel=1e-4), (line["step"], name)
    other = Tiny()
    checkpoints.restore_model(other, checkpoints.load(tmp_path / "run").model)
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    # Seven of eight steps of a checkpoint made by two are good for one as well.
    finished = training.fit(
        Tiny(),
        TRAIN,
        VALIDATION,
        config(**SETTINGS),
        folder=tmp_path / "run",
        resume=True,
        progress=False,
    )
    assert len(finished.records) == 12


# ------------------------------------------------- what one process can show


def test_rows_of_all_processes_are_the_batch():
    batch = torch.arange(24).view(12, 2)
    parts = [DistributedContext(rank=rank, size=3).rows(batch) for rank in range(3)]
    assert torch.equal(torch.cat(parts), batch)
    assert {len(part) for part in parts} == {4}
    assert torch.equal(DistributedContext().rows(batch), batch)


def test_a_single_process():
    with distributed_context() as context:
        assert (context.rank, context.size, context.is_main, context.device) == (
            0,
            1,
            True,
            torch.device("cpu"),
        )
        model = Tiny()
        assert context.wrap(model) is model
        numbers = torch.ones(2)
        assert context.total(numbers) is numbers
    with no_sync(model):
        pass
    assert not distributed.is_initialized()


@pytest.fixture
def group(monkeypatch):
    """A true group, of this process alone, that takes itself for one of two."""
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield DistributedContext(rank=0, size=2)
    if distributed.is_initialized():
        distributed.destroy_process_group()


def test_total_is_an_all_reduce_on_a_copy(group, monkeypatch):
    numbers = torch.ones(2)
    monkeypatch.setattr(distributed, "all_reduce", lambda x: x.mul_(2))  # another has as much
    assert group.total(numbers).tolist() == [2, 2]
    assert numbers.tolist() == [1, 1]


def test_gradients_are_synchronised_with_the_last_part(group):
    model = group.wrap(Tiny())
    assert isinstance(model, DistributedDataParallel)
    assert model.require_backward_grad_sync
    with no_sync(model):
        assert not model.require_backward_grad_sync
    assert model.require_backward_grad_sync


def test_fit_uses_the_process_group(group, tmp_path, monkeypatch):
    model, summed = Tiny(), set()
    monkeypatch.setattr(distributed, "all_reduce", lambda numbers: summed.add(numbers.dtype))
    outcome = training.fit(
        model,
        TRAIN,
        VALIDATION,
        config(batch_size=8),
        distributed=group,
        folder=tmp_path,
        progress=False,
    )
    assert len(outcome.records) == 12
    assert summed == {torch.float32, torch.float64}  # training's numbers and validation's
    assert checkpoints.load(tmp_path).step == 12
    assert set(checkpoints.load(tmp_path).model) == set(model.state_dict())  # no name of a wrapper


def test_process_group_is_created_and_destroyed(monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    said = []
    monkeypatch.setattr(distributed, "init_process_group", lambda *a, **k: said.append((a, k)))
    monkeypatch.setattr(distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(distributed, "destroy_process_group", lambda: said.append("left"))
    with distributed_context() as context:
        assert (context.rank, context.size) == (1, 2)
    assert said[0][0] == ("gloo",)
    assert said[1] == "left"
    with pytest.raises(RuntimeError), distributed_context():  # it would wait for a lost one
        raise RuntimeError
    assert len(said) == 3


def test_each_process_uses_the_gpu_of_its_local_rank(monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    taken = []
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setattr(
        distributed, "init_process_group", lambda backend, **_: taken.append(backend)
    )
    monkeypatch.setattr(distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(distributed, "destroy_process_group", lambda: None)
    with distributed_context("cuda") as context:
        assert context.device == torch.device("cuda", 1)
    assert taken == [context.device, "nccl"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_second_ctrl_c_waits_for_the_other_processes(group, tmp_path):
    def press(record):
        if record.step == 2:
            for _ in range(3):
                signal.raise_signal(signal.SIGINT)

    outcome = training.fit(
        Tiny(),
        TRAIN,
        VALIDATION,
        config(),
        distributed=group,
        folder=tmp_path,
        progress=False,
        on_record=press,
    )
    assert outcome.interrupted
    assert checkpoints.load(tmp_path).step == 4
