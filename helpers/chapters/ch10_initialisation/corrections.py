"""A misconception of chapter 10: a factor that belongs to another recipe."""

from helpers.corrections import corrects


@corrects(
    claim="Token embeddings must be multiplied by √C before the positions are added.",
    says="`token_emb(idx) * math.sqrt(n_embd) + pos_emb(t)`, “or the positions drown the tokens”",
    why="The factor belongs to the Transformer of 2017, with small embeddings beside sines and "
    "cosines. Neither GPT nor BERT has it. Where positions are learned from the same small initial "
    "weights as tokens, it is the tokens that drown the positions.",
    section="Where does the formula for the first loss fail?",
)
def scaling_drowns_the_positions() -> str:
    """Share of the positions in the mean square of the sum, for C = 768 and three recipes."""
    C, shares = 768, []
    for token, position in ((0.02**2, 0.02**2), (0.02**2 * C, 0.02**2), (1.0, 0.5)):
        shares.append(f"{100 * position / (token + position):.1f} %")
    return (
        f"At C = {C}, if tokens and positions are both drawn with standard deviation 0.02, the "
        f"positions make up {shares[0]} of the mean square of the sum, and with the factor "
        f"{shares[1]}. With tokens drawn with 1/√C, the factor, and sines and cosines they make up "
        f"{shares[2]}."
    )
