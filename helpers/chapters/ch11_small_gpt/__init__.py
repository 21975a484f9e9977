"""Chapter 11: A small GPT, trained."""
