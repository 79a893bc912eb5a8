import { expect, test } from "vitest";
import { h } from "../../src/dom";
import { Analysis } from "../../src/analysis";
import { cost } from "../../src/legend";
import { PassList, type Row } from "../../src/list";
import style from "../../src/style.css?inline";
import { Timeline } from "../../src/timeline";
import { lowering } from "../lowering";
import { frames, place } from "./page";

const rows = Array.from({ length: 200 }, (_, stage): Row => ({
  stage,
  label: `pass-${stage}`,
  title: "",
  seconds: 0.001,
  state: "changed",
  delta: { gone: stage, added: 3 },
  strip: [
    ["arith", 3, 0],
    ["func", 1, 1],
  ],
  hits: 0,
  share: 0,
  check: stage === 7 ? "differs" : stage === 6 ? "equal" : "",
}));

async function listed(): Promise<{ list: PassList; choose: (stage: number) => Promise<void> }> {
  const list = new PassList({ choose: () => undefined, unfold: () => undefined });
  const side = h("div", { class: "irw-side" }, list.element);
  const root = h("div", { class: "irw" }, side);
  root.style.height = "300px";
  side.style.height = "300px";
  place(300).append(h("style", {}, style), root);
  const choose = (stage: number): Promise<void> => {
    list.draw(rows, stage - 1, stage, 200);
    return frames();
  };
  await choose(0);
  return { list, choose };
}

test.each([[150], [199], [40, 0], [199, 100, 101]])("the chosen row is in sight: %j", async (...stages) => {
  const { list, choose } = await listed();
  for (const stage of stages) await choose(stage);
  const row = list.element.querySelector("[aria-selected=true]")!.getBoundingClientRect();
  const box = list.element.getBoundingClientRect();
  expect(list.element.querySelector("[aria-selected=true]")!.textContent).toContain(`pass-${stages.at(-1)}`);
  expect(row.top).toBeGreaterThanOrEqual(box.top);
  expect(row.bottom).toBeLessThanOrEqual(box.bottom);
});

test("a step to the next pass leaves the other rows in the page", async () => {
  const { list, choose } = await listed();
  await choose(100);
  const before = new Set(list.element.children);
  const moved: Node[] = [];
  const observer = new MutationObserver((records) =>
    moved.push(...records.flatMap(({ addedNodes }) => [...addedNodes])),
  );
  observer.observe(list.element, { childList: true });
  await choose(101);
  observer.disconnect();
  expect([...list.element.children].filter((row) => !before.has(row)).length).toBe(3);
  expect(moved.length).toBe(3);
  expect([...list.element.children].map((row) => (row as HTMLElement).dataset["stage"])).toEqual(
    rows.map(({ stage }) => String(stage)),
  );
});

test("the pass after which the program is wrong is marked, and said", async () => {
  const { list } = await listed();
  const row = (stage: number): string => list.element.querySelector(`[data-stage="${stage}"]`)!.textContent;
  expect(row(7)).toContain("differs from eager PyTorch");
  expect(row(7)).toContain("✗");
  expect(row(6)).toContain("equal to eager PyTorch");
  expect(row(6)).not.toContain("✗");
  expect(row(5)).not.toContain("eager");
});

test("a screen reader hears how many lines went and came, and were found", async () => {
  const list = new PassList({ choose: () => undefined, unfold: () => undefined });
  const one = { ...rows[0]!, delta: { gone: 1, added: 2001 }, hits: 1, check: "first wrong" };
  list.draw([one, { ...rows[1]!, state: "same", delta: null, hits: 2000 }], 1, 0, 200);
  expect([...list.element.querySelectorAll(".irw-said-only")].map((said) => said.textContent)).toEqual([
    ", 1 line gone, 2,001 new, differs from eager PyTorch, the first that was found to, 1 line found, ",
    ", no change, 2,000 lines found, left side, ",
  ]);
});

test.each([
  ["torch.export", "", 0.5, "1 pass, 20 ms", "Before them torch.export: 500 ms"],
  ["input", "log", 0, "1 pass, 20 ms", null],
  ["canonicalize", "log", 0, "2 passes, 20 ms (1 timed)", null],
])("passes are those that ran: the first dump is %s of step %j", (name, step, seconds, said, before) => {
  const [trace] = lowering(["a.b"], ["a.c"]).traces;
  const stages = trace!.stages.map((stage, i) => (i ? { ...stage, seconds: 0.02 } : { ...stage, name, step, seconds }));
  const of = new Timeline(new Analysis(lowering(["a.b"])), {
    ...trace!,
    stages: [{ ...stages[0]!, label: name }, stages[1]!],
  });
  const [shown] = cost(
    of,
    false,
    () => undefined,
    () => undefined,
  );
  expect([shown!.textContent, shown!.getAttribute("title")]).toEqual([said, before]);
});
