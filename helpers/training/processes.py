"""Distributed data parallel: which rows each process takes, and how results are averaged.

Started by `torchrun --nproc-per-node N -m helpers.train …`, every process runs the same code.
Each draws the same batch and keeps its own rows of it, and DistributedDataParallel averages the
gradients, so that all take the step that one process would take with the whole batch.
"""

import hashlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True, kw_only=True)
class DistributedContext:
    """The processes of a run, seen from one of them; a single one by default.

    rank: the number of this process, 0..size-1. Only rank 0 writes. device: where it computes.
    """

    rank: int = 0
    size: int = 1
    device: torch.device | None = None

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def rows(self, batch: Shaped[Tensor, "B *rest"]) -> Shaped[Tensor, "b *rest"]:
        """Give this process its equal part of a batch, in order: (B, ...) to (B / size, ...)."""
        part = len(batch) // self.size
        return batch[self.rank * part : (self.rank + 1) * part]

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model with its gradients averaged over processes; all start from rank 0's."""
        if self.size == 1:
            return model
        device = next(model.parameters()).device
        return DistributedDataParallel(model, [device] if device.type == "cuda" else None)

    def total(self, numbers: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
        """The numbers of all processes added up, the same in each. (N,) to (N,)."""
        if self.size == 1:
            return numbers
        numbers = numbers.clone()
        distributed.all_reduce(numbers)
        return numbers


def no_sync(model: nn.Module) -> AbstractContextManager:
    """A context in which gradients are accumulated and not yet averaged over processes."""
    return model.no_sync() if isinstance(model, DistributedDataParallel) else nullcontext()


@contextmanager
def distributed_context(device: torch.device | str | None = None) -> Iterator[DistributedContext]:
    """The context in which torchrun started this process, or that of a single process.

    device: "cuda" gives each process the GPU of its local rank.
    """
    device = torch.device(device or "cpu")
    size, local = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", 0))
    if device.type == "cuda" and size > 1:
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
    if size == 1:
        yield DistributedContext(device=device)
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    yield DistributedContext(rank=distributed.get_rank(), size=size, device=device)
    distributed.destroy_process_group()  # not after an error: it would wait for the lost one


@contextmanager
def dropout_seed(seed: int, step: int, rank: int, device: torch.device) -> Iterator[None]:
    """Seed dropout by step and process; the caller's generator is restored afterwards."""
    gpus = [device] if device.type == "cuda" else []
    digest = hashlib.sha256(f"{seed} {step} {rank}".encode()).digest()
    with torch.random.fork_rng(gpus):
        torch.manual_seed(int.from_bytes(digest[:4], "little"))  # a CPU's takes 32 bits
        yield


@contextmanager
def interrupts(*, alone: bool) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed in here, in place of the first KeyboardInterrupt.

    alone: a second Ctrl-C is a KeyboardInterrupt. Of several processes none stops before the rest.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only there are signals seen
        yield pressed.is_set
        return

    def handler(number: int, frame: object) -> None:
        pressed.set()
        if alone:
            signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
