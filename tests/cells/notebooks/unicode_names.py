# Names in Greek, Japanese and with accents, and NFKC normalization of names.

# %% setup
import jax.numpy as jnp
θ, données = jnp.arange(3.0), {"α": jnp.ones(3)}

# %% cell
Δ = θ - données["α"]
平均 = Δ.mean()
ﬁrst = θ[0]
naïve_été = [Δ, "été", "😀"]
print("θ", θ.shape, "平均")

# %% change
θ = θ * 2

# %% after
same = first
