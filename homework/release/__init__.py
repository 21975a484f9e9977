"""A chapter's problem set, with a teacher's own part, as students are given it."""
