"""Values in, values out: what the texts and samples of a program mean.

Nothing here runs a program or imports JAX, so every function can be tested on a text in a file.
"""
