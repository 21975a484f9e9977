"""Train a model of logits on token ids: records, checkpoints, resume, one process or several."""

import hashlib
import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from filelock import FileLock, Timeout
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn
from tqdm.auto import tqdm

from helpers import corpus, files
from helpers.checks import checked
from helpers.modes import in_mode
from helpers.training import checkpoints
from helpers.training.checkpoints import Checkpoint, CheckpointError
from helpers.training.config import DTYPES, TrainingConfig
from helpers.training.loop import summed_loss
from helpers.training.optimizers import MUON_LR, CombinedOptimizer, Muon, adamw, hidden_matrices
from helpers.training.processes import DistributedContext, no_sync

RECORDS, LOCK = "records.jsonl", ".lock"
WATCHED = ("cpu",)  # devices whose numbers are read at every step; others would have to wait
READ_EVERY = 20  # steps between two looks at the numbers of the others


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One step, number 0 first.

    loss (nats, mean over the batch) and gradient_norm (before clipping) are of the model before
    the update; rate is the share of the peak learning rate of the update; validation, where it
    was measured, is the loss after it, over the whole validation split. seconds: spent on
    training so far, without evaluation and saving; two records that differ in it alone are equal.
    """

    step: int
    loss: float
    gradient_norm: float
    rate: float
    validation: float | None = None
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to: a record for each step made, and whether it was interrupted."""

    records: tuple[StepRecord, ...]
    interrupted: bool = False


@checked
def fit(
    model: nn.Module,
    train_ids: Integer[Tensor, " N"],
    validation_ids: Integer[Tensor, " M"],
    config: TrainingConfig,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    on_record: Callable[[StepRecord], object] | None = None,
    extra: Mapping | None = None,
    keep: int | None = 1,
    progress: bool = True,
    team: DistributedContext | None = None,
) -> Outcome:
    """Train a model that turns ids (B, T) into logits (B, T, V), in place and on its device.

    folder: for records.jsonl and the checkpoints, of which the last `keep` stay; without one
    nothing is written. resume: go on from the last checkpoint in it, bit for bit the same on a
    CPU as without the break. extra: what else a checkpoint shall hold, as JSON can. on_record
    sees each record once it is whole (on a GPU some steps later), in the process that writes.
    progress: a tqdm bar. team: from `processes.team`, where there are several processes.

    Ctrl-C ends the run after the step that is under way and saves it.
    Raises ValueError where config, model and ids do not fit, a folder has a run already that is not
    to be resumed, or another run is at work in it; CheckpointError where the checkpoint cannot be
    taken up; OSError where one cannot be written; FloatingPointError, naming the step, where loss
    or gradient is nan or infinite; ProcessLostError where another process has ended. Checkpoints
    that are there stay.
    """
    run = _Run(model, train_ids, validation_ids, config, team or DistributedContext(), on_record)
    if resume and folder is None:
        raise ValueError("resume=True needs the folder of the run that is to go on")
    shown = progress and run.team.is_main
    with (
        closing(run),
        in_mode(model, training=True),
        _interrupts(alone=run.team.size == 1) as stop,
    ):
        if folder is not None:
            run.open(Path(folder), resume=resume, keep=keep, extra=dict(extra or {}))
        bar = tqdm(total=config.steps, initial=run.step, disable=not shown, unit="step")
        with bar:
            while run.step < config.steps and not run.interrupted:
                run.one_step(stop)
                if shown:
                    run.show(bar)
    return Outcome(records=tuple(run.records), interrupted=run.step < config.steps)


def make_optimizer(model: nn.Module, config: TrainingConfig) -> CombinedOptimizer:
    """AdamW for all that is trained, or Muon for the hidden matrices and AdamW for the rest.

    Hidden matrices that have a learning rate of their own have an AdamW of their own.
    Raises ValueError where they are asked for and the model has none.
    """
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    apart = config.optimizer == "muon" or config.matrix_lr is not None
    hidden = hidden_matrices(model) & named.keys() if apart else frozenset()
    if apart and not hidden:
        asked = (
            "optimizer='muon'" if config.optimizer == "muon" else f"matrix_lr={config.matrix_lr}"
        )
        raise ValueError(f"{asked} needs a model with linear maps between hidden layers")
    matrices = {name: p for name, p in named.items() if name in hidden}
    rest = {name: p for name, p in named.items() if name not in hidden}
    options: dict[str, Any] = {"betas": config.betas, "weight_decay": config.weight_decay}
    parts: list[torch.optim.Optimizer] = [adamw(rest, lr=config.lr, **options)] if rest else []
    lr = MUON_LR if config.matrix_lr is None else config.matrix_lr
    if hidden and config.optimizer == "adamw":
        parts.append(adamw(matrices, lr=lr, **options))
    elif hidden:
        options = {"momentum": config.momentum, "weight_decay": config.weight_decay}
        parts.append(Muon(matrices.values(), lr=lr, dtype=DTYPES[config.precision], **options))
    return CombinedOptimizer(named, *parts)


class _Run:
    """The parts of a run that a step changes."""

    def __init__(self, model, train_ids, validation_ids, config, team, on_record):
        self.device = _check(model, train_ids, validation_ids, config, team)
        self.model, self.config, self.team, self.on_record = model, config, team, on_record
        self.train_ids = train_ids.to(self.device)
        self.validation_ids = validation_ids.to(self.device)
        self.generator = torch.Generator().manual_seed(config.seed)
        sizes = {"batch_size": config.batch_size, "context": config.context}
        self.batches = corpus.batches(self.train_ids, generator=self.generator, **sizes)
        self.optimizer = make_optimizer(model, config)
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.shared = team.wrap(model)
        self.forward = torch.compile(self.shared) if config.compile else self.shared
        self.step, self.seconds, self.interrupted = 0, 0.0, False
        self.records: list[StepRecord] = []
        self.pending: list[Tensor] = []  # (loss, length of gradient) of steps not looked at yet
        self.folder = self.lines = None
        self.lock: FileLock | None = None

    # ------------------------------------------------------------- a step

    def one_step(self, stop: Callable[[], bool]) -> None:
        """Make one update, and what is due after it."""
        began = time.perf_counter()
        evaluates, saves = (
            self.is_due(every)
            for every in (self.config.evaluate_every, self.config.checkpoint_every)
        )
        read_every = 1 if self.device.type in WATCHED else READ_EVERY
        self.optimizer.scale(self.config.lr_factor(self.step))
        with self.team.guard():
            self.pending.append(self.gradients())
        fresh = self.read(stop()) if evaluates or saves or self.is_due(read_every) else []
        self.optimizer.step()
        self.step += 1
        self.seconds += time.perf_counter() - began
        validation = self.evaluate() if evaluates else None
        self.keep_records(fresh, validation)
        if saves or self.interrupted:
            self.save()

    def is_due(self, every: int) -> bool:
        """Whether something happens after this step that happens after `every` and the last."""
        return (self.step + 1) % every == 0 or self.step + 1 == self.config.steps

    def gradients(self) -> Float[Tensor, "2"]:
        """Leave a batch's clipped gradient in the parameters; (loss, length before clipping)."""
        parts = self.config.accumulate
        x_BT, y_BT = (self.team.rows(whole) for whole in next(self.batches))
        pairs = list(zip(x_BT.chunk(parts), y_BT.chunk(parts), strict=True))
        self.optimizer.zero_grad()
        loss = torch.zeros((), device=self.device)
        with _seeded(self.config.seed, self.step, self.team.rank, self.device):
            for part, (x, y) in enumerate(pairs, start=1):
                with nullcontext() if part == parts else no_sync(self.shared):
                    share = self.loss(x, y) / parts
                    share.backward()
                loss += share.detach()
        length = nn.utils.clip_grad_norm_(self.trained, self.config.clip or math.inf)
        return torch.stack([loss, length.to(loss)])

    def loss(self, x_BT: Tensor, y_BT: Tensor) -> Float[Tensor, ""]:
        """Cross-entropy in nats, the mean over the targets, products in the config's precision."""
        low = self.config.precision != "float32"
        with torch.autocast(self.device.type, dtype=DTYPES[self.config.precision], enabled=low):
            logits_BTV = self.forward(x_BT)
        return cross_entropy(logits_BTV, y_BT)

    def read(self, stop: bool) -> list[StepRecord]:
        """Look at the numbers of the steps since the last look: the mean over all processes.

        All processes learn here whether one of them was told to stop.
        """
        flag = torch.tensor([float(stop)], device=self.device)
        numbers = torch.cat([torch.stack(self.pending).flatten(), flag])
        *values, stops = self.team.total(numbers).tolist()
        first, fresh = self.step + 1 - len(self.pending), []
        self.pending.clear()
        self.interrupted = stops > 0
        means = (value / self.team.size for value in values)
        for step, (loss, length) in enumerate(zip(means, means, strict=True), start=first):
            if not math.isfinite(loss + length):
                raise FloatingPointError(
                    f"at step {step} the loss is {loss} and the gradient's norm {length}: "
                    f"try a lower learning rate{self.last_checkpoint_hint()}"
                )
            rate = self.config.lr_factor(step)
            fresh.append(StepRecord(step=step, loss=loss, gradient_norm=length, rate=rate))
        return fresh

    def evaluate(self) -> float:
        """Mean loss over the whole validation split, in float32, each process with its share."""
        windows = corpus.windows(self.validation_ids, self.config.context)
        mine = islice(windows, self.team.rank, None, self.team.size)
        sums = torch.tensor(summed_loss(self.model, cross_entropy, mine), dtype=torch.float64)
        if self.team.size > 1:
            sums = self.team.total(sums.to(self.device))
        total, count = sums.tolist()
        if not math.isfinite(total):
            raise FloatingPointError(
                f"after step {self.step - 1} the validation loss is {total / count}: "
                f"try a lower learning rate{self.last_checkpoint_hint()}"
            )
        return total / count

    # ------------------------------------------- what is kept, and taken up again

    def open(self, folder: Path, *, resume: bool, keep: int | None, extra: dict) -> None:
        """Go on from the folder's last checkpoint, or begin in a folder that has none."""
        json.dumps(extra)  # raises now, and not at the first checkpoint, what JSON cannot hold
        self.folder, self.keep, self.extra = folder, keep, extra
        self.sha256 = checkpoints.sha256_of(self.train_ids)
        if self.team.is_main:
            self.lock_folder(folder)
            checkpoints.remove_partials(folder)
        if resume:
            self.restore(checkpoints.load(folder))
        elif self.team.is_main and (found := checkpoints.list_checkpoints(folder)):
            raise ValueError(f"{found[-1]} is of another run: resume it, or take another folder")
        if self.team.is_main:
            with _named(folder):
                files.write_text(folder / RECORDS, "".join(map(_line, self.records)))
                self.lines = open(folder / RECORDS, "a", encoding="utf-8")  # noqa: SIM115

    def lock_folder(self, folder: Path) -> None:
        """Keep other runs out of a folder until this one is closed."""
        with _named(folder):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                self.lock = FileLock(folder / LOCK)
                self.lock.acquire(timeout=0)
            except Timeout:
                raise ValueError(
                    f"another run is at work in {folder}: wait for it, or take another folder"
                ) from None

    def restore(self, checkpoint: Checkpoint) -> None:
        """Put everything back as it was. Raises CheckpointError where something does not fit."""
        checkpoints.check_config(checkpoint.config, self.config)
        checkpoints.check_model(self.model, checkpoint.model)
        if checkpoint.data_sha256 != self.sha256:
            raise CheckpointError("the checkpoint was made with another training text")
        try:
            records = [StepRecord(**record) for record in checkpoint.records]
            if not all(isinstance(n, int | float) for r in records for n in _numbers(r)):
                raise ValueError("its records must hold numbers")
            self.generator.set_state(checkpoint.generators["batches"])
            self.optimizer.load_state_dict(checkpoint.optimizer)
        except (KeyError, TypeError, RuntimeError, ValueError) as error:
            raise CheckpointError(f"the checkpoint does not fit this run: {error}") from error
        if [record.step for record in records] != list(range(checkpoint.step)):
            raise CheckpointError(f"the records are not those of {checkpoint.step} steps")
        checkpoints.restore_model(self.model, checkpoint.model)
        self.records, self.step = records, checkpoint.step
        self.seconds = records[-1].seconds if records else 0.0

    def save(self) -> None:
        """Write a checkpoint, unless the last update has broken the model."""
        if self.folder is None or not self.team.is_main:
            return
        if not all(bool(p.isfinite().all()) for p in self.trained):
            raise FloatingPointError(
                f"the update of step {self.step - 1} left parameters that are not finite: "
                f"try a lower learning rate{self.last_checkpoint_hint()}"
            )
        checkpoint = Checkpoint(
            step=self.step,
            model=checkpoints.model_tensors(self.model),
            optimizer=self.optimizer.state_dict(),
            generators={"batches": self.generator.get_state()},
            config=asdict(self.config),
            records=[asdict(record) for record in self.records],
            data_sha256=self.sha256,
            extra=self.extra,
        )
        checkpoints.save(self.folder, checkpoint, keep=self.keep)

    def last_checkpoint_hint(self) -> str:
        """What of the run is safe, for the end of a message."""
        kept = checkpoints.list_checkpoints(self.folder) if self.folder is not None else []
        return f"; {kept[-1]} is from before" if kept else ""

    def keep_records(self, fresh: list[StepRecord], validation: float | None) -> None:
        """Complete the records of the last steps, write a line for each, and show them."""
        for record in fresh:
            of_this_step = validation if record.step == self.step - 1 else None
            whole = replace(record, validation=of_this_step, seconds=self.seconds)
            self.records.append(whole)
            if self.lines is not None and self.folder is not None:
                with _named(self.folder):
                    self.lines.write(_line(whole))
                    self.lines.flush()
            if self.on_record is not None and self.team.is_main:
                self.on_record(whole)

    def show(self, bar: tqdm) -> None:
        """Move the bar, with the last losses beside it."""
        bar.update(self.step - bar.n)
        if self.records:
            measured = (r.validation for r in reversed(self.records) if r.validation is not None)
            validation = next(measured, None)
            losses = {"loss": f"{self.records[-1].loss:.3f}"}
            if validation is not None:
                losses["validation"] = f"{validation:.3f}"
            bar.set_postfix(losses, refresh=False)

    def close(self) -> None:
        """Close the file of records, and let others into the folder."""
        try:
            if self.lines is not None and self.folder is not None:
                with _named(self.folder):  # what could not be written is tried again
                    self.lines.close()
        finally:
            if self.lock is not None:
                self.lock.release()


def cross_entropy(
    logits_BTV: Float[Tensor, "B T V"], targets_BT: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Mean over all targets of -log p(target), in nats, computed in float32 at least."""
    logits_NV = logits_BTV.flatten(0, 1)
    if logits_NV.dtype in (torch.bfloat16, torch.float16):
        logits_NV = logits_NV.float()
    return F.cross_entropy(logits_NV, targets_BT.flatten())


def _numbers(record: StepRecord) -> list:
    """What a record holds, less a validation that was not measured."""
    return [n for name, n in asdict(record).items() if (name, n) != ("validation", None)]


def _line(record: StepRecord) -> str:
    return json.dumps(asdict(record)) + "\n"


def _check(model, train_ids, validation_ids, config, team) -> torch.device:
    """Raise ValueError where these do not fit together; give the device of the model."""
    devices = {p.device for p in model.parameters()}
    if len(devices) != 1:
        raise ValueError(f"the model must be on one device, not on {len(devices)}")
    if config.batch_size % (config.accumulate * team.size):
        raise ValueError(
            f"batch_size={config.batch_size} must be a multiple of accumulate × processes = "
            f"{config.accumulate} × {team.size}"
        )
    (device,) = devices
    if (
        config.precision == "bfloat16"
        and device.type == "cuda"
        and not (torch.cuda.is_bf16_supported())
    ):
        raise ValueError("precision='bfloat16' is not what this GPU has; take 'float32'")
    size = getattr(getattr(model, "config", None), "vocab_size", None)
    for name, ids in (("train_ids", train_ids), ("validation_ids", validation_ids)):
        if len(ids) <= (context := config.context):
            raise ValueError(
                f"{name} hold {len(ids)} tokens; context={context} needs at least {context + 1}"
            )
        if size is not None and not 0 <= ids.min() <= ids.max() < size:
            raise ValueError(f"{name} must lie in 0..{size - 1}, the model's vocabulary")
    return device


@contextmanager
def _seeded(seed: int, step: int, rank: int, device: torch.device) -> Iterator[None]:
    """Let dropout draw from a seed of this step and process; others' draws stay as they were."""
    gpus = [device] if device.type == "cuda" else []
    digest = hashlib.sha256(f"{seed} {step} {rank}".encode()).digest()
    with torch.random.fork_rng(gpus):
        torch.manual_seed(int.from_bytes(digest[:4], "little"))  # a CPU's takes 32 bits
        yield


@contextmanager
def _interrupts(*, alone: bool) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed in here, instead of the KeyboardInterrupt at the first time.

    alone: a second Ctrl-C is a KeyboardInterrupt. Of several processes none breaks away.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only there are signals seen
        yield pressed.is_set
        return

    def note(number: int, frame: object) -> None:
        pressed.set()
        if alone:
            signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Say of an OSError what could not be written."""
    try:
        yield
    except OSError as error:
        what = f"cannot write the records of the run to {folder}: {error.strerror or error}"
        raise type(error)(error.errno, what) from error
