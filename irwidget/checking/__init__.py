"""`--check`: execute what a lowering made, and judge every element by an exact evaluation of the same program."""
