"""Plots and pages from peakmark's run files."""
