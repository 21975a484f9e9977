"""Checks for chapter 16, from text to answers."""

import numpy as np

from helpers import minillama
from helpers.exercises import check as check
from helpers.exercises import explanation, near_misses, spoken
from helpers.exercises.pieces import drawn, piece


def _targets(ids, prompt):
    found = np.array(ids[1:])
    found[: prompt - 1] = -100
    return found


def _changed(ids, prompt, at, value):
    found = _targets(ids, prompt)
    found[at] = value
    return found


near_misses(
    "16.1",
    _targets,
    [(np.array([7, 3, 5, 8, 2, 3, 9]), 4), (np.array([1, 4, 2, 9]), 2)],
    {
        "The targets are the ids themselves; each should be the id of the next token.": (
            lambda ids, prompt: np.where(np.arange(len(ids) - 1) < prompt - 1, -100, ids[:-1]),
            lambda ids, prompt: np.where(np.arange(len(ids)) < prompt, -100, ids),
            lambda ids, prompt: np.where(np.arange(len(ids) - 1) < prompt, -100, ids[:-1]),
        ),
        "The first token of the answer is masked too. Which position predicts it?": (
            lambda ids, prompt: _changed(ids, prompt, prompt - 1, -100)
        ),
        "The last token of the prompt counts, and it is not of the answer.": (
            lambda ids, prompt: _changed(ids, prompt, prompt - 2, ids[prompt - 1])
        ),
        "The end token is masked, so the model would never learn to stop.": (
            lambda ids, prompt: _changed(ids, prompt, -1, -100)
        ),
        "You masked the answer and kept the question.": (
            lambda ids, prompt: np.where(np.arange(len(ids) - 1) < prompt - 1, ids[1:], -100)
        ),
        "−100 is asked for where nothing counts; 0 is the id of a token.": (
            lambda ids, prompt: np.where(np.arange(len(ids) - 1) < prompt - 1, 0, ids[1:])
        ),
        "You masked ids of the prompt in the answer, too. It is the place that counts.": (
            lambda ids, prompt: np.where(np.isin(ids[1:], ids[:prompt]), -100, ids[1:])
        ),
        "Nothing is masked.": lambda ids, prompt: ids[1:],
    },
)

near_misses(
    "16.2",
    lambda inputs, outputs, rank: rank * (inputs + outputs),
    [(576, 192, 8), (4096, 4096, 16), (3, 5, 1)],
    {
        "This is the number of weights of the layer itself.": (
            lambda inputs, outputs, rank: inputs * outputs
        ),
        "Each matrix is thin: one has `rank` rows, the other `rank` columns.": (
            lambda inputs, outputs, rank: rank * inputs * outputs
        ),
        "That counts one of the two matrices twice, or only one of them.": (
            lambda inputs, outputs, rank: 2 * rank * inputs,
            lambda inputs, outputs, rank: 2 * rank * outputs,
            lambda inputs, outputs, rank: rank * inputs,
            lambda inputs, outputs, rank: rank * outputs,
        ),
        "A LoRA has no biases.": lambda inputs, outputs, rank: rank * (inputs + outputs) + outputs,
        "The frozen weights are not trained; leave them out.": (
            lambda inputs, outputs, rank: inputs * outputs + rank * (inputs + outputs)
        ),
    },
    "For {inputs} inputs, {outputs} outputs and rank {rank} yours is {found:.0f}: not right.",
)


def _beside(scale=lambda self: self.scale, linear=1):
    """A LoRA, or one with a mistake in both of its methods."""

    def forward(self, x_BTC):
        return linear * self.linear(x_BTC) + scale(self) * (x_BTC @ self.a.mT @ self.b.mT)

    def merge(self):
        self.linear.weight.data *= linear
        self.linear.weight.data += scale(self) * self.b.data @ self.a.data
        return self.linear

    return {"forward": forward, "merge": merge}


def _merge_without_scale(self):
    self.linear.weight.data += self.b.data @ self.a.data
    return self.linear


piece(
    "16.3",
    minillama.LoRA,
    [drawn(minillama.LoRA, (4, 6, 2, 6), 2, 3, 4)],
    {
        "The scale is missing.": _beside(lambda self: 1),
        "The scale is alpha divided by the rank, not alpha.": (
            _beside(lambda self: self.scale * len(self.a))
        ),
        "You multiplied by the rank; divide by it.": (
            _beside(lambda self: self.scale * len(self.a) ** 2)
        ),
        "The product alone is the change; add it to what the layer gives.": _beside(linear=0),
        "The change is subtracted.": _beside(lambda self: -self.scale),
        "`forward` is right, but `merge` gives the layer as it was.": {
            "merge": lambda self: self.linear
        },
        "`forward` is right, but in `merge` the scale is missing.": {"merge": _merge_without_scale},
    },
)


def _dpo(better, worse, better_ref, worse_ref, beta):
    return np.log1p(np.exp(-beta * ((better - better_ref) - (worse - worse_ref))))


near_misses(
    "16.4",
    _dpo,
    [(-2.0, -3.0, -2.5, -1.5, 0.5), (-4.0, -1.0, -3.0, -3.5, 2.0), (-1.0, -1.0, -1.0, -1.0, 1.0)],
    {
        "Better and worse are exchanged: this loss rewards the worse answer.": (
            lambda b, w, rb, rw, beta: _dpo(w, b, rw, rb, beta)
        ),
        "The reference plays no part.": lambda b, w, rb, rw, beta: _dpo(b, w, 0, 0, beta),
        "β plays no part.": lambda b, w, rb, rw, beta: _dpo(b, w, rb, rw, 1),
        "Divide by nothing: β multiplies the difference.": (
            lambda b, w, rb, rw, beta: _dpo(b, w, rb, rw, 1 / beta)
        ),
        "Log-probabilities of the reference are subtracted, not added.": (
            lambda b, w, rb, rw, beta: _dpo(b, w, -rb, -rw, beta)
        ),
        "This is the probability inside the logarithm, without the logarithm.": (
            lambda b, w, rb, rw, beta: np.exp(-_dpo(b, w, rb, rw, beta))
        ),
        "A loss is minus the log-probability; yours has the other sign.": (
            lambda b, w, rb, rw, beta: -_dpo(b, w, rb, rw, beta)
        ),
    },
    "For these log-probabilities yours is {found:.4g}: not right.",
    numpy=True,
)


def _length(ids, end):
    return ids.index(end) if end in ids else len(ids)


near_misses(
    "16.5",
    lambda ids, end: _length(list(ids), end),
    [([5, 8, 2, 9, 2, 9, 9], 2), ([4, 1, 2, 6, 2, 7], 2), ([3, 1, 7], 2), ([2, 5], 2)],
    {
        "The end token itself is no part of the answer.": (
            lambda ids, end: _length(list(ids), end) + (end in list(ids))
        ),
        "You looked for the last end token; the first one ends the answer.": (
            lambda ids, end: (
                len(ids) - 1 - list(ids)[::-1].index(end) if end in list(ids) else len(ids)
            )
        ),
        "Where there is no end token the whole is the answer, cut off by the limit.": (
            lambda ids, end: list(ids).index(end) if end in list(ids) else 0,
            lambda ids, end: list(ids).index(end) if end in list(ids) else len(ids) - 1,
            lambda ids, end: list(ids).index(end) if end in list(ids) else -1,
        ),
        "The end token need not be the last of the list.": lambda ids, end: len(ids) - 1,
        "You left out end tokens and counted what follows them.": (
            lambda ids, end: len([i for i in ids if i != end])
        ),
        "Nothing is cut.": lambda ids, end: len(ids),
    },
)

explanation(
    "16.6",
    "The adapter is an addition to layers that are still there. Left beside them it adds two small "
    "products to each, so a step is a little slower; merged into them it costs nothing, and the "
    "model is as large and as fast as before. What LoRA saves is memory in training, since Adam "
    "keeps its averages for the trained parameters only, and storage for each task.",
    "The frozen layers are still computed in full.",
    "Beside its layer an adapter adds work, and merged into it none; in no case does it save any.",
    "It saves optimiser state in training, and storage for each fine-tuned version.",
)

spoken(
    "16.2",
    "What would twice the rank change in your number, and what in the merged layer?",
    "Twice as many numbers to train, since a has a row of inputs for each rank and b a column of "
    "outputs. The merged layer has the shape that it had.",
)
