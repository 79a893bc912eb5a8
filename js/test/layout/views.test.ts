import { expect, test } from "vitest";
import type { LinkedKernel } from "../../src/schema";
import { render as helion } from "../../src/helion/main";
import { render as sweep } from "../../src/sweep/main";
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
