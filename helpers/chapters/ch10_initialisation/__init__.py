"""Chapter 10: Initialisation."""
