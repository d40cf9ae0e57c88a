/** The version of the Python package that this viewer was built with; a test compares the two. */
export const VERSION = "0.1.0";
