"""What chapter 12's explorers draw and say."""

import matplotlib.pyplot as plt
import numpy as np

from helpers.chapters.ch12_inside_the_gpt import figures as draw


def test_explorer_of_heads_says_what_the_last_row_reads_most():
    weights = [np.stack([np.eye(3), np.eye(3, k=-1)])] * 2
    picture, in_words = draw.of_heads(weights, ["it", "was", "too"])
    assert "“too” reads “too” most, 100%" in in_words(2, 1)
    assert "“too” reads “was” most, 100%" in in_words(1, 2)
    figure = picture(2, 2)
    assert figure.axes[0].get_title() == "layer 2, head 2"
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["it", "was", "too"]
    plt.close(figure)


def test_explorer_of_copying_reads_the_update_that_is_chosen():
    curves = np.array([[3.0, 1.0], [9.0, 9.0]])
    found = {"losses": curves, "followed": curves / 10, "maps": [np.eye(2)] * 2, "head": 5}
    picture, in_words = draw.of_copying(found, [0, 25], [0, 27])
    assert "loss 1.00 nats; the best head of layer 2 gives 10%" in in_words(25)
    figure = picture(25)
    assert figure.axes[1].get_title() == "layer 2, head 5"
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == ["A", "b"]
    plt.close(figure)
