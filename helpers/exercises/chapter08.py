"""Checks for chapter 08, residual, Add & Norm, feed-forward."""
