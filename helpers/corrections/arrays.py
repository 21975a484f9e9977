"""What corrections of several chapters compute with: given numbers, plain measures of arrays."""

import numpy as np
from jaxtyping import Float

from helpers.corrections.correction import number
from helpers.numerics import mean, variance

Array = Float[np.ndarray, "..."]


def given(numbers: list) -> Array:
    """Make a read-only float64 array of the numbers of an example."""
    array = np.array(numbers, dtype=np.float64)
    array.setflags(write=False)
    return array


def deviation(x: Array, axis: int = -1, ddof: int = 0) -> Array:
    """Standard deviation that divides by n - ddof, its axis kept with length 1."""
    return np.sqrt(np.expand_dims(variance(x, axis, ddof), axis))


def standardised(x: Array, axis: int = -1, ddof: int = 0) -> Array:
    """(x - mean) / standard deviation, without ε."""
    return (x - np.expand_dims(mean(x, axis), axis)) / deviation(x, axis, ddof)


def rms(x: Array) -> float:
    """Root of the mean square, the typical size of what varies about 0."""
    return float(np.sqrt((x**2).mean()))


def moved(a: Array, b: Array) -> float:
    """Largest difference of an entry, with what is due to rounding counted as 0."""
    return round(float(np.abs(a - b).max()), 9)


def span(values: list[float], digits: int = 4) -> str:
    """Write the least and the greatest of several measurements, such as "0.25 to 3"."""
    least, most = (number(float(f"{value:.{digits}g}")) for value in (min(values), max(values)))
    return f"{least} to {most}"
