"""Chapter 11's baselines."""

from helpers.chapters.ch11_small_gpt import figures as draw


def test_labels_of_baselines_do_not_overlap(ax):
    draw.draw_losses(ax, [0, 1], [4.0, 2.0], {"one": 2.0, "other": 2.001}, validation={1: 2.0})
    heights = [text.get_position()[1] for text in ax.texts]
    assert heights[1] - heights[0] > 0.1
