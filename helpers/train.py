"""Train a GPT or a Llama of the book on a text of yours, at any size, with Hugging Face Accelerate.

    python -m helpers.train my.txt my-run --kind llama --tokens pairs --layers 6
    torchrun --nproc_per_node 8 -m helpers.train my.txt my-run
    python -m helpers.train --resume my-run

The folder holds the model (`model.safetensors`), a log with samples, a picture of the loss and the
last checkpoints. A batch is what one update learns from, however many processes share it.
"""

import argparse
import hashlib
import io
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure

from helpers import checkpoint, command, corpus, files
from helpers.minigpt import GPT, WORDS, Tokenizer, generate, get_batch, lr_at, make_optimizer
from helpers.minillama import BytePairTokenizer, Llama, learn_merges

MODEL, SETTINGS = "model.safetensors", "settings.json"
OPTIONS = dict[str, Any](kind=("gpt", "which model"), tokens=("characters", "how a text is cut"))
OPTIONS |= {"merges": (1000, "byte pairs to learn"), "context": (64, "tokens that a model reads")}
OPTIONS |= {"width": (128, "numbers per token"), "layers": (4, "blocks"), "heads": (4, "per block")}
OPTIONS |= {"kv_heads": (0, "of a Llama, 0 for all"), "hidden": (0, "of a Llama, 0 for 8/3 width")}
OPTIONS |= {"steps": (2000, "updates"), "every": (200, "steps to a line, a sample, a checkpoint")}
OPTIONS |= {"batch": (16, "windows per update"), "accumulate": (1, "parts a batch is read in")}
OPTIONS |= {"lr": (0.003, "learning rate"), "dropout": (0.0, "of a GPT"), "seed": (0, "of chance")}
CHOICES = {"kind": ["gpt", "llama"], "tokens": ["characters", "words", "pairs"]}


class Log:
    """What was measured and said so far. Accelerate keeps it with the rest of a checkpoint."""

    def __init__(self):
        self.losses, self.unseen, self.lines = [], {}, []

    def state_dict(self):
        """What a checkpoint holds of it."""
        return vars(self)

    def load_state_dict(self, state):
        """Go on from a checkpoint."""
        vars(self).update(state)

    def draw(self):
        """The losses against the steps, as SVG."""
        figure, drawn = Figure(figsize=(7, 4), layout="constrained"), io.BytesIO()
        axes = figure.add_subplot(xlabel="steps", ylabel="loss (nats per token)")
        axes.plot(range(1, len(self.losses) + 1), self.losses, lw=0.6, label="each batch")
        axes.plot([*self.unseen], [*self.unseen.values()], "o-", ms=3, label="unseen text")
        axes.legend(frameon=False)
        figure.savefig(drawn, format="svg")
        return drawn.getvalue()


def make_model(given, V):
    """An untrained model. Raises ValueError for sizes that no model has."""
    C, H, G = given.width, given.heads, given.kv_heads or given.heads
    sizes = {"V": V, "T": given.context, "C": C, "H": H, "L": given.layers}
    if C % H or H % G or (given.kind == "llama" and C // H % 2):
        raise ValueError(
            "--heads should divide --width (in a Llama evenly often), and --kv_heads divide --heads"
        )
    if given.kind == "gpt":
        return GPT(**sizes, dropout=given.dropout)
    if given.dropout:
        raise ValueError("minillama's Llama has no dropout")
    return Llama(**sizes, G=G, hidden=given.hidden or 8 * C // 3)


def has_bf16():
    """Whether the card, or without one the processor, multiplies in bfloat16."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    has = getattr(torch.cpu, "get_capabilities", dict[str, bool])()  # of a recent PyTorch
    return has.get("avx512_bf16", False) or has.get("amx_bf16", False)


class Run:
    """A model in training: what Accelerate has prepared, the text, and the folder."""

    def __init__(self, given, folder):
        import accelerate

        self.given, self.folder, self.log = given, folder, Log()
        has_units, n = has_bf16() and not given.float32, int(os.environ.get("WORLD_SIZE", 1))
        self.engine = accelerate.Accelerator(
            mixed_precision="bf16" if has_units else "no",
            gradient_accumulation_steps=given.accumulate,
            cpu=n > 1 and not torch.cuda.is_available(),  # else it would start one process
        )
        assert self.engine.num_processes == n, "not all processes were started"
        if given.batch % (n * given.accumulate):
            raise ValueError(f"--batch should be a multiple of --accumulate times {n} processes")
        accelerate.utils.set_seed(given.seed)  # the same weights in every process
        text = corpus.load(given.text)
        given.sha256, begun = hashlib.sha256(text.encode()).hexdigest(), vars(given).get("sha256")
        if begun not in (None, given.sha256):
            raise ValueError(f"{given.text} isn't the text any more with which this run began")
        if (folder / MODEL).is_file():  # a run that goes on
            _, self.tokenizer = checkpoint.load(folder / MODEL)
        elif given.tokens == "pairs":
            self.tokenizer = BytePairTokenizer(learn_merges(text, given.merges))
        else:
            self.tokenizer = Tokenizer(text, WORDS if given.tokens == "words" else r"(?s).")
        ids, V = self.tokenizer.encode(text), len(self.tokenizer.vocab)
        if len(ids) < 10 * (given.context + 1):
            needed = f"--context {given.context} needs {10 * (given.context + 1)}"
            raise ValueError(f"{given.text} holds {len(ids)} tokens, and {needed}")
        self.train_N, self.unseen_N = (part.to(self.engine.device) for part in corpus.split(ids))
        model = make_model(given, V)
        self.sizes = checkpoint.sizes(model)
        self.model, self.optimizer = self.engine.prepare(model, make_optimizer(model, given.lr))
        self.engine.register_for_checkpointing(self.log)
        accelerate.utils.set_seed(given.seed, device_specific=True)  # each its own dropout
        N = sum(parameter.numel() for parameter in model.parameters())
        self.say(f"{len(ids):,} tokens, {V:,} different ones; {N:,} parameters")
        precision = "bfloat16" if has_units else "float32"
        self.say(f"{n} process{'es' * (n > 1)} on {self.engine.device.type}, in {precision}")

    def say(self, line):
        """Print once, whatever the number of processes, and remember."""
        if self.engine.is_main_process:
            print(line, flush=True)
            self.log.lines.append(line)

    def parts(self, ids_N, step):
        """The share of a step's draw that this process takes, in --accumulate parts (x, y)."""
        with torch.random.fork_rng(devices=[]):  # windows are drawn on the CPU
            torch.default_generator.manual_seed((self.given.seed << 32) + step + 1)
            drawn = get_batch(ids_N, self.given.batch, self.given.context)
        share = slice(self.engine.process_index, None, self.engine.num_processes)
        return zip(*(ids[share].chunk(self.given.accumulate) for ids in drawn), strict=True)

    def update(self, step):
        """One step of the optimiser; the mean loss before it, of this process's share."""
        for group in self.optimizer.param_groups:
            group["lr"] = lr_at(step, self.given.steps, self.given.lr)
        losses = []
        for x_BT, y_BT in self.parts(self.train_N, step):
            with self.engine.accumulate(self.model):
                logits_BTV = self.model.train()(x_BT)
                losses.append(F.cross_entropy(logits_BTV.flatten(0, 1), y_BT.flatten()))
                self.engine.backward(losses[-1])
                if self.engine.sync_gradients:
                    self.engine.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
        return torch.stack(losses).detach().mean()

    @torch.no_grad()
    def look(self, step, recent, seconds):
        """Measure the loss on unseen text, let the model write, and keep all of it."""
        of_all = self.engine.reduce(torch.stack(recent), "mean")
        self.log.losses += of_all.tolist()
        parts, model = self.parts(self.unseen_N, -1), self.engine.unwrap_model(self.model)
        losses = [F.cross_entropy(self.model.eval()(x_BT).mT, y_BT) for x_BT, y_BT in parts]
        self.log.unseen[step] = self.engine.reduce(torch.stack(losses).mean(), "mean").item()
        rate = len(recent) * self.given.batch * self.given.context / seconds
        about = f"loss {of_all.mean():.3f}, {self.log.unseen[step]:.3f} on unseen text"
        self.say(f"\nstep {step}, {about}, {rate:,.0f} tokens per second")
        written_BT = generate(model, self.train_N[None, :10], 150, temperature=0.8)
        self.say(self.tokenizer.decode(written_BT[0].tolist()))
        self.keep(step)
        self.show()

    def keep(self, step):
        """Write the checkpoint of a step into a new folder, which gets its name when complete."""
        partial = self.folder / "partial"  # one may be left of a run that was killed
        if self.engine.is_main_process:
            shutil.rmtree(partial, ignore_errors=True)
        self.engine.wait_for_everyone()
        self.engine.save_state(str(partial), safe_serialization=False)  # tied weights stay tied
        self.engine.wait_for_everyone()
        if self.engine.is_main_process:
            partial.rename(self.folder / f"step-{step:08}")
            for old in sorted(self.folder.glob("step-*"))[:-2]:
                shutil.rmtree(old)

    def show(self):
        """Write the model, the log and the picture."""
        weights = self.engine.get_state_dict(self.model)  # whole, even if each process has a part
        if self.engine.is_main_process:
            with torch.random.fork_rng(devices=[]):
                model = checkpoint.KINDS[self.given.kind](**self.sizes)
            model.load_state_dict(weights)
            checkpoint.save(self.folder / MODEL, model, self.tokenizer)
            files.write_text(self.folder / "log.txt", "\n".join(self.log.lines) + "\n")
            files.write_bytes(self.folder / "loss.svg", self.log.draw())

    def train(self):
        """Train to the end, from the last checkpoint if there is one."""
        if kept := sorted(self.folder.glob("step-*")):  # zeros first, so the last is the newest
            self.engine.load_state(str(kept[-1]))
            self.say(f"\nresumed after step {len(self.log.losses)}")
        else:
            if self.engine.is_main_process:
                files.write_text(self.folder / SETTINGS, json.dumps(vars(self.given), indent=1))
            self.show()  # no checkpoint: with FSDP an optimiser that is saved early counts a step
        recent, began = [], time.perf_counter()
        for step in range(len(self.log.losses), self.given.steps):
            recent.append(self.update(step))
            if (step + 1) % self.given.every == 0 or step + 1 == self.given.steps:
                self.look(step + 1, recent, time.perf_counter() - began)
                recent, began = [], time.perf_counter()
        self.say(f"\nAfter {self.given.steps} steps the model is kept in {self.folder / MODEL}.")
        self.engine.end_training()


def settings(arguments):
    """What a run is given, and its folder; of one that is resumed, what it was given at first."""
    parser = argparse.ArgumentParser("python -m helpers.train", description=__doc__.split("\n")[0])
    parser.add_argument("text", nargs="?", help="a text in UTF-8")
    parser.add_argument("folder", nargs="?", help="a new folder for the run")
    parser.add_argument("--resume", metavar="FOLDER", help="go on with a run, as it was begun")
    parser.add_argument("--float32", action="store_true", help="even where bfloat16 is faster")
    for name, (value, about) in OPTIONS.items():
        how = {"type": type(value), "default": value, "choices": CHOICES.get(name)}
        parser.add_argument(f"--{name}", help=f"{about} (%(default)s)", **how)
    given = parser.parse_intermixed_args(arguments)
    folder = Path(given.resume or given.folder or "").expanduser()
    if given.resume:
        if len(arguments) > 2:
            parser.error("--resume takes a folder alone: a run goes on as it was begun")
        return argparse.Namespace(**json.loads(files.read_bytes(folder / SETTINGS))), folder
    if not given.folder:
        parser.error("a text and a new folder are needed, or --resume and a folder")
    if (folder / SETTINGS).exists() or (folder / MODEL).exists():
        raise FileExistsError(f"{folder} holds a run already: --resume it, or name another")
    return given, folder


def run(arguments):
    """Train from a console: an error becomes one line and an exit status."""
    with command.one_line("stopped; --resume goes on from the last checkpoint"):
        Run(*settings(arguments)).train()


if __name__ == "__main__":
    run(sys.argv[1:])
