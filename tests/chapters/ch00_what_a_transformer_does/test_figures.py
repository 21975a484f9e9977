"""The data behind the drawings of chapter 0."""

import numpy as np

from helpers.chapters.ch00_what_a_transformer_does import figures as draw
from helpers.figures import INKS


def words_in(ax):
    return [text.get_text() for text in ax.texts]


def test_a_word_begins_after_what_is_no_letter():
    found = draw.starts_of_words("The fox, 'so'.")
    assert np.flatnonzero(found).tolist() == [0, 4, 10]


def test_target_is_the_letter_that_follows(ax):
    draw.draw_shifted(ax, "a fox")
    said = [word for word in words_in(ax) if word]
    assert said == ["input", "a", "␣", "f", "o", "target", "␣", "f", "o", "x"]


def test_bars_are_as_high_as_their_shares(ax):
    draw.draw_likeliest(ax, "e q", [0.75, 0.249, 0.001])
    assert [bar.get_height() for bar in ax.patches] == [0.75, 0.249, 0.001]
    assert words_in(ax) == ["75 %", "25 %", "< 1 %"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["e", "␣", "q"]


def test_beginnings_of_words_have_a_colour_of_their_own(ax):
    starts = np.array([1, 0, 1, 0, 0], dtype=bool)
    draw.draw_found(ax, "a fox", np.array([np.nan, 0.5, 0.1, 0.6, 1]), starts)
    assert [bar.get_height() for bar in ax.patches] == [0, 0.5, 0.1, 0.6, 1]
    inks = [bar.get_facecolor() for bar in ax.patches]
    assert inks[0] == inks[2] != inks[1] == inks[3] == inks[4]
    assert len(set(INKS[:2])) == 2
