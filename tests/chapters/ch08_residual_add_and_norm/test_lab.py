"""Chapter 8's steps by hand are those of torch's layers."""

import numpy as np
import torch

from helpers.chapters.ch08_residual_add_and_norm import lab


def test_steps_by_hand_are_torch_s_layers():
    x, y = np.array([1.0, 2.0, -1.0]), np.array([0.5, 1.5, -0.5])
    gamma, beta = np.array([1.0, 2.0, 0.5]), np.array([0.1, 0.0, -1.0])
    *_, normalised = lab.add_norm_steps(x, y, 1, "x_2", gamma, beta)
    x_3, *affine = map(torch.tensor, (x + y, gamma, beta))
    right = torch.nn.functional.layer_norm(x_3, (3,), *affine, eps=0.0)
    np.testing.assert_allclose(normalised.value, right)
    W_1, W_2 = np.array([[-1, 1], [1, -1], [0, 0]]), np.array([[0, 0, 1], [0, 0, 1]])
    *_, output = lab.network_steps(x, W_1, W_2, "y_2")
    np.testing.assert_allclose(output.value, [0, 0, 0.682689], atol=1e-6)  # Φ(1) − Φ(−1)
