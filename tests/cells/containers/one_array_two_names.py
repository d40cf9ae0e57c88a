# An array under two names is one array: `is` sees it.

# %% setup
import jax.numpy as jnp
w = jnp.arange(3.0)
params = {"encoder": w, "decoder": w, "other": jnp.arange(3.0)}
alias = w

# %% cell
tied = params["encoder"] is params["decoder"]
apart = params["encoder"] is params["other"]
named = alias is w
y = w * 2 if tied else w * 3

# %% change
params["decoder"] = jnp.arange(3.0)
