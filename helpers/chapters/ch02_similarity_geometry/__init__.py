"""Chapter 2: Similarity geometry."""
