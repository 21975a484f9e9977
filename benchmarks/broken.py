"""minigpt with one mistake in it, three seeds each: helpers/data/results/gpt_broken.json."""

import inspect
import types

import torch
import torch.nn.functional as F
from common import about, store_table

from helpers import corpus, minigpt, valley

LOGITS = "self.head(self.norm(self.blocks(x_BTC)))"
MISTAKES = {  # what is replaced in minigpt's source, and by what
    "none": ("", ""),
    "targets are the inputs": ("ids[at_BT + 1]", "ids[at_BT]"),
    "the mask begins one position late": (".triu(1)", ".triu(2)"),
    "no optimizer.step()": ("        optimizer.step()\n", ""),
    "the model returns probabilities": (LOGITS, f"{LOGITS}.softmax(dim=-1)"),
    "weights of deviation 1, not 0.02": ("std=0.02", "std=1.0"),
    "a row of the mask forbids everything": (".triu(1)", ".triu(0)"),
    "a learning rate of 0.3, not 0.006": ("return peak", "return 50 * peak"),
    "a training text of 1,000 tokens": ("= get_batch(ids", "= get_batch(ids[:1000]"),
    "always the likeliest token": ("top_k=None", "top_k=1"),
    "dropout is on while it writes": ("model.eval()", "model.train()"),
    "no positions": (" + positions_TC", ""),
    "scores not divided by √D": (" / q.shape[-1] ** 0.5", ""),
    "the norm divides by n − 1": ("correction=0", "correction=1"),
}
SEEDS, STEPS = (1, 2, 3), 400


def run(mistake, seed, steps=STEPS):
    """Losses at the first step, at the end and on unseen tales, and a text, of one training."""
    program = types.ModuleType("broken")
    exec(inspect.getsource(minigpt).replace(*MISTAKES[mistake]), program.__dict__)
    told = valley.BETWEEN.join(tale for tale, _ in valley.tales(1000))
    tokens = program.Tokenizer(told, program.WORDS)
    train_N, unseen_N = corpus.split(tokens.encode(told))
    torch.manual_seed(seed)
    model = program.GPT(len(tokens.vocab), T=64, C=48, H=4, L=2, dropout=0.1)
    losses = [loss for _, loss in program.train(model, train_N, steps, 12, 0.006)]
    x_BT, y_BT = program.get_batch(unseen_N, 64, model.T)
    with torch.no_grad():
        unseen = F.cross_entropy(model.eval()(x_BT).mT, y_BT).item()
    try:
        begun_BT = tokens.encode(valley.BETWEEN)[None]
        text = tokens.decode(program.generate(model, begun_BT, 40, 0.8)[0, begun_BT.shape[1] :])
    except RuntimeError as error:  # of probabilities that are nan
        text = f"RuntimeError: {error}"
    last = sum(losses[-20:]) / len(losses[-20:])
    return losses[0], last, unseen, " ".join(text.replace("\n", " ↵ ").split())


def row(mistake):
    """Of each loss the lowest and the highest seed, and the first one's text."""
    *losses, texts = zip(*(run(mistake, seed) for seed in SEEDS), strict=True)
    spans = (dict.fromkeys(f"{f(loss):.2f}" for f in (min, max)) for loss in losses)
    return [mistake, *map(" to ".join, spans), texts[0]]


if __name__ == "__main__":
    torch.set_num_threads(1)
    made = about(__file__, SEEDS, title="minigpt with one mistake in it")
    made["claim"] = f"{STEPS} steps on 900 tales; losses in nats a token, lowest to highest seed"
    made["columns"] = "mistake", "loss of step 1", "last 20 steps", "unseen tales", "what it writes"
    store_table("gpt_broken", made | {"rows": [row(mistake) for mistake in MISTAKES]})
