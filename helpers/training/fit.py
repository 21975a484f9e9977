"""Train a model of logits on token ids: records, checkpoints, resume, one process or several."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from tqdm.auto import tqdm

from helpers import corpus
from helpers.modes import in_mode
from helpers.shape_checks import paused
from helpers.training import checkpoints
from helpers.training.checkpoints import Checkpoint, CheckpointError
from helpers.training.config import DTYPES, TrainingConfig
from helpers.training.loop import cross_entropy, summed_loss
from helpers.training.optimizers import make_optimizer
from helpers.training.processes import DistributedContext, dropout_seed, interrupts, no_sync
from helpers.training.run_folder import Outcome, RunFolder, StepRecord

SYNCHRONOUS = ("cpu",)  # devices whose losses are read at every step; others would have to wait
READ_EVERY = 20  # steps between two reads of the losses from the others
SAMPLE = 2**17  # tokens of a longer validation text, about, on which its loss is measured


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
    progress: bool = True,
    whole: bool = False,
    distributed: DistributedContext | None = None,
) -> Outcome:
    """Train a model that turns ids (B, T) into logits (B, T, V), in place and on its device.

    train_ids (N,), validation_ids (M,). folder: for records.jsonl and checkpoints, of which the
    last one stays. resume: continue from it, on a CPU bit for bit as without the interruption; with
    more steps in config, on the longer schedule of the learning rate. extra: further JSON to store
    in checkpoints. on_record sees each record once it is complete, in the main process. progress: a
    tqdm bar. whole: the last evaluation is over all of validation_ids; else each is over a fixed
    sample, every k-th batch of windows, about SAMPLE tokens. distributed: from
    `processes.distributed_context`. Ctrl-C ends the run after the current step and saves it.

    Raises ValueError where config, model and ids do not fit, or a folder's run is not to be resumed
    or is in use; CheckpointError where the checkpoint cannot be restored; OSError where
    one cannot be written; FloatingPointError where loss or gradient is nan or infinite.
    """
    distributed = distributed or DistributedContext()
    run = _Run(model, train_ids, validation_ids, config, distributed, on_record, whole)
    if resume and folder is None:
        raise ValueError("resume=True needs the folder of the run")
    where = None if folder is None else RunFolder(Path(folder), extra)
    shown = progress and run.distributed.is_main
    with (
        nullcontext() if where is None else closing(where),
        in_mode(model, training=True),
        paused(),
        interrupts(alone=run.distributed.size == 1) as stop,
    ):
        if where is not None:
            run.open(where, resume=resume)
        with tqdm(total=config.steps, initial=run.step, disable=not shown, unit="step") as bar:
            while run.step < config.steps and not run.interrupted:
                run.one_step(stop)
                if shown:
                    run.show(bar)
    return Outcome(records=tuple(run.records), interrupted=run.step < config.steps)


class _Run:
    """The parts of a run that a step changes."""

    def __init__(self, model, train_ids, validation_ids, config, distributed, on_record, whole):
        self.model, self.config, self.on_record, self.whole = model, config, on_record, whole
        self.distributed, self.device = distributed, next(model.parameters()).device
        if config.batch_size % (config.accumulate * distributed.size):
            raise ValueError(
                f"batch_size={config.batch_size} must be a multiple of accumulate × processes = "
                f"{config.accumulate} × {distributed.size}"
            )
        self.train_ids = train_ids.to(self.device)
        self.validation_ids = validation_ids.to(self.device)
        corpus.windows(self.validation_ids, config.context)  # raises now where they are too few
        self.generator = torch.Generator().manual_seed(config.seed)
        sizes = {"batch_size": config.batch_size, "context": config.context}
        self.batches = corpus.batches(self.train_ids, generator=self.generator, **sizes)
        self.optimizer = make_optimizer(model, config)
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.shared = distributed.wrap(model)
        self.forward = torch.compile(self.shared) if config.compile else self.shared
        self.step, self.seconds, self.interrupted = 0, 0.0, False
        self.records: list[StepRecord] = []
        self.pending: list[Tensor] = []  # (loss, gradient norm) of steps not read yet
        self.folder: RunFolder | None = None

    def one_step(self, stop: Callable[[], bool]) -> None:
        """Make one update, then evaluate and save if due."""
        began = time.perf_counter()
        evaluates = self.is_due(self.config.evaluate_every)
        saves = self.is_due(self.config.checkpoint_every)
        read_every = 1 if self.device.type in SYNCHRONOUS else READ_EVERY
        self.optimizer.scale(self.config.lr_factor(self.step))
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
        """Whether this step is a multiple of `every`, or the last."""
        return (self.step + 1) % every == 0 or self.step + 1 == self.config.steps

    def gradients(self) -> Float[Tensor, "2"]:
        """Leave a batch's clipped gradient in the parameters; (loss, norm before clipping)."""
        parts = self.config.accumulate
        x_BT, y_BT = (self.distributed.rows(batch) for batch in next(self.batches))
        pairs = list(zip(x_BT.chunk(parts), y_BT.chunk(parts), strict=True))
        self.optimizer.zero_grad()
        loss = torch.zeros((), device=self.device)
        with dropout_seed(self.config.seed, self.step, self.distributed.rank, self.device):
            for part, (x, y) in enumerate(pairs, start=1):
                with nullcontext() if part == parts else no_sync(self.shared):
                    part_loss = self.loss(x, y) / parts
                    part_loss.backward()
                loss += part_loss.detach()
        norm = nn.utils.clip_grad_norm_(self.trained, self.config.clip or math.inf)
        return torch.stack([loss, norm.to(loss)])

    def loss(self, x_BT: Tensor, y_BT: Tensor) -> Float[Tensor, ""]:
        """Cross-entropy in nats, the mean over the targets, products in the config's precision."""
        low = self.config.precision != "float32"
        with torch.autocast(self.device.type, dtype=DTYPES[self.config.precision], enabled=low):
            logits_BTV = self.forward(x_BT)
        return cross_entropy(logits_BTV, y_BT)

    def read(self, stop: bool) -> list[StepRecord]:
        """Records of the steps since the last call: means over all processes.

        All processes learn here whether one of them was interrupted.
        """
        flag = torch.tensor([float(stop)], device=self.device)
        numbers = torch.cat([torch.stack(self.pending).flatten(), flag])
        *values, stops = self.distributed.total(numbers).tolist()
        first, fresh = self.step + 1 - len(self.pending), []
        self.pending.clear()
        self.interrupted = stops > 0
        means = (value / self.distributed.size for value in values)
        for step, (loss, norm) in enumerate(zip(means, means, strict=True), start=first):
            if not math.isfinite(loss + norm):
                raise self.diverged(f"at step {step} the loss is {loss}, the gradient norm {norm}")
            rate = self.config.lr_factor(step)
            fresh.append(StepRecord(step=step, loss=loss, gradient_norm=norm, rate=rate))
        return fresh

    def evaluate(self) -> float:
        """Mean loss over the validation split or its sample, in float32, each process a part."""
        windows = corpus.windows(self.validation_ids, self.config.context)
        if not (self.whole and self.step == self.config.steps):
            windows = islice(windows, 0, None, math.ceil(len(self.validation_ids) / SAMPLE))
        mine = islice(windows, self.distributed.rank, None, self.distributed.size)
        sums = torch.tensor(summed_loss(self.model, cross_entropy, mine), dtype=torch.float64)
        if self.distributed.size > 1:
            sums = self.distributed.total(sums.to(self.device))
        total, count = sums.tolist()
        if not math.isfinite(total):
            raise self.diverged(f"after step {self.step - 1} the validation loss is {total}")
        return total / count

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state of the run. Raises CheckpointError where something does not fit."""
        more = {"steps": self.config.steps} if self.config.steps > checkpoint.step else {}
        checkpoints.check_config(checkpoint.config | more, self.config)
        checkpoints.check_model(self.model, checkpoint.model)
        if checkpoint.data_sha256 != self.sha256:
            raise CheckpointError("the checkpoint was made with another training text")
        try:
            records = [StepRecord(**record) for record in checkpoint.records]
            self.generator.set_state(checkpoint.generators["batches"])
            self.optimizer.load_state_dict(checkpoint.optimizer)
        except (KeyError, TypeError, RuntimeError, ValueError) as error:
            raise CheckpointError(f"the checkpoint does not fit this run: {error}") from error
        checkpoints.restore_model(self.model, checkpoint.model)
        self.records, self.step = records, checkpoint.step
        self.seconds = records[-1].seconds if records else 0.0

    def open(self, folder: RunFolder, *, resume: bool) -> None:
        """Continue from the folder's last checkpoint, or start in a folder that has none."""
        self.folder, self.sha256 = folder, checkpoints.sha256_of(self.train_ids)
        if checkpoint := folder.open(resume=resume, write=self.distributed.is_main):
            self.restore(checkpoint)
        if self.distributed.is_main:
            folder.write(self.records)

    def save(self) -> None:
        """Write a checkpoint. Raises FloatingPointError where the model is no longer finite."""
        if self.folder is None or not self.distributed.is_main:
            return
        if not all(bool(p.isfinite().all()) for p in self.trained):
            raise self.diverged(f"the update of step {self.step - 1} left infinite parameters")
        self.folder.save(
            step=self.step,
            model=checkpoints.model_tensors(self.model),
            optimizer=self.optimizer.state_dict(),
            generators={"batches": self.generator.get_state()},
            config=asdict(self.config),
            records=[asdict(record) for record in self.records],
            data_sha256=self.sha256,
        )

    def diverged(self, what: str) -> FloatingPointError:
        """The error that says so, and which checkpoint is from before."""
        kept = [] if self.folder is None else checkpoints.list_checkpoints(self.folder.path)
        hint = f"; {kept[-1]} is from before" if kept else ""
        return FloatingPointError(f"{what}: try a lower learning rate{hint}")

    def keep_records(self, fresh: list[StepRecord], validation: float | None) -> None:
        """Complete the records of the last steps, write a line for each, and show them."""
        for record in fresh:
            of_this_step = validation if record.step == self.step - 1 else None
            record = replace(record, validation=of_this_step, seconds=self.seconds)
            self.records.append(record)
            if self.distributed.is_main and self.folder is not None:
                self.folder.append(record)
            if self.distributed.is_main and self.on_record is not None:
                self.on_record(record)

    def show(self, bar: tqdm) -> None:
        """Update the bar, with the last losses beside it."""
        bar.update(self.step - bar.n)
        if self.records:
            losses = {"loss": f"{self.records[-1].loss:.3f}"}
            if measured := [r.validation for r in self.records if r.validation is not None]:
                losses["validation"] = f"{measured[-1]:.3f}"
            bar.set_postfix(losses, refresh=False)
