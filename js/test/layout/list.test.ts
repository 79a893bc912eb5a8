import { expect, test } from "vitest";
import { h } from "../../src/dom";
import { PassList, type Row } from "../../src/list";
import style from "../../src/style.css?inline";
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
