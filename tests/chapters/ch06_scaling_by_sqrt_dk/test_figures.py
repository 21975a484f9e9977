"""Chapter 6's barcodes above their gradients."""

import matplotlib.pyplot as plt
import numpy as np

from helpers.chapters.ch06_scaling_by_sqrt_dk import figures as draw


def test_saturation_has_a_barcode_a_divisor_above_all_gradients():
    weights = {"1": np.eye(2), "√D": np.full((2, 2), 0.5)}
    norms = {"1": [1.0, 0.1], "√D": [0.3, 0.3]}
    fig = draw.saturation(weights, [4, 16], norms, at=16)
    *barcodes, below = fig.axes
    for ax, (name, drawn) in zip(barcodes, weights.items(), strict=True):
        assert ax.get_title() == f"÷ {name}"
        np.testing.assert_array_equal(ax.images[0].get_array(), drawn)
    np.testing.assert_allclose(below.lines[0].get_ydata(), norms["1"])
    plt.close(fig)
