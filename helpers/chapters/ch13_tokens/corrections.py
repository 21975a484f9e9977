"""A misconception of chapter 13: what losses can tell."""

import math

from helpers.corrections import corrects, number


@corrects(
    claim="Of two language models, the one with the lower perplexity predicts the text better.",
    says="“4.5 is less than 18, so the character model wins.”",
    why="Perplexity comes from the loss per token, and one model's tokens are longer than the "
    "other's. Bits per byte can be compared (Gao et al. 2020).",
    section="How do we compare models that read different tokens?",
)
def bits_and_not_perplexity() -> str:
    """Perplexities and bits per byte of the two models of the chapter's example."""
    found = []
    for nats, length in ((1.5, 1.0), (2.9, 2.3)):  # per token, and characters of a token
        bits = nats / math.log(2) / length
        found.append(f"a perplexity of {number(math.exp(nats))} and {bits:.2f} bits per byte")
    return (
        f"A loss of 1.5 nats per character is {found[0]}. A loss of 2.9 nats per token of 2.3 "
        f"characters is {found[1]}, which is better."
    )
