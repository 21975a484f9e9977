"""A misconception of chapter 14: what a mixture of experts holds."""

from helpers.corrections import corrects


@corrects(
    claim="A mixture of eight experts of 7 billion parameters has 56 billion, and each token uses "
    "14 billion.",
    says="“Mixtral 8x7B is eight models of 7B.”",
    why="Only the feed-forward networks come eight times. Attention, norms and embeddings are "
    "there once.",
    section="What does a mixture of experts save?",
)
def eight_times_seven() -> str:
    """All parameters of Mixtral 8x7B, and those that one token uses, from its sizes."""
    V, C, H, G, L, hidden = 32_000, 4_096, 32, 8, 32, 14_336  # Jiang et al. 2024
    once = 2 * V * C + L * (2 * C * C + 2 * C * C // H * G + 2 * C + 8 * C) + C
    every, used = (f"{(once + n * L * 3 * C * hidden) / 1e9:.1f}" for n in (8, 2))
    return (
        f"Counted from its sizes, Mixtral 8x7B has {every} billion parameters in all, and uses "
        f"{used} billion for each token."
    )
