"""torch.compile, opened: every pass from Dynamo's graph to Inductor's code, and on to the GPU's assembly.

`entry` registers the IR types; `capture` runs torch.compile in a copy of the kernel with `recorder` looking on;
`lowering` makes a trace of what came back. Importing this imports neither torch nor Triton.
"""
