"""Chapter 5's plane: lines of equal score, and the hull of the values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.chapters.ch05_attention_by_hand import figures as draw

TOKENS = ["fox", "cross", "stream"]
KEYS = np.array([[1.2, 0.2], [-0.9, 0.3], [0.1, 1.2]])
WEIGHTS = np.array([0.5, 0.2, 0.3])


def lines_of_equal_score(ax):
    return [line for line in ax.lines if len(line.get_xdata()) == 2]


@pytest.mark.parametrize("query", [[2.0, 0.0], [0.3, -1.4], [-3.0, 4.0]])
def test_lines_join_equal_scores_one_apart(ax, query):
    assert draw.draw_keys(ax, KEYS, query, TOKENS) is ax
    levels = []
    for line in lines_of_equal_score(ax):
        scores = line.get_xydata() @ np.array(query) / np.sqrt(2)
        assert scores[0] == pytest.approx(scores[1], abs=1e-9)
        levels.append(scores[0])
    np.testing.assert_allclose(np.diff(sorted(levels)), 1, atol=1e-9)
    assert min(abs(level) for level in levels) < 1e-9  # one of them is at score 0


def test_values_are_sized_by_weight_around_the_output(ax):
    output = WEIGHTS @ KEYS
    assert draw.draw_values(ax, KEYS, WEIGHTS, output, TOKENS) is ax
    sizes = np.array([dot.get_sizes()[0] for dot in ax.collections])
    np.testing.assert_allclose(np.diff(sizes) / np.diff(WEIGHTS), 500)
    np.testing.assert_allclose([dot.get_offsets()[0] for dot in ax.collections], KEYS)
    (star,) = [line for line in ax.lines if line.get_marker() == "*"]
    np.testing.assert_allclose(star.get_xydata()[0], output)


corners = arrays(
    np.float64,
    st.tuples(st.integers(3, 8), st.just(2)),
    elements=st.integers(-5, 5).map(float),
    unique=False,
)


def within(point, points):
    """Whether a point is among others: along no direction does it lie beyond all of them."""
    angles = np.linspace(0, 2 * np.pi, 720) + 1e-4
    directions = np.stack([np.cos(angles), np.sin(angles)])
    return bool((point @ directions <= (points @ directions).max(axis=0) + 1e-9).all())


def brute_force(points):
    """The points that are strictly farthest along some direction: the corners of the hull."""
    angles = np.linspace(0, 2 * np.pi, 3601) + 1e-4
    along = points @ np.stack([np.cos(angles), np.sin(angles)])
    return {tuple(points[row]) for row in along.argmax(axis=0)}


@given(corners)
def test_hull_is_what_is_farthest_in_some_direction(points):
    found = draw.hull(points)
    if np.linalg.matrix_rank(points - points[0]) < 2:
        assert {tuple(corner) for corner in found} <= {tuple(point) for point in points}
        return
    assert {tuple(corner) for corner in found} == brute_force(points)
    assert len(found) == len({tuple(corner) for corner in found})
    assert all(draw.inside(found, point) for point in points)
    for point in np.stack(np.meshgrid([-4.6, -1.3, 0.4, 2.7], [-3.1, -0.2, 1.8]), -1).reshape(
        -1, 2
    ):
        assert draw.inside(found, point) == within(point, points)
