"""Submissions run in a sandbox, and judged from outside."""
