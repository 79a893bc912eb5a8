import { describe, expect, it } from "vitest";
import { callOf, cellOf } from "../src/experiments/code";
import { withExperiments } from "../src/keeping";
import type { Experiment } from "../src/schema";

const one = { pipeline: "mlir-opt '--pass-pipeline=builtin.module(cse)'", trace: 1 } as Experiment;

describe("an experiment as code", () => {
  it("is a cell with its pipeline and its text", () => {
    expect(cellOf(one, "module {}\n")).toBe(
      `%%lower --to raw_ir --pipeline "mlir-opt '--pass-pipeline=builtin.module(cse)'"\nmodule {}\n`,
    );
    expect(cellOf({ ...one, pipeline: "" }, "module {}\n")).toBe("%%lower --to raw_ir\nmodule {}\n");
    expect(cellOf({ ...one, pipeline: 'a "b"' }, "")).toBe('%%lower --to raw_ir --pipeline "a \\"b\\""\n');
  });
  it("has the releases and the switches of what it goes on from", () => {
    const said = { ...one, pipeline: "", toolchain: "triton==3.6.0", switches: ["--no-elide", "--external"] };
    expect(cellOf(said, "")).toBe("%%lower --to raw_ir --toolchain triton==3.6.0 --no-elide --external\n");
    expect(callOf(said, "")).toContain('to="raw_ir", toolchain="triton==3.6.0", elide=False, external=True)');
  });
  it("is the cell with its magic where that was edited", () => {
    const edited = { ...one, pipeline: "", cell: "--to tosa_mlir" };
    expect(cellOf(edited, "x = 1\n")).toBe("%%lower --to tosa_mlir\nx = 1\n");
    expect(callOf(edited, "x = 1\n")).toBe('get_ipython().run_cell_magic("lower", "--to tosa_mlir", r"""x = 1\n""")\n');
  });
  it("is a call whose text is a string of Python", () => {
    expect(callOf(one, 'a "b" \\n\n')).toBe(
      `import irwidget\n\nirwidget.lower(r"""a "b" \\n\n""", to="raw_ir", pipeline="mlir-opt '--pass-pipeline=builtin.module(cse)'")\n`,
    );
    expect(callOf({ ...one, pipeline: "" }, 'a """\n')).toBe(
      'import irwidget\n\nirwidget.lower("a \\"\\"\\"\\n", to="raw_ir")\n',
    );
  });
});

describe("what a notebook keeps", () => {
  const view = { bundle: "viewer", state: { left: 1 }, data: "AAAA" };
  it("has the experiments and the dumps of all", () => {
    const kept = withExperiments({ views: [view, view] }, 1, { experiments: [one], data: new Uint8Array([1, 2, 3]) });
    expect(kept.views).toEqual([view, { ...view, state: { left: 1, experiments: [one] }, data: "AQID" }]);
  });
  it("has no dumps of what is too large, and says so by the number of their lowering", () => {
    const kept = withExperiments({ views: [view] }, 0, { experiments: [one], data: new Uint8Array(2_000_001) });
    expect(kept.views).toEqual([{ ...view, state: { left: 1, experiments: [{ ...one, trace: -1 }] } }]);
    const omitted = withExperiments({ views: [] }, 0, { experiments: [one], data: new Uint8Array(3) });
    expect(omitted).toEqual({ views: [], experiments: [{ ...one, trace: -1 }] });
  });
});
