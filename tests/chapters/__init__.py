"""Tests of what one chapter owns, and the rules that all chapters keep."""
