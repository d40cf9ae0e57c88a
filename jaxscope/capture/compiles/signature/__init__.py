"""Signatures of calls, read while JAX works, since most of it is gone afterwards."""
