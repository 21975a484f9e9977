"""Figures of chapter 02: the data behind what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.path import Path

from helpers.chapters.ch02_similarity_geometry import figures as draw
from helpers.figures import INKS


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def covered(patch, places) -> np.ndarray:
    """Which places a patch covers: those in its first loop and not in its second, a hole."""
    first, *hole = (Path(loop).contains_points(places) for loop in patch.get_path().to_polygons())
    return first & ~hole[0] if hole else first


def box(left: float, right: float) -> np.ndarray:
    return np.array([[left, -3.0], [right, -3.0], [right, 3.0], [left, 3.0]])


def test_plane_glows_where_measures_disagree(ax):
    points, nowhere = np.array([[1.0, 2.0], [-1.0, -1.0], [0.0, 0.0]]), np.empty((0, 2))
    lands, shared = [box(0, 3), box(-3, 0), nowhere], [box(1, 3), nowhere, nowhere]
    query, names = np.array([0.5, 0.5]), ["a", "b", "c"]
    assert draw.draw_plane(ax, points, names, lands, shared, query, 1, reach=3.0) is ax
    pale, glowing, other = ax.patches
    inks = [patch.get_facecolor() for patch in ax.patches]
    assert [ink[:3] for ink in inks] == [to_rgb(INKS[n]) for n in (0, 0, 1)]
    assert inks[0][3] < 0.2 < inks[1][3] < 0.5, "or words on it would not follow the page's ink"
    for patch, expected in ((pale, [0, 0, 1]), (glowing, [0, 1, 0]), (other, [1, 0, 0])):
        np.testing.assert_array_equal(covered(patch, [[-1.5, 0], [0.5, 0], [2, 0]]), expected)
    link = ax.lines[-2].get_xydata()
    np.testing.assert_allclose(link, [query, points[1]])
    assert texts(ax) == names


def test_names_of_marks_that_coincide_stand_together(ax):
    points = np.array([[1.0, 2.0], [1.01, 2.0], [1.0, 2.0], [0.0, 0.0]])
    named = ["stream", "brook", "sand", "pond"]
    assert draw.draw_marks(ax, points, named, reach=2.5, title="x") is ax
    marks = ax.lines[2:]
    np.testing.assert_allclose([mark.get_xydata()[0] for mark in marks], points)
    sizes = [mark.get_markersize() for mark in marks]
    assert sizes == sorted(sizes, reverse=True), "or one would hide the other"
    assert texts(ax) == ["stream, brook,\nsand", "pond"]
    assert [text.xy for text in ax.texts] == [(1.0, 2.0), (0.0, 0.0)]


def test_correlations_are_a_line_a_seed_in_the_ink_of_the_table(ax):
    found = {"input rows": np.array([[0.5, -0.3], [0.6, -0.4]]), "output rows": -np.ones((1, 2))}
    assert draw.draw_correlations(ax, [25, 1200], found) is ax
    first, second, other = ax.lines[1:]
    np.testing.assert_allclose(first.get_xydata(), [[25, 0.5], [1200, -0.3]])
    np.testing.assert_allclose(second.get_ydata(), [0.6, -0.4])
    assert (first.get_color(), other.get_color()) == (INKS[0], INKS[1])
    assert ax.get_ylim() == (-1, 1)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(found)


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
