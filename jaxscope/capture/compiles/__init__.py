"""Compilations as they happen: the listener, signatures and history."""
