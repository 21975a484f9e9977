"""Chapter 2's plane: who wins where."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.path import Path

from helpers.chapters.ch02_similarity_geometry import figures as draw
from helpers.figures import INKS


def covered(patch, places) -> np.ndarray:
    """Which places a patch covers: those in its first loop and not in its second, a hole."""
    first, *hole = (Path(loop).contains_points(places) for loop in patch.get_path().to_polygons())
    return first & ~hole[0] if hole else first


def test_who_wins_is_what_the_three_measures_say():
    points, names = np.array([[2.0, 1.0], [8.0, 6.0], [4.0, 4.0]]), ["brook", "river", "pond"]
    spoken = {"dot": "dot product", "cosine": "cosine", "euclid": "Euclid"}
    picture, in_words = draw.who_wins(points, names, spoken)
    angle, length = np.degrees(np.arctan2(2, 4)), 20**0.5
    said = "By dot product river, by cosine brook, by Euclid pond. All three disagree."
    assert in_words(angle, length) == said
    titles = [ax.get_title() for ax in picture(angle, length).axes]
    assert titles == ["dot product: river", "cosine: brook", "Euclid: pond"]
    plt.close("all")


def test_lands_are_where_each_word_wins():
    points = np.array([[2, 1], [8, 6], [4, 4], [-1, 5], [-3, -4]], dtype=float)
    names = ["brook", "river", "pond", "lake", "sand"]
    picture, _ = draw.who_wins(points, names, {"dot": "dot", "cosine": "cos", "e": "e"})
    axes, sizes = picture(30, 3).axes, np.linalg.norm(points, axis=1)
    queries = np.random.default_rng(0).uniform(-11, 11, (200, 2))
    dots = queries @ points.T
    left = (dots, dots / sizes, -np.linalg.norm(queries[:, None] - points, axis=2))
    won = np.array([x.argmax(axis=1) for x in left])
    agree = (won == won[0]).all(axis=0)
    for ax, winners in zip(axes, won, strict=True):
        for patch in ax.patches:
            ink, pale = patch.get_facecolor()[:3], patch.get_alpha() < 0.2
            [word] = [n for n in range(5) if to_rgb(INKS[n]) == ink]
            there = (winners == word) & (agree == pale)
            np.testing.assert_array_equal(covered(patch, queries), there)
    plt.close("all")
