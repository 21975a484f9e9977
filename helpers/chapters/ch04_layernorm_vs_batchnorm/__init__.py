"""Chapter 4: LayerNorm and BatchNorm, axis by axis."""
