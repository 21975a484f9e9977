"""Chapter 8: Residual, Add & Norm, feed-forward."""
