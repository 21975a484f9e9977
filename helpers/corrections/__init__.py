"""What a correction is: a claim that is wrong, with a function that computes what is right."""

from helpers.corrections.correction import Correction, Result, collected, corrects, number, shown
