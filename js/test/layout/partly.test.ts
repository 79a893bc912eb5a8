import { expect, onTestFinished, test } from "vitest";
import { PageModel } from "../../src/pagemodel";
import { render } from "../../src/viewer";
import packed from "../partly.json";
import { place } from "./page";

function bytes(which: "some" | "end"): DataView {
  return new DataView(Uint8Array.from(atob(packed[which]), (letter) => letter.charCodeAt(0)).buffer);
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setTimeout(done, 10));
}

async function viewed(left: number, right: number): Promise<{ el: HTMLElement; model: PageModel }> {
  const model = new PageModel({
    trace: 0,
    against: -1,
    left,
    right,
    query: "",
    search_regex: false,
    search_case: false,
    search_word: false,
    ignore_renumbering: true,
    layout_mode: "split",
    by_time: false,
    rail: null,
    wrap: false,
    fold: true,
    blame: false,
    symbol: "",
    passes: "",
    graph: null,
    data: bytes("some"),
  });
  const el = place();
  onTestFinished(await render({ model, el }));
  await until(() => el.querySelector("[data-ready]") !== null);
  return { el, model };
}

const said = (el: HTMLElement): string[] => [...el.querySelectorAll(".irw-status span")].map((one) => one.textContent!);
const status = (el: HTMLElement): string => said(el)[0]!;
const shown = (el: HTMLElement): string[] =>
  [...el.querySelectorAll<HTMLElement>(".irw-pane")]
    .filter(({ hidden }) => !hidden)
    .map((pane) => pane.querySelector(".cm-content")!.textContent!);

test("a pass whose predecessor is on its way is shown alone, and compared when that is here", async () => {
  const { el, model } = await viewed(1, 2);
  expect(said(el)).toEqual(["p1 is not here yet", "5 of 7 texts here, the others on their way"]);
  expect(shown(el)).toEqual(["acd"]);
  model.set("data", bytes("end"));
  await until(() => status(el) !== "p1 is not here yet");
  await until(() => said(el).length === 1);
  expect(said(el)).toEqual(["−0 +1 line, 1 change"]);
  expect(shown(el).length).toBe(2);
});

test("a text that is not here has no lines and no numbers", async () => {
  const { el, model } = await viewed(5, 5);
  expect(shown(el)).toEqual([]);
  expect(el.textContent).not.toContain("NaN");
  const place = (): HTMLElement => el.querySelector<HTMLElement>(".irw-absent")!;
  expect([place().hidden, place().textContent]).toEqual([false, "p5: not here yet"]);
  model.set("data", bytes("end"));
  await until(() => place().textContent !== "p5: not here yet");
  expect(place().textContent).toBe("p5: not available: it could not be printed or sent");
  model.set("right", 2);
  await until(() => place().hidden === true);
  expect(shown(el).length).toBeGreaterThan(0);
});

test("two texts that are not here are not the same", async () => {
  const { el, model } = await viewed(1, 5);
  expect(status(el)).toBe("p1 is not here yet; p5 is not here yet");
  model.set("data", bytes("end"));
  await until(() => !status(el).includes("here yet"));
  expect(status(el)).toBe("p5 is not available: it could not be printed or sent");
  const rows = [...el.querySelectorAll("[role=option]")].map((row) => row.textContent!);
  expect(rows.filter((text) => text.includes("no change"))).toEqual(["2 passes, no change"]);
  expect(rows.find((text) => text.includes("p5"))).toContain("not available");
  expect(rows.find((text) => text.includes("p6"))).toContain("not compared");
});

test("what cannot be counted, searched or copied says so", async () => {
  const { el, model } = await viewed(5, 5);
  el.querySelector<HTMLElement>(".irw-counts summary")!.click();
  await until(() => el.querySelector(".irw-operations") !== null);
  expect(el.querySelector(".irw-operations")!.textContent).toBe("p5 is not here yet");
  [...el.querySelectorAll<HTMLElement>("button")].find(({ textContent }) => textContent === "Copy")!.click();
  await until(() => said(el).length === 3);
  expect(said(el)[2]).toBe("p5 is not here yet");
  model.set("query", "nowhere");
  await until(() => el.textContent!.includes("not found"));
  expect(el.textContent).toContain("not found: 5 of 7 passes searched, the others are not here yet");
  model.set("query", "d");
  await until(() => el.textContent!.includes("first of those"));
  expect(el.textContent).toContain("first of those here in 2 p2 · 5 of 7 passes searched");
});
