"""The book on paper: the pages of the built site joined into one document, and printed as a PDF."""
