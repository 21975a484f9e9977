"""training.checkpoints: lossless, and no failure loses the earlier checkpoint."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest
import safetensors.torch
import torch
from tiny import Tiny, config, ids, python, same, seeded
from torch import nn

from helpers.training import checkpoints
from helpers.training.checkpoints import Checkpoint, CheckpointError, load, save


def some(step=3, seed=0):
    return Checkpoint(
        step=step,
        model={"w": torch.randn(2, 3, generator=seeded(seed)), "b": torch.zeros(0)},
        optimizer={
            "w:exp_avg": torch.randn(2, 3, generator=seeded(seed + 1)).bfloat16(),
            "w:step": torch.tensor(3.0),
        },
        generators={"batches": seeded(seed).get_state()},
        config={"steps": 9, "clip": None, "lr": 0.1},
        records=[{"step": k, "loss": 1.5 / (k + 1)} for k in range(step)],
        data_sha256="abc",
        extra={"vocab": ["\n", "é", "→"]},
    )


def equal(one, other):
    for part in ("model", "optimizer", "generators"):
        a, b = getattr(one, part), getattr(other, part)
        assert a.keys() == b.keys()
        for name in a:
            assert a[name].dtype == b[name].dtype
            assert torch.equal(a[name], b[name]), name
    for part in ("step", "config", "records", "data_sha256", "extra"):
        assert getattr(one, part) == getattr(other, part), part


# ------------------------------------------------------------ there and back


def test_save_and_load_round_trip(tmp_path):
    path = save(tmp_path / "deep" / "run", some())
    assert path.name == "checkpoint-00000003"
    assert {p.name for p in path.iterdir()} == {"tensors.safetensors", "checkpoint.json"}
    equal(load(path), some())
    equal(load(tmp_path / "deep" / "run"), some())
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_numbers_survive_json_to_the_last_bit(tmp_path):
    losses = torch.rand(50, generator=seeded(), dtype=torch.float64).tolist()
    records = [{"step": k, "loss": loss} for k, loss in enumerate(losses)]
    save(tmp_path, Checkpoint(step=50, model={}, records=records))
    assert [r["loss"] for r in load(tmp_path).records] == losses


def test_the_last_one_is_kept(tmp_path):
    for step in range(1, 5):
        save(tmp_path, some(step))
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint-00000004"]
    equal(load(tmp_path), some(4))


def test_a_checkpoint_of_the_same_step_is_replaced(tmp_path):
    (save(tmp_path, some()) / "tensors.safetensors").write_bytes(b"")
    save(tmp_path, some())
    equal(load(tmp_path), some())


def test_partials_of_a_killed_process_are_ignored(tmp_path):
    (tmp_path / ".partial-checkpoint-00000003" / "deep").mkdir(parents=True)
    (tmp_path / ".partial-going-checkpoint-00000003").mkdir()
    (tmp_path / "checkpoint-notes").mkdir()
    save(tmp_path, some())
    equal(load(tmp_path), some())


def test_no_pickle():
    for path in Path(checkpoints.__file__).parent.glob("*.py"):
        source = path.read_text("utf-8").replace("safetensors.torch.", "")
        for word in ("torch.save", "torch.load", "import pickle"):
            assert word not in source


# ------------------------------------------------------- failures of writing

CALLS = {"mkdir": Path, "_write": checkpoints, "fsync": os, "rename": os}


def fail(monkeypatch, call, number):
    """Let the nth call of a kind fail as on a full disk, which takes half of what is written."""
    count, original = iter(range(1000)), getattr(CALLS[call], call)

    def failing(*arguments, **options):
        if next(count) == number:
            if call == "_write":
                path, data = arguments
                path.write_bytes(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*arguments, **options)

    monkeypatch.setattr(CALLS[call], call, failing)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_full_disk_leaves_the_earlier_checkpoint(tmp_path, monkeypatch, call, number):
    save(tmp_path, some(2))
    with monkeypatch.context() as patched:
        fail(patched, call, number)
        try:
            save(tmp_path, some(5))
        except OSError as error:
            said = str(error)
        else:
            said = None  # there were not so many calls, or it was only the old one's removal
    if said is not None:
        assert "cannot write a checkpoint to" in said
        assert "No space left on device" in said
        assert [p for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    found = load(tmp_path)
    equal(found, some(found.step))
    assert found.step == (5 if said is None else found.step)
    assert said is not None or number > 0
    save(tmp_path, some(6))  # with space again, it goes on
    equal(load(tmp_path), some(6))
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint-00000006"]


def test_error_says_what_is_left(tmp_path, monkeypatch):
    fail(monkeypatch, "fsync", 0)
    with pytest.raises(OSError):
        save(tmp_path, some(1))
    monkeypatch.undo()
    save(tmp_path, some(2))
    fail(monkeypatch, "_write", 1)
    with pytest.raises(OSError) as caught:
        save(tmp_path, some(3))
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.skipif(os.name == "nt", reason="folders are not synced there")
def test_files_are_on_the_disk_before_they_have_names(tmp_path, monkeypatch):
    events, fsync, rename = [], os.fsync, os.rename

    def sync(handle):
        found = os.fstat(handle)
        events.append("folder" if stat.S_ISDIR(found.st_mode) else "file" if found.st_size else "")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", lambda *a: events.append("rename") or rename(*a))
    save(tmp_path, some())
    assert events == ["file", "file", "folder", "rename", "folder"]


def test_folder_that_cannot_be_written(tmp_path, monkeypatch):
    if os.name == "nt" or os.geteuid() == 0:  # to root nothing is forbidden

        def forbidden(path, **options):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(Path, "mkdir", forbidden)
    else:
        tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        save(tmp_path / "run", some())


def test_folder_that_is_a_file(tmp_path):
    (tmp_path / "run").write_text("a text")
    with pytest.raises(OSError):
        save(tmp_path / "run", some())
    assert (tmp_path / "run").read_text() == "a text"
    with pytest.raises(CheckpointError):
        load(tmp_path / "run")


KILLED = """
import os, signal, sys
from pathlib import Path
from test_training_checkpoints import some
from helpers.training import checkpoints

def deadly(module, name, number):
    original, count = getattr(module, name), iter(range(1000))
    def function(*arguments, **options):
        if next(count) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)
    setattr(module, name, function)

for place, (module, name) in enumerate([
    (checkpoints, "_write"), (os, "fsync"), (os, "rename"),
    (checkpoints, "_fsync_dir"), (checkpoints.shutil, "rmtree"),
]):
    for number in range(4):
        folder = Path(sys.argv[1]) / f"{place}-{number}"
        checkpoints.save(folder, some(2))
        child = os.fork()
        if child == 0:
            deadly(module, name, number)
            checkpoints.save(folder, some(5))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        (folder / "status").write_text(str(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_killed_between_any_two_writes(tmp_path):
    done = python("-c", KILLED, tmp_path)
    assert done.returncode == 0, done.stderr
    killed = {2: 0, 5: 0}
    for folder in tmp_path.iterdir():
        found = load(folder)
        equal(found, some(found.step))
        if (folder / "status").read_text() != "0":
            killed[found.step] += 1
        save(folder, some(6))
        equal(load(folder), some(6))
    assert killed[2] == 7  # before the new one had its name
    assert killed[5] >= 3  # after it


# ------------------------------------------------------- what cannot be read


def change(path, **changes):
    rest = json.loads((path / "checkpoint.json").read_text("utf-8"))
    (path / "checkpoint.json").write_text(json.dumps(rest | changes), "utf-8")


def cut(name, share):
    def damage(path):
        data = (path / name).read_bytes()
        (path / name).write_bytes(data[: int(len(data) * share)])

    return damage


def flip(path):
    data = bytearray((path / "tensors.safetensors").read_bytes())
    data[-5] ^= 1
    (path / "tensors.safetensors").write_bytes(data)


def replaced(data):
    """Other bytes under the right SHA-256."""

    def damage(path):
        (path / "tensors.safetensors").write_bytes(data)
        change(path, tensors_sha256=checkpoints.hashlib.sha256(data).hexdigest())

    return damage


FOREIGN = safetensors.torch.save({"blocks.0.w": torch.ones(2)})
DAMAGES = {
    "no tensors": lambda p: (p / "tensors.safetensors").unlink(),
    "no json": lambda p: (p / "checkpoint.json").unlink(),
    "tensors cut": cut("tensors.safetensors", 0.5),
    "tensors empty": cut("tensors.safetensors", 0),
    "one bit": flip,
    "json cut": cut("checkpoint.json", 0.7),
    "json binary": lambda p: (p / "checkpoint.json").write_bytes(b"\xff\xfe"),
    "json foreign": lambda p: (p / "checkpoint.json").write_text('{"a": 1}'),
    "json a list": lambda p: (p / "checkpoint.json").write_text("[]"),
    "newer": lambda p: change(p, version=2),
    "no step": lambda p: change(p, step=None),
    "no safetensors": replaced(b"not at all"),
    "foreign tensors": replaced(FOREIGN),
    "a folder": lambda p: ((p / "checkpoint.json").unlink(), (p / "checkpoint.json").mkdir()),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(tmp_path, name):
    path = save(tmp_path, some())
    DAMAGES[name](path)
    for given in (tmp_path, path):  # the run's folder and the checkpoint's own
        with pytest.raises(CheckpointError) as caught:
            load(given)
        assert str(path) in str(caught.value)


def test_nothing_there(tmp_path):
    with pytest.raises(CheckpointError):
        load(str(tmp_path / "none"))
    with pytest.raises(CheckpointError):
        load(tmp_path)


# ----------------------------------------------------------- into the model


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("table", torch.ones(2), persistent=False)


@pytest.mark.parametrize("make", [Tiny, lambda: Tiny(tied=True), Buffered])
def test_a_model_is_restored_into_another(make):
    one, other = make(), make()
    with torch.no_grad():
        for tensor in one.state_dict().values():
            tensor.add_(1)
    assert not same(one, other)
    tensors = checkpoints.model_tensors(one)
    checkpoints.restore_model(other, tensors)
    assert same(one, other)


def test_tied_tensors_are_stored_once_and_stay_tied():
    model = Tiny(tied=True)
    tensors = checkpoints.model_tensors(model)
    assert "head.weight" not in tensors
    checkpoints.restore_model(model, tensors)
    assert model.head.weight is model.embedding.weight


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (Tiny(width=9), r"'.*' has shape \(.*9.*\) in the checkpoint and \(.*8.*\) in the model"),
        (Tiny(tied=True), "has no tensor 'head.weight', which the model needs"),
        (
            nn.ModuleDict({"more": nn.Linear(1, 1), **dict(Tiny().named_children())}),
            r"holds 'more\.\w+', which the model does not have",
        ),
    ],
)
def test_a_model_of_another_shape_takes_nothing(give, said):
    model, untouched = Tiny(), Tiny()
    with pytest.raises(CheckpointError):
        checkpoints.restore_model(model, checkpoints.model_tensors(give))
    assert same(model, untouched)


def test_config_that_does_not_fit_is_named_field_by_field():
    stored = json.loads(json.dumps(checkpoints.asdict(config())))
    checkpoints.check_config(stored, config())
    with pytest.raises(CheckpointError):
        checkpoints.check_config(stored, config(lr=0.5, seed=6))
    with pytest.raises(CheckpointError):
        checkpoints.check_config(stored | {"layers": 3}, config())
    with pytest.raises(CheckpointError):
        checkpoints.check_config({k: v for k, v in stored.items() if k != "clip"}, config())


def test_sha256_is_of_the_ids():
    assert checkpoints.sha256_of(torch.tensor([1, 2])) == checkpoints.sha256_of(
        torch.tensor([1, 2], dtype=torch.int32)
    )
    assert checkpoints.sha256_of(ids(50)) != checkpoints.sha256_of(ids(51))
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert checkpoints.sha256_of(ids(0)) == empty
