"""Questions about lowerings, answered as plain data of bounded size: for programs as for people."""
