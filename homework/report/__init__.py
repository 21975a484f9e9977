"""What is kept of the grades and shown of them."""
