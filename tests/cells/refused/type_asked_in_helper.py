# A helper that decides by the Python type of a traced number.
# expect: refused "sees JAX's tracer in place of `lr`.*-s lr"
# line: 2

# %% setup
import jax.numpy as jnp
x, lr = jnp.arange(3.0), 0.5
def scaled(v, rate):
    return v * (rate if isinstance(rate, float) else 9)

# %% cell
y = scaled(x, lr)
