"""Checks for chapter 04, LayerNorm and BatchNorm, axis by axis."""
