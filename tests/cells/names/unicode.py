# Names outside ASCII work, and are normalized as Python normalizes them.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
μ = jnp.asarray(0.5)

# %% cell
Δx = x - μ
数 = Δx.sum()
ﬁt = Δx * 2

# %% change
μ = jnp.asarray(1.5)

# %% after
z = fit + 数
