"""Chapter 1: Embeddings as features."""
