# Drawing a traced array is an error that names the line; nothing is written.
# expect: refused "Tracer"
# needs: matplotlib
# line: 3

# %% setup
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
import jax.numpy as jnp
x = jnp.linspace(0, 1, 8)

# %% cell
y = x * 2
lines = plt.plot(x, y)
