"""Run one step of Triton whose LLVM prints its passes, in a process that ends with it.

LLVM_IR_ENABLE_DUMP=1 python -m irwidget.toolchain.triton_llvm_log ARGUMENTS < in.ttgir 2> dumps
"""

from __future__ import annotations

import sys

from irwidget.toolchain import triton_passes, triton_state
from irwidget.trace import Step


def main() -> None:
    """Run the step that the arguments describe on what is read."""
    triton_passes.run_plainly(Step("triton", sys.argv[1]), triton_state.read(sys.stdin.read()))


if __name__ == "__main__":
    main()
