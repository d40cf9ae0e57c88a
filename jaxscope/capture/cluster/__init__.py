"""The work of jaxscope inside each process of a cluster."""
