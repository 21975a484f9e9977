"""Chapter 12: Inside the trained GPT."""
