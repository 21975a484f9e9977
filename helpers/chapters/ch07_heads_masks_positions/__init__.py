"""Chapter 7: Heads, masks and positions."""
