"""Estimates of arms from the releases of a study."""
