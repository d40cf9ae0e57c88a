# Lambdas made in a comprehension share its last value; defaults keep their own.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
late = [lambda v: v * i for i in range(3)]
early = [lambda v, i=i: v * i for i in range(3)]
y = [f(x) for f in late]
z = [f(x) for f in early]

# %% change
x = x + 1

# %% after
again = [f(x) for f in late + early]
