# Functions with `global`, defaults, keyword-only arguments and docstrings beside plain code.

# %% setup
import jax.numpy as jnp
x, factor = jnp.arange(3.0), 2.0

# %% cell
def scale(v, *, by=3.0, **options):
    "Scale by a keyword and a global."
    return v * by * factor


def total(tree: dict, /, start=0.0):
    return sum(tree.values(), start)


factor = 4.0
y = scale(x, by=2.0)
z = total({"a": x, "b": y})
print(scale.__doc__, y.shape)
z

# %% change
x = jnp.arange(4.0)
