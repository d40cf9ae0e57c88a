# Class, sequence, mapping and value patterns with guards and alternatives.

# %% setup
import jax.numpy as jnp
from collections import namedtuple
Point = namedtuple("Point", "x y")
command = ("scale", 2, {"axis": 0})
p, x = Point(jnp.ones(2), 3), jnp.arange(4.0).reshape(2, 2)

# %% cell
match command:
    case ("scale", int(k) | float(k), {"axis": axis, **rest}) if k > 1:
        y = x.sum(axis=axis) * k
    case ["shift", *amounts]:
        y = x + len(amounts)
    case _:
        y = x
match p:
    case Point(x=px, y=3 as three):
        z = px * three

# %% change
command = ["shift", 1, 2, 3]
