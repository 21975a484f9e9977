"""Settings of nbgrader for student editions: what `make homework` wrote is the source already.

Copy this file into the folder of the course as nbgrader_config.py. There is nothing to clear from
the notebook, and nbgrader would take the heads of functions from its cells; so what clears
solutions is left out. `nbgrader generate_assignment 05`, `release_assignment` and `collect` then
work as usual, and `python -m homework.grade submitted --assignment 05` grades what was collected.
"""

c = get_config()  # nbgrader gives it
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearOutput",
]
