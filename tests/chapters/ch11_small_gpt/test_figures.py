"""Chapter 11's baselines."""

import numpy as np

from helpers.chapters.ch11_small_gpt import figures as draw


def test_labels_of_baselines_do_not_overlap(ax):
    draw.draw_losses(ax, [0, 1], [4.0, 2.0], {"one": 2.0, "other": 2.001}, validation={1: 2.0})
    heights = [text.get_position()[1] for text in ax.texts]
    assert heights[1] - heights[0] > 0.1


def test_next_words_are_softmax_of_the_top_k_at_a_temperature():
    logits_V = np.log(np.array([0.1, 0.6, 0.3]))
    picture, in_words = draw.next_words(logits_V, ["a", "b", "c"])
    assert in_words(1.0, 3).endswith("“b” 0.60, “c” 0.30, “a” 0.10.")
    assert in_words(0.5, 2).endswith("“b” 0.80, “c” 0.20.")  # 36 to 9
    assert picture(0.5, 1).axes[0].patches[0].get_height() == 1
