"""Policies that name all arms of a kind: the m best, or those above a threshold."""
