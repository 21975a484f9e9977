"""Near misses planted in helpers, to see that a test finds each: `make mutations`."""
