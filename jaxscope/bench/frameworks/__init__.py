"""The contestants that come with jaxscope, one framework a file, imported when it takes part."""
