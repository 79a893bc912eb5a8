"""Programs that were not compiled here: what a run of torch-spyre left, read back into the data that the view shows."""
