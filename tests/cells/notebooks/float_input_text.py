# A float whose text the cell prints is static, so that the text is the number's.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x, lr = jnp.ones(2), 0.125

# %% cell
y = x * lr
print(f"lr = {lr:.2e}", str(lr), "%.3f" % lr, "{:.1f}".format(lr))

# %% change
lr = 0.25
