# A helper of an earlier cell that asks for the type of a number.
# expect: refused "`type` sees JAX's tracer in place of `lr`"

# %% setup
lr = 0.5
def name(v):
    return type(v).__name__

# %% cell
found = name(lr)
