"""Predictions before results, and figures with sliders, live in a kernel and on the static page.

``predict`` asks the reader for a guess (a choice or a number) and ``reveal`` shows the result
beside it. ``explore`` puts sliders on a figure. In a kernel both are ipywidgets.
With ``BOOK_STATIC=1`` in the environment (set when outputs are stored for the book) both display
plain HTML, which book/_assets brings to life on the page and which reads well without it.
"""

from helpers.explore import offline as offline
from helpers.explore.page import small_svg, static
from helpers.explore.pencil import pencil
from helpers.explore.predictions import Prediction, predict
from helpers.explore.runs import live
from helpers.explore.sliders import Explorer, Slider, explore
from helpers.explore.source import source
