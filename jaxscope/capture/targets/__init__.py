"""Compilers of devices that this machine need not have, each in an environment of its own."""
