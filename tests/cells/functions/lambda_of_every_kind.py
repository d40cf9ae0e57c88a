# Lambdas bound to names: with stars, defaults, recursion, nested and in a conditional.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
twice = lambda v: v * 2
stars = lambda *a, **k: sum(a) * k.get("s", 1)
fact = lambda v, n: v if n == 0 else fact(v, n - 1) * n
both = (lambda v: v + 1) if x.sum() > 0 else (lambda v: v - 1)
outer = lambda v: (lambda w: w * 3)(v) + 1
def root(v, *rest, scale=2.0, **options):
    return stars(v, *rest, s=scale) + options.get("b", 0)
y = [twice(x), stars(x, x, s=3), fact(x, 4), both(x), outer(x), root(x, x, x, scale=3.0, b=1)]

# %% change
x = x + 1

# %% after
z = twice(stars(x, x))
