"""Checks for chapter 02, similarity geometry."""
