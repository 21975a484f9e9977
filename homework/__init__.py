"""The teacher's side of the book; readers never load it."""
