"""Chapter 6: Why divide by √dₖ."""
