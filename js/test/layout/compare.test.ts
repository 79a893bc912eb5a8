import { describe, expect, onTestFinished, test } from "vitest";
import { Analysis } from "../../src/analysis";
import { Compare, type Pair } from "../../src/compare";
import { h } from "../../src/dom";
import style from "../../src/style.css?inline";
import { frames, place } from "./page";
import { lowering } from "../lowering";

const equal = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `  %${from + i} = arith.addi %a, %c${from + i} : i64`);
const LONG = `  "a.long"() {x = "${"word ".repeat(600)}"} : () -> ()`;
const LEFT = [
  ...equal(0, 3),
  "  gone 1",
  "  gone 2",
  "  gone 3",
  ...equal(3, 30),
  "  changed before",
  LONG,
  ...equal(30, 34),
];
const RIGHT = [
  ...equal(0, 3),
  ...equal(3, 30),
  "  changed after",
  `  new ${"wraps ".repeat(90)}`,
  "  new 2",
  LONG,
  ...equal(30, 34),
];

async function compared(options: Partial<Pair> = {}, width = 900): Promise<{ compare: Compare; el: HTMLElement }> {
  const dumps = lowering(LEFT, RIGHT);
  const [left, right] = dumps.traces[0]!.stages as [Pair["left"], Pair["right"]];
  const compare = new Compare(new Analysis(dumps), document, {
    source: () => null,
    moved: () => undefined,
    blamed: () => undefined,
    noted: () => undefined,
  });
  const el = place(width);
  const root = h("div", { class: "irw" }, compare.element);
  root.style.height = "700px";
  el.append(h("style", {}, style), root);
  onTestFinished(() => compare.destroy());
  compare.show({
    left,
    right,
    titles: ["l", "r"],
    ignoreRenumbering: false,
    layout: "split",
    wrap: false,
    fold: true,
    symbol: "",
    ...options,
  });
  await frames(6);
  return { compare, el };
}

/** Where each line of a pane that is in sight starts, by its text. */
function tops(compare: Compare, pane: 0 | 1): Map<string, number> {
  const lines = [...compare.panes[pane].view.contentDOM.querySelectorAll(".cm-line")];
  return new Map(lines.map((line) => [line.textContent!, Math.round(line.getBoundingClientRect().top)]));
}

function expectAligned(compare: Compare, atLeast: number): void {
  const [left, right] = [tops(compare, 0), tops(compare, 1)];
  const both = [...left.keys()].filter((text) => right.has(text));
  expect(both.length).toBeGreaterThanOrEqual(atLeast);
  for (const text of both) expect(right.get(text), text).toBe(left.get(text));
}

describe("equal lines are beside each other", () => {
  test.each([
    ["folded", {}, 10],
    ["unfolded", { fold: false }, 30],
    ["wrapped", { wrap: true }, 10],
    ["wrapped and unfolded", { wrap: true, fold: false }, 20],
  ])("%s", async (_, options, atLeast) => expectAligned((await compared(options)).compare, atLeast));

  test("after a fold is opened", async () => {
    const { compare, el } = await compared();
    expect(tops(compare, 1).has(equal(15, 16)[0]!)).toBe(false);
    el.querySelector<HTMLElement>(".irw-pane .irw-fold")!.click();
    await frames(4);
    expect(tops(compare, 1).has(equal(15, 16)[0]!)).toBe(true);
    expectAligned(compare, 30);
  });

  test("after the width has changed", async () => {
    const { compare, el } = await compared({ wrap: true });
    el.style.width = "620px";
    compare.resized();
    await frames(6);
    expectAligned(compare, 10);
  });
});

test("numbers stand beside their lines", async () => {
  const { compare } = await compared();
  for (const { view } of compare.panes) {
    const middle = (one: Element): number => Math.round(one.getBoundingClientRect().top);
    const numbers = [...view.dom.querySelectorAll<HTMLElement>(".irw-numbers .cm-gutterElement")].filter(
      (one) => one.style.visibility !== "hidden",
    );
    expect(numbers.map(middle)).toEqual([...view.contentDOM.querySelectorAll(".cm-line")].map(middle));
  }
});

test.each([900, 420])("a long line widens nothing at %d pixels", async (width) => {
  const { el } = await compared({}, width);
  expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(document.documentElement.clientWidth);
  const [left, right] = [...el.querySelectorAll(".irw-pane")].map((pane) => pane.getBoundingClientRect());
  expect(Math.abs(left!.width - right!.width)).toBeLessThanOrEqual(2);
  expect(right!.right).toBeLessThanOrEqual(el.getBoundingClientRect().right);
});

test("the panes scroll as one", async () => {
  const { compare } = await compared({ fold: false });
  const [left, right] = compare.panes.map(({ view }) => view.scrollDOM) as [HTMLElement, HTMLElement];
  right.scrollTop = 120;
  right.scrollLeft = 300;
  await frames(4);
  expect([left.scrollTop, left.scrollLeft]).toEqual([right.scrollTop, right.scrollLeft]);
  expect(right.scrollTop).toBeGreaterThan(0);
});
