"""Other releases of the tools: environments that pip makes or the user has, and lowerings that run in them."""
