"""Chapter 0: What a Transformer does."""
