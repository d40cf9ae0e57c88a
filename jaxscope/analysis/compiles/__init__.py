"""Why compilations happened, and how they group."""
