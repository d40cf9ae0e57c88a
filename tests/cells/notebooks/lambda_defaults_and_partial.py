# Partials and lambdas over known values are results; those of earlier cells can be called.

# %% setup
import functools, operator
import jax.numpy as jnp
x = jnp.arange(3.0)
add = functools.partial(jnp.add, 2.0)
compose = lambda *fs: functools.reduce(lambda f, g: lambda v: g(f(v)), fs)

# %% cell
square_then_add = compose(jnp.square, add)
y = square_then_add(x)
by_key = sorted([("b", 1), ("a", 2)], key=operator.itemgetter(0))
power = functools.partial(pow, exp=2)
z = list(map(lambda p: p[1] * x, by_key))
picked = list(filter(None, [0, 1, "", "a"]))

# %% change
x = x + 1

# %% after
nine = power(3)
again = square_then_add(x)
