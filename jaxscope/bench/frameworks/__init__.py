"""The implementations that come with jaxscope, one framework per file, loaded when needed."""
