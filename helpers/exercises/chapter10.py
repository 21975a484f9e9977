"""Checks for chapter 10, initialisation."""
