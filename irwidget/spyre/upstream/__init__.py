"""The real front end: a checkout of torch-spyre runs in a process of its own, without its compiled extension."""
