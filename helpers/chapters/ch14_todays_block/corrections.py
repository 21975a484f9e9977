"""Misconceptions of chapter 14: what is often said of today's block."""

from helpers.corrections import corrects, number


@corrects(
    claim="With 8 key-value heads in place of 64, attention costs an eighth.",
    says="“Grouped-query attention cuts the parameters and the scores by the size of a group.”",
    why="The cache falls to an eighth, and so do the matrices that make keys and values. Those for "
    "queries and for the output stay, and every head of queries still has a pattern of its own.",
    section="Swap 3: how many heads need keys of their own?",
)
def what_groups_save() -> str:
    """Parameters of attention, cache and patterns in one layer of Llama 3 70B."""
    C, H, G = 8_192, 64, 8  # Grattafiori et al. 2024
    share = (2 * C * C + 2 * C * C // H * G) / (4 * C * C)
    return (
        f"In Llama 3 70B attention keeps {100 * share:.0f} % of its parameters, "
        f"{number(100 * G / H)} % of the cache and all {H} patterns of a layer."
    )


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
