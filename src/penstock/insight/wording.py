"""How times, rates and errors read in a sentence."""

from penstock.observe.wording import ago, counted, failure, rate, size, span, stage_label

__all__ = ["ago", "counted", "failure", "rate", "size", "span", "stage_label"]
