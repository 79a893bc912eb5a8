"""Passes that only print: what they say is kept, and the worker's log stays short."""

import os

import pytest

import irwidget
from irwidget.toolchain import client, printed
from tests.core.test_pipelines import needs_llvm

PROGRAM = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"
STATS = (
    "print-op-stats: Operations encountered:\n-----------------------\n    arith.addi   , 1\n  builtin.module , 1\n"
    "     func.func   , 1\n     func.return , 1"
)
IR = (
    "print-ir: // -----// IR Dump //----- //\nmodule {\n  func.func @f(%arg0: i32) -> i32 {\n"
    "    %0 = arith.addi %arg0, %arg0 : i32\n    return %0 : i32\n  }\n}"
)


def said(low):
    return [(one.severity, one.message) for one in low.diagnostics]


@pytest.mark.parametrize("isolate", [True, False])
def test_what_a_pass_prints_is_a_diagnostic(isolate, capfd):
    low = irwidget.lower(PROGRAM, to="raw_ir", pipeline="mlir-opt --print-op-stats --cse --print-ir", isolate=isolate)
    assert said(low) == [("remark", STATS), ("remark", IR)]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
def test_a_program_says_the_same(_):
    low = irwidget.lower(PROGRAM, to="raw_ir", pipeline="mlir-opt --print-op-stats", external=True)
    assert "Operations encountered" in low.diagnostics[0].message


@pytest.mark.parametrize(
    ("pipeline", "kind"),
    [
        ("mlir-opt --print-op-stats | user-tool false", irwidget.ToolError),
        ("mlir-opt --print-op-stats --pass-pipeline='builtin.module(any(transform-interpreter))'", irwidget.PassError),
        ("mlir-opt --print-op-stats | user-tool sh -c 'kill -9 $PPID'", irwidget.ToolError),
    ],
)
def test_it_is_kept_when_a_later_step_fails_or_kills_the_worker(pipeline, kind):
    with pytest.raises(kind) as caught:
        irwidget.lower(PROGRAM, to="raw_ir", pipeline=pipeline)
    assert ("remark", STATS) in said(caught.value.lowering)


def test_the_log_of_the_worker_does_not_grow():
    sizes = []
    for _ in range(3):
        irwidget.lower(PROGRAM, to="raw_ir", pipeline="mlir-opt --print-op-stats --print-ir")
        sizes.append(os.fstat(client.worker()._log.fileno()).st_size)
    assert sizes == [0, 0, 0]


def test_a_megabyte_is_cut():
    long = "x" * (printed.MOST + 7)
    assert printed.shortened(long) == "x" * printed.MOST + "\n... 7 characters more"
    ops = "".join(f"  %c{i} = arith.constant {i} : i32\n" for i in range(20_000))
    low = irwidget.lower(f"func.func @f() {{\n{ops}  return\n}}\n", to="raw_ir", pipeline="mlir-opt --print-ir")
    assert low.diagnostics[0].message.endswith(" bytes more")
    assert len(low.diagnostics[0].message) < printed.MOST + 100
