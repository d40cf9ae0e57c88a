# A traced float in a set: a static one is a number.
# expect: refused "`lr` is traced. A traced value cannot be a key or in a set.*-s lr"
# line: 2

# %% setup
lr = 0.5

# %% cell
seen = {lr}

# %% after
%%jaxjit -q -n 1 -s lr
seen = {lr}
