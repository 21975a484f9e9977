"""Chapter 5: Attention worked by hand."""
