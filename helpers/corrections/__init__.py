"""What a correction is: a claim that is wrong, with a function that computes what is right."""

from helpers.corrections.correction import CORRECTIONS, Correction, corrects, number, shown
