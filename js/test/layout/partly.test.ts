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
    ignore_renumbering: null,
    layout_mode: "split",
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

const status = (el: HTMLElement): string => el.querySelector(".irw-status")!.textContent!;
const shown = (el: HTMLElement): string[] =>
  [...el.querySelectorAll<HTMLElement>(".irw-pane")]
    .filter(({ hidden }) => !hidden)
    .map((pane) => pane.querySelector(".cm-content")!.textContent!);

test("a pass whose predecessor is on its way is shown alone, and compared when that is here", async () => {
  const { el, model } = await viewed(1, 2);
  expect(status(el)).toBe("p1 is not here yet");
  expect(shown(el)).toEqual(["acd"]);
  model.set("data", bytes("end"));
  await until(() => status(el) !== "p1 is not here yet");
  expect(status(el)).toBe("−0 +1 line, 1 change");
  expect(shown(el).length).toBe(2);
});

test("two texts that are not here are not the same", async () => {
  const { el, model } = await viewed(1, 5);
  expect(status(el)).toBe("p1 is not here yet; p5 is not here yet");
  model.set("data", bytes("end"));
  await until(() => !status(el).includes("here yet"));
  expect(status(el)).toBe("p5 is not available: it could not be printed or sent");
  const said = [...el.querySelectorAll("[role=option]")].map((row) => row.textContent!);
  expect(said.filter((text) => text.includes("no change"))).toEqual(["2 passes, no change"]);
  expect(said.find((text) => text.includes("p5"))).toContain("not available");
  expect(said.find((text) => text.includes("p6"))).toContain("not compared");
});

test("what cannot be counted, searched or copied says so", async () => {
  const { el, model } = await viewed(5, 5);
  el.querySelector<HTMLElement>(".irw-counts summary")!.click();
  await until(() => el.querySelector(".irw-operations") !== null);
  expect(el.querySelector(".irw-operations")!.textContent).toBe("p5 is not here yet");
  [...el.querySelectorAll<HTMLElement>("button")].find(({ textContent }) => textContent === "Copy")!.click();
  await until(() => status(el).includes("p5 is not here yetp5"));
  model.set("query", "nowhere");
  await until(() => el.textContent!.includes("in no pass"));
  expect(el.textContent).toContain("in no pass of those that are here");
  model.set("query", "d");
  await until(() => el.textContent!.includes("first appears"));
  expect(el.textContent).toContain("first appears in 2 p2 of those that are here");
});
