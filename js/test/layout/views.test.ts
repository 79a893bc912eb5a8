import { expect, test } from "vitest";
import { Analysis } from "../../src/analysis";
import type { Extent } from "../../src/diff";
import type { LinkedKernel } from "../../src/schema";
import { render as helion } from "../../src/helion/main";
import { Ops } from "../../src/ops/main";
import { operations } from "../../src/panels";
import { render as sweep } from "../../src/sweep/main";
import { banner } from "../../src/verdict";
import { lowering } from "../lowering";
import { frames, shown } from "./page";

const models = Array.from({ length: 60 }, (_, i) => `model-${i}`);
const targets = Array.from({ length: 12 }, (_, i) => `target_${i}`);
const cells = models.flatMap((model) =>
  targets.map((target) => ({
    model,
    target,
    status: "ok",
    mark: "ok",
    message: "",
    step: "",
    pass: "",
    op: "",
    place: "",
    seconds: 1,
    passes: 2,
    lines: 3,
    dumps: false,
  })),
);

test("the heads of a sweep stay in sight, and its table widens nothing", async () => {
  const el = await shown(
    sweep,
    { models, targets, cells, tools: [] },
    { query: "", status: "", chosen: -1, diff: null, offline: true },
    800,
  );
  const box = el.querySelector(".irw-w-scroll")!;
  box.scrollTop = 600;
  box.scrollLeft = 500;
  await frames();
  const { left, top } = box.getBoundingClientRect();
  expect(el.querySelector("thead th:nth-child(3)")!.getBoundingClientRect().top).toBeCloseTo(top, 0);
  expect(el.querySelector("tbody tr:nth-child(30) th")!.getBoundingClientRect().left).toBeCloseTo(left, 0);
  expect(el.querySelector(".irw")!.scrollWidth).toBeLessThanOrEqual(800);
});

const kernel: LinkedKernel = {
  name: "k",
  source: [["k.py", 1, "a = x + y"]],
  table: ["a = x"],
  nodes: [{ name: "root.a", target: "aten.add", text: "a = aten.add(x, y)", depth: 1, symbolic: false, row: 0 }],
  stages: [{ index: 0, name: "input", step: "", language: "mlir", lines: [0], owners: [0] }],
  programs: [],
};

test.each([
  [1100, true],
  [600, false],
])("the columns of a kernel at %d pixels: beside each other %j", async (width, beside) => {
  const el = await shown(helion, kernel, { stage: 0, pinned: [], hide_symbols: true, form: "columns" }, width);
  const [source, nodes, mlir] = [...el.querySelectorAll(".irw-k-column")].map((column) =>
    column.getBoundingClientRect(),
  );
  expect(source!.top === mlir!.top).toBe(beside);
  expect(beside ? nodes!.left >= source!.right : nodes!.top >= source!.bottom).toBe(true);
});

test("what a pass did to the operations: those whose count changed, and how many others there are", () => {
  const dumps = lowering(["a.add", "a.add", "b.mul", "c.neg"], ["a.add", "b.mul", "b.sub", "b.sub", "c.neg"]);
  const [left, right] = dumps.traces[0]!.stages;
  const told = (before: typeof left, after: typeof left, ...parts: Extent[]): string[] =>
    [
      ...operations({ analysis: new Analysis(dumps), left: before!, right: after!, parts }).querySelectorAll("tr, p"),
    ].map((one) => one.textContent);
  const head = "operationbeforeafterchange";
  const [before, after] = [4, 5].map((to) => ({ from: 0, to })) as [Extent, Extent];
  expect(told(left, right, before, after)).toEqual([
    head,
    "a.add21−1",
    "b.sub02+2",
    "2 other operations with the same count",
  ]);
  expect(told(left, left, before, before)).toEqual([head, "a.add22", "b.mul11", "c.neg11"]);
  const part = { from: 1, to: 3 };
  expect(told(left, right, part, part), "of the function that is shown").toEqual([
    head,
    "a.add10−1",
    "b.sub01+1",
    "1 other operation with the same count",
  ]);
});

test("the operations beside the panes are those of the dumps shown, also of others with the same names and lengths", () => {
  const dumps = lowering(["a.add", "b.mul"], ["a.add", "b.sub"], ["a.add", "c.neg"]);
  const stages = dumps.traces[0]!.stages.map((stage) => ({ ...stage, label: "pass" }));
  const [analysis, all] = [new Analysis(dumps), { from: 0, to: 2 }];
  const ops = new Ops({ reveal: () => undefined, open: () => undefined });
  const told = (left: number, right: number): string[] => {
    ops.draw({ analysis, left: stages[left]!, right: stages[right]!, parts: [all, all] }, true);
    return [...ops.panel.element.querySelectorAll("li")].map((one) => one.textContent);
  };
  expect([told(0, 1), told(0, 2)]).toEqual([
    ["− b.mul :2", "+ b.sub :2"],
    ["− b.mul :2", "+ c.neg :2"],
  ]);
});

test.each([
  [
    "equal",
    "equal (of 2 dumps: 2 equal)",
    "equal, error 0",
    -1,
    ["✓ equal to eager PyTorch (of 2 dumps: 2 equal)", "Numbers", "equal, error 0"],
  ],
  [
    "differs",
    "differs after cse",
    "0 is 1",
    1,
    ["✗ differs from numpy after cse", "Wrong after 1 pass-1", "Numbers", "0 is 1"],
  ],
  ["not checked", "not checked", "not checked: random", -1, ["○ not checked: random"]],
] as const)("a verdict in words: %s", (state, brief, text, stage, expected) => {
  const [trace] = lowering(["a.b"], ["a.c"]).traces;
  const shown: number[] = [];
  const box = banner(
    { ...trace!, verdict: { state, brief, reference: state === "differs" ? "numpy" : "eager PyTorch", text, stage } },
    (one) => void shown.push(one),
  )!;
  box.querySelector("button")?.click();
  expect([[...box.querySelectorAll("b, button, summary, p")].map((one) => one.textContent), shown]).toEqual([
    expected,
    stage < 0 ? [] : [stage],
  ]);
  expect(banner(trace!, () => undefined)).toBe(null);
});
