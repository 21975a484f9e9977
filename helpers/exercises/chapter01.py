"""Checks for chapter 01, embeddings as features."""
