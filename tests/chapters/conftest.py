"""What tests of figures draw on, and what is run as a reader's kernel runs it."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def pytest_collection_modifyitems(items):
    """Without checks of shapes, for which every step of a training would wait."""
    for item in items:
        if item.path.name == "test_lab.py":
            item.add_marker(pytest.mark.no_shape_check)
