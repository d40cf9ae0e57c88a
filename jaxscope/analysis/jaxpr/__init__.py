"""The equations of a jaxpr: dataflow, autodiff phase, FLOPs, calls."""
