"""The data behind the drawings of chapter 0."""

import numpy as np

from helpers.chapters.ch00_what_a_transformer_does import figures as draw
from helpers.figures import INKS


def words_in(ax):
    return [text.get_text() for text in ax.texts]


def test_target_is_the_token_that_follows(ax):
    draw.draw_shifted(ax, ["The", " fox", " did", "."])
    said = [word for word in words_in(ax) if word]
    assert said == ["input", "The", "fox", "did", "target", "fox", "did", "."]


def test_bars_are_as_high_as_their_shares(ax):
    draw.draw_likeliest(ax, [" river", " ", "."], [0.75, 0.249, 0.001])
    assert [bar.get_height() for bar in ax.patches] == [0.75, 0.249, 0.001]
    assert words_in(ax) == ["75 %", "25 %", "< 1 %"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["river", "␣", "."]


def test_surprises_have_a_colour_of_their_own(ax):
    draw.draw_found(ax, ["a", " fox", " ran", "."], np.array([np.nan, 0.49, 0.51, 1]))
    assert [bar.get_height() for bar in ax.patches] == [0, 0.49, 0.51, 1]
    inks = [bar.get_facecolor() for bar in ax.patches]
    assert inks[1] != inks[0] == inks[2] == inks[3]
    assert len(set(INKS[:2])) == 2
