import { expect, onTestFinished, test } from "vitest";
import { Analysis } from "../../src/analysis";
import { Compare, type Pair } from "../../src/compare";
import { h } from "../../src/dom";
import style from "../../src/style.css?inline";
import { lowering } from "../lowering";
import { frames, place } from "./page";

/** Functions of lines, some of them long enough to wrap. */
const text = (change: (line: string, i: number) => readonly string[]): string[] =>
  Array.from({ length: 20 }, (_, f) => [
    `func @f${f}()`,
    ...Array.from({ length: 30 }, (_, i) => `  %x = a.op ${f * 100 + i}${i % 3 ? "" : " word".repeat(60)}`).flatMap(
      change,
    ),
  ]).flat();
const same = text((line) => [line]);
const less = text((line, i) => (i % 10 === 4 ? [] : [line]));
const more = text((line, i) => (i % 10 === 7 ? [line, `  %y = a.new ${line.slice(11, 15)}`] : [line]));

async function shown(): Promise<{
  compare: Compare;
  show: (change: Partial<Pair>) => Promise<void>;
  pair: () => Pair;
}> {
  const dumps = lowering(same, less, more);
  const [a, b] = dumps.traces[0]!.stages as [Pair["left"], Pair["left"], Pair["left"]];
  const hooks = { source: () => null, moved: () => undefined, blamed: () => undefined, noted: () => undefined };
  const compare = new Compare(new Analysis(dumps), document, hooks);
  const root = h("div", { class: "irw" }, compare.element);
  root.style.height = "500px";
  place(900).append(h("style", {}, style), root);
  onTestFinished(() => compare.destroy());
  let pair: Pair = {
    left: a,
    right: b,
    titles: ["l", "r"],
    ignoreRenumbering: true,
    layout: "split",
    wrap: false,
    fold: false,
    symbol: "",
  };
  const show = async (change: Partial<Pair>): Promise<void> => {
    pair = { ...pair, ...change };
    compare.show(pair);
    await frames(12);
  };
  await show({});
  return { compare, show, pair: () => pair };
}

/** The first line in sight of the right pane, and where it is. */
function top({ panes }: Compare): readonly [string, number] {
  const { view } = panes[1];
  const box = view.scrollDOM.getBoundingClientRect();
  const lines = [...view.contentDOM.querySelectorAll(".cm-line")];
  const line = lines.find((one) => one.getBoundingClientRect().top >= box.top - 1)!;
  return [line.textContent!, Math.round(line.getBoundingClientRect().top - box.top)];
}

async function scrolled(compare: Compare): Promise<readonly [string, number]> {
  compare.panes[1].view.scrollDOM.scrollTop = 4005;
  await frames(4);
  return top(compare);
}

const BLAME = { blame: () => ({ stage: 1, name: "p" }) };

test.each([
  ["blame", BLAME, { blame: undefined }],
  ["wrap", { wrap: true }, { wrap: false }],
  ["one column", { layout: "unified" }, { layout: "split" }],
  ["folding", { fold: true }, { fold: false }],
  ["renumbering", { ignoreRenumbering: false }, { ignoreRenumbering: true }],
] as const)("the line at the top stays there over %s", async (_, on, off) => {
  const { compare, show } = await shown();
  const before = await scrolled(compare);
  const height = compare.panes[1].view.scrollDOM.scrollTop;
  for (let i = 0; i < 3; i++) {
    await show(on);
    expect(top(compare)[0]).toBe(before[0]);
    expect(Math.abs(top(compare)[1] - before[1])).toBeLessThanOrEqual(2);
    await show(off);
    expect(top(compare)[0]).toBe(before[0]);
  }
  expect(Math.abs(compare.panes[1].view.scrollDOM.scrollTop - height)).toBeLessThanOrEqual(2);
});

test("toggles that follow each other at once do not add up", async () => {
  const { compare, show, pair } = await shown();
  const before = await scrolled(compare);
  for (let i = 0; i < 6; i++) compare.show({ ...pair(), ...(i % 2 ? {} : BLAME), wrap: i % 3 === 0 });
  await show({});
  expect(top(compare)).toEqual(before);
});

test("other passes are shown at the same place, and the way back leads to where it began", async () => {
  const { compare, show, pair } = await shown();
  const before = await scrolled(compare);
  const [a, b, c] = [pair().left, pair().right, new Analysis(lowering(same, less, more)).dumps.traces[0]!.stages[2]!];
  await show({ left: b, right: c });
  expect(top(compare)[0]).toBe(before[0]);
  await show({ left: a, right: b });
  expect(top(compare)).toEqual(before);
});

test("the place is not lost over a text that is too short for it", async () => {
  const { compare, show, pair } = await shown();
  const before = await scrolled(compare);
  const { left, right } = pair();
  const short = lowering(same, less, more, same.slice(0, 3)).traces[0]!.stages[3]!;
  await show({ left: short, right: short });
  expect(compare.panes[1].view.scrollDOM.scrollTop).toBe(0);
  await show({ left, right });
  expect(top(compare)).toEqual(before);
});

test("where the reader has scrolled meanwhile is his place", async () => {
  const { compare, show } = await shown();
  await scrolled(compare);
  await show(BLAME);
  compare.panes[1].view.scrollDOM.scrollTop = 900;
  await frames(4);
  const there = top(compare);
  await show({ blame: undefined });
  expect(top(compare)[0]).toBe(there[0]);
});

test("at the beginning everything begins at the beginning", async () => {
  const { compare, show, pair } = await shown();
  compare.panes[1].view.scrollDOM.scrollTop = 0;
  await frames(4);
  await show({ fold: true, left: pair().right, right: pair().left });
  expect(compare.panes[1].view.scrollDOM.scrollTop).toBe(0);
});

test("the cursor stays on its line", async () => {
  const { compare, show } = await shown();
  compare.reveal({ side: "right", line: 200 }, "focus");
  await frames(4);
  const text = compare.panes[1].lineText;
  await show({ wrap: true, ...BLAME });
  expect(compare.panes[1].lineText).toBe(text);
  expect(compare.panes[1].view.hasFocus).toBe(true);
});
