"""What was handed in, read and never run."""
