# JSON of a traced float: a static one is a number.
# expect: refused "has no data to write.*-s lr"
# line: 2

# %% setup
import json
lr = 0.5

# %% cell
text = json.dumps({"lr": lr})

# %% after
%%jaxjit -q -n 1 -s lr
text = json.dumps({"lr": lr})
