"""Plausible wrong answers to the exercises, one module a chapter; see tests/test_exercises.py."""
