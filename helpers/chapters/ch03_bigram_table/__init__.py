"""Chapter 3: The bigram table."""
