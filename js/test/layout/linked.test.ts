import { expect, onTestFinished, test } from "vitest";
import { Analysis } from "../../src/analysis";
import type { Origin } from "../../src/anchors";
import type { Dumps, Stage } from "../../src/dumps";
import { h } from "../../src/dom";
import { LinkedColumns } from "../../src/linked/main";
import { Store } from "../../src/model";
import { PageModel } from "../../src/pagemodel";
import { NO_QUERY } from "../../src/query";
import style from "../../src/style.css?inline";
import { lowering } from "../lowering";
import { frames, place } from "./page";

const SOURCE = Array.from({ length: 40 }, (_, i) => `y = f${i + 1}(x)`);
/** Each line of the source became one line of the first dump, and ten of the second, in the opposite order. */
const ONE = SOURCE.map((_, i) => `  %${i} = a.op`);
const TEN = SOURCE.flatMap((_, i) => Array.from({ length: 10 }, (_, k) => `  b.op ${i} ${k}`));
const lineOf = { one: (i: number) => i, ten: (i: number) => 39 - Math.floor(i / 10) };

function dumps(): Dumps {
  const made = lowering(["  nobody knows"], ONE, TEN);
  const [none, one, ten] = made.traces[0]!.stages as [Stage, Stage, Stage];
  const from = (stage: Stage, line: (i: number) => number): Stage => ({
    ...stage,
    places: stage.lines.map((_, i) => line(i)),
  });
  const stages = [none, from(one, lineOf.one), { ...from(ten, lineOf.ten), language: "llvm", step: "s" }];
  return {
    ...made,
    traces: [
      { ...made.traces[0]!, stages },
      { ...made.traces[0]!, stages: [one] },
    ],
    sources: [{ file: "cell", text: SOURCE.join("\n") }],
    places: SOURCE.map((_, i) => ({ file: 0, line: i + 1, column: 0 })),
  };
}

/** Two operations of one line: the first became the even lines of a dump, the second the odd ones; another knows no columns. */
function ofOneLine(): Dumps {
  const made = lowering(
    Array.from({ length: 8 }, (_, i) => `  %${i} = a.op`),
    ["one", "two"],
  );
  const [told, untold] = made.traces[0]!.stages as [Stage, Stage];
  const places = [1, 6, 0].map((column) => ({ file: 0, line: 2, column }));
  const stages = [
    { ...told, places: told.lines.map((_, i) => i % 2) },
    { ...untold, places: Int32Array.from([-1, 2]) },
  ];
  return {
    ...made,
    traces: [{ ...made.traces[0]!, stages }],
    sources: [{ file: "c", text: "\nrelu +  tanh" }],
    places,
  };
}

async function shown(columns: readonly number[], given = dumps(), here: Origin | null = null) {
  const lines = new Analysis(given);
  const said: string[] = [];
  const store: Store = new Store(new PageModel({ columns, symbol: "", trace: 0 }), () => linked.draw());
  const view = {
    lines,
    query: NO_QUERY,
    here,
    say: (text: string) => void said.push(text),
    get trace() {
      return lines.dumps.traces[store.get("trace")]!;
    },
  };
  const linked: LinkedColumns = new LinkedColumns(store, view, document);
  const root = h("div", { class: "irw" }, h("div", { class: "irw-main" }, linked.element));
  root.style.height = "400px";
  place(1000).append(h("style", {}, style), root);
  onTestFinished(() => linked.destroy());
  linked.draw();
  await frames(6);
  const panes = (): HTMLElement[] => [...linked.element.querySelectorAll<HTMLElement>(".cm-scroller")];
  return { linked, store, said, panes };
}

const lit = (pane: HTMLElement): string[] => [...pane.querySelectorAll(".irw-linked")].map((line) => line.textContent!);
const line = (pane: HTMLElement, text: string): HTMLElement =>
  [...pane.querySelectorAll<HTMLElement>(".cm-line")].find(({ textContent }) => textContent === text)!;

/** Put the cursor on a line, as a click does. */
async function click(pane: HTMLElement, text: string, part: Node | null = line(pane, text).firstChild): Promise<void> {
  pane.querySelector<HTMLElement>(".cm-content")!.focus();
  getSelection()!.collapse(part, 1);
  await frames(6);
}

test("an operation of the source lights what came from it, and is lit by it", async () => {
  const { panes, said } = await shown([-1, 0, 1], ofOneLine());
  const [source, told, untold] = panes() as [HTMLElement, HTMLElement, HTMLElement];
  const code = line(source, "relu +  tanh");
  const parts = [...code.querySelectorAll<HTMLElement>(".irw-tie")];
  const colour = (one: Element): string => getComputedStyle(one).getPropertyValue("--irw-tie");
  const rows = [...told.querySelectorAll(".cm-line")];
  expect(parts.map(({ textContent }) => textContent)).toEqual(["relu", "+"]);
  expect(rows.map(colour)).toEqual(rows.map((_, i) => colour(parts[i % 2]!)));
  expect(colour(parts[0]!)).not.toBe(colour(parts[1]!));

  await click(source, "relu +  tanh", parts[0]!.firstChild);
  expect(lit(told)).toEqual(["  %0 = a.op", "  %2 = a.op", "  %4 = a.op", "  %6 = a.op"]);
  expect([lit(source), lit(untold)]).toEqual([["relu +  tanh"], ["two"]]);
  expect(said.at(-1)).toBe("Line 2, relu: 4 of pass-0, 1 of pass-1");

  await click(told, "  %3 = a.op");
  expect(lit(told)).toEqual(["  %1 = a.op", "  %3 = a.op", "  %5 = a.op", "  %7 = a.op"]);
  expect([...source.querySelectorAll(".irw-lit")].map(({ textContent }) => textContent)).toEqual(["+"]);

  await click(untold, "two");
  expect(lit(told).length).toBe(8);
  expect([source.querySelectorAll(".irw-lit").length, said.at(-1)]).toEqual([0, "Line 2: 8 of pass-0, 1 of pass-1"]);
});

test("scrolling to the side moves no other column", async () => {
  const { panes } = await shown([1, 2]);
  const [one, ten] = panes() as [HTMLElement, HTMLElement];
  await click(one, ONE[20]!);
  const before = ten.scrollTop;
  one.scrollLeft = 3;
  one.dispatchEvent(new Event("scroll"));
  await frames(4);
  expect([before > 0, ten.scrollTop]).toEqual([true, before]);
});

test("a line of any column lights all that came from its source line, and brings it beside it", async () => {
  const { panes, said } = await shown([-1, 1, 2]);
  await click(panes()[0]!, SOURCE[7]!);
  const [source, one, ten] = panes() as [HTMLElement, HTMLElement, HTMLElement];
  expect(lit(source)).toEqual([SOURCE[7]]);
  expect(lit(one)).toEqual([ONE[7]]);
  expect(lit(ten)).toEqual(TEN.filter((_, i) => lineOf.ten(i) === 7));
  expect(said.at(-1)).toBe("Line 8: 1 of pass-1, 10 of pass-2");
  const height = (pane: HTMLElement, text: string): number => line(pane, text).getBoundingClientRect().top;
  expect(Math.abs(height(ten, lit(ten)[0]!) - height(source, SOURCE[7]!))).toBeLessThanOrEqual(2);

  await click(ten, TEN[321]!);
  expect([lit(source), lit(one)]).toEqual([[SOURCE[7]], [ONE[7]]]);
});

test("the others follow the column that is scrolled", async () => {
  const { panes } = await shown([1, 2]);
  const [one, ten] = panes() as [HTMLElement, HTMLElement];
  ten.dispatchEvent(new WheelEvent("wheel", { bubbles: true }));
  ten.scrollTop = 18 * 100; // line 29 of the source is at the top
  await frames(4);
  expect(one.scrollTop).toBe(Math.min(18 * 29, one.scrollHeight - one.clientHeight));
});

test("a line that knows no source line lights nothing and says so", async () => {
  const { panes, said } = await shown([0, 1]);
  await click(panes()[1]!, ONE[3]!);
  await click(panes()[0]!, "  nobody knows");
  expect(panes().map(lit)).toEqual([[], []]);
  expect(said.at(-1)).toBe("This line does not know its source line");
});

test("columns are chosen, added and removed, and the last removed leads back", async () => {
  const { linked, store, panes } = await shown([-1, 1]);
  const heads = (): string[] =>
    [...linked.element.querySelectorAll(".irw-linked-head")].map((head) => {
      const choice = head.querySelector("select")!;
      return `${choice.selectedOptions[0]!.textContent}: ${head.querySelector("span")!.textContent}`;
    });
  expect(heads()).toEqual(["source: 40 of 40 lines linked", "1 pass-1: 40 of 40 lines linked"]);
  linked.element.querySelector<HTMLElement>("[aria-label='Another column']")!.click();
  await frames();
  expect(store.get("columns")).toEqual([-1, 1, 2]);
  linked.put(0);
  await frames();
  expect(heads().at(-1)).toBe("0 pass-0: 0 of 1 line linked");
  for (let i = 3; i > 0; i--) {
    linked.element.querySelector<HTMLElement>("[aria-label='Remove column 1']")!.click();
    await frames();
  }
  expect([store.get("columns"), panes().length, linked.on, linked.element.hidden]).toEqual([[], 0, false, true]);
  linked.toggle();
  await frames();
  expect(store.get("columns")).toEqual([-1, 1, 2]);
});

test("a pass goes into the column of the reader, unless that is the source, or another shows it", async () => {
  const { linked, store } = await shown([-1, 1]);
  const after = async (stage: number): Promise<readonly number[] | undefined> => {
    linked.put(stage);
    await frames();
    return store.get("columns");
  };
  expect(await after(0)).toEqual([-1, 0]);
  store.set({ columns: [-1, 0, 1] });
  await frames();
  expect(await after(0)).toEqual([-1, 0, 1]);
  expect(await after(2)).toEqual([-1, 2, 1]);
});

test("columns begin where the diff was, and those that stay keep their place", async () => {
  const given = dumps();
  const stage = given.traces[0]!.stages[1]!;
  const { linked, panes } = await shown([], given, { stage, line: 12, offset: -5 });
  const tops = (): (string | number)[] =>
    panes().flatMap((pane) => {
      const edge = pane.getBoundingClientRect().top;
      const first = [...pane.querySelectorAll(".cm-line")].find((one) => one.getBoundingClientRect().bottom > edge)!;
      return [first.textContent!, Math.round(first.getBoundingClientRect().top - edge)];
    });
  linked.toggle();
  await frames(6);
  const [one, ten] = [[ONE[12], -6] as const, [TEN[270], -6] as const]; // the text is a pixel below its line
  expect(tops()).toEqual([SOURCE[12], -6, ...one, ...ten]);
  linked.element.querySelector<HTMLElement>("[aria-label='Remove column 1']")!.click();
  await frames(6);
  expect(tops()).toEqual([...one, ...ten]);
});

test("of another lowering its own columns are shown", async () => {
  const { store, panes } = await shown([0, 2]);
  store.set({ trace: 1 });
  await frames();
  expect(store.get("columns")).toEqual([-1, 0]);
  expect(panes().length).toBe(2);
});
