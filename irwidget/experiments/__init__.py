"""Change it here and go on: lowerings from an edited dump, with other passes, and two lowerings side by side."""
