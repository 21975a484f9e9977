"""What tests of figures draw on."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)
