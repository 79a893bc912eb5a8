import { expect, it } from "vitest";
import { Choice } from "../src/choice";
import { Store } from "../src/model";
import { PageModel } from "../src/pagemodel";
import { lowering } from "./lowering";

const turn = (): Promise<void> => new Promise((done) => setTimeout(done));

it("shows the stages of another lowering, also after a pair was set whose lowerings were there already", async () => {
  const texts = [["a.b"], ["a.c"], ["a.d"]];
  const traces = [...lowering(...texts).traces, ...lowering(...texts.slice(1)).traces];
  const state = { trace: 0, against: -1, left: 0, right: 1, symbol: "f" };
  const store: Store = new Store(new PageModel(state), (keys) => void (keys.has("trace") && choice.moved()));
  const choice = new Choice(store, () => ({ ...lowering(), traces }));
  const shown = (): unknown[] => ["trace", "left", "right", "symbol"].map((key) => store.get(key as "trace"));
  choice.pair(0, -1, 0, 2);
  await turn();
  expect(shown()).toEqual([0, 0, 2, ""]);
  store.set({ trace: 1 });
  await turn();
  expect(shown(), "its last stage, beside the one before").toEqual([1, 0, 1, ""]);
  choice.pair(0, -1, 0, 2);
  await turn();
  expect(shown(), "as it was set").toEqual([0, 0, 2, ""]);
});
