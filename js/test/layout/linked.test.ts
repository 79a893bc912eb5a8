import { expect, onTestFinished, test } from "vitest";
import { Analysis } from "../../src/analysis";
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

async function shown(columns: readonly number[]) {
  const lines = new Analysis(dumps());
  const said: string[] = [];
  const store: Store = new Store(new PageModel({ columns, symbol: "", trace: 0 }), () => linked.draw());
  const view = {
    lines,
    query: NO_QUERY,
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
async function click(pane: HTMLElement, text: string): Promise<void> {
  pane.querySelector<HTMLElement>(".cm-content")!.focus();
  getSelection()!.collapse(line(pane, text).firstChild, 1);
  await frames(6);
}

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

test("of another lowering its own columns are shown", async () => {
  const { store, panes } = await shown([0, 2]);
  store.set({ trace: 1 });
  await frames();
  expect(store.get("columns")).toEqual([-1, 0]);
  expect(panes().length).toBe(2);
});
