"""Chapter 9: Pre-norm and post-norm at depth."""
