"""Near misses that people write, a module of MUTATIONS a subject: tests/test_mutations.py."""
