"""Comparison of the processes of a cluster."""
