"""Experiments: settings as data, run into a folder of results."""
