# A number whose Python type or text decides something is static.

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
lr, half, narrow, point = 0.5, 0.5, np.float32(0.25), 1 + 2j

# %% cell
y = x * (lr if isinstance(lr, float) else 9)
kinds = type(half) is float, np.isscalar(narrow), hasattr(lr, "shape"), isinstance(point, complex)
whole = round(lr * 1), round(half), int(lr), bool(half)
text = len(str(lr)), repr(half)[:2], str(lr) == "0.5", 1 if str(lr).startswith("0") else 2

# %% change
lr = 1.5
