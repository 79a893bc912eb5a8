import { expect, test } from "vitest";
import { doing } from "../src/progress/doing";

test("a pass that is told of when it has ended is not said to run", () => {
  const running = { pass: "cse", step: "mlir-opt", seconds: 3, over: false };
  expect(doing(running, 1.5)).toBe("mlir-opt · cse for 4.5 s");
  expect(doing({ ...running, step: "", over: true }, 0)).toBe("cse ended 3.0 s ago");
});
