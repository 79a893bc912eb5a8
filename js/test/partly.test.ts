import { describe, expect, it } from "vitest";
import { Analysis } from "../src/analysis";
import { Blame, noEarlier } from "../src/blame";
import { besideOf, type Dumps, missing, type Stage } from "../src/dumps";
import { absent } from "../src/panels";
import { statusOf } from "../src/status";
import { entries, Timeline } from "../src/timeline";
import { Unpacker } from "../src/unpack";
import { lowering } from "./lowering";
import packed from "./partly.json";

/** A lowering of seven passes: the second and the sixth are late, then the sixth is lost. */
async function dumps(which: "some" | "end"): Promise<Dumps> {
  const data = Uint8Array.from(atob(packed[which]), (letter) => letter.charCodeAt(0));
  let last: Dumps | null = null;
  for await (const found of new Unpacker().take(data)) last = found;
  return last!;
}

function timeline(found: Dumps): Timeline {
  const made = new Timeline(new Analysis(found), found.traces[0]!);
  while (!made.advance(1000));
  return made;
}

describe("texts that are not here", () => {
  it("are neither equal to anything nor changed", async () => {
    const changes = async (which: "some" | "end") =>
      (await dumps(which)).traces[0]!.stages.map(({ changed }) => changed);
    expect(await changes("some")).toEqual([true, null, null, false, false, null, null]);
    expect(await changes("end")).toEqual([true, true, true, false, false, null, null]);
  });

  it("have no numbers in the list, and the passes after them neither", async () => {
    const [some, end] = [await dumps("some"), await dumps("end")];
    const rows = (found: Dumps) =>
      timeline(found)
        .rows([])
        .map(({ state, delta }) => [state, delta ? [delta.gone, delta.added] : null]);
    expect(rows(some)).toEqual([
      ["changed", null],
      ["pending", null],
      ["unknown", null],
      ["same", null],
      ["same", null],
      ["pending", null],
      ["unknown", null],
    ]);
    expect(rows(end)).toEqual([
      ["changed", null],
      ["changed", [1, 1]],
      ["changed", [0, 1]],
      ["same", null],
      ["same", null],
      ["lost", null],
      ["unknown", null],
    ]);
    expect(timeline(end).rows([])[5]!.title).toContain("not available: it could not be printed or sent");
  });

  it("are not folded into the passes that change nothing", async () => {
    const listed = entries(timeline(await dumps("some")).rows([]), "", new Set(), []);
    expect(listed.map((entry) => ("stages" in entry ? entry.stages : entry.stage))).toEqual([0, 1, 2, [3, 4], 5, 6]);
  });

  it("are said to be missing, and why", async () => {
    const [some, end] = [(await dumps("some")).traces[0]!.stages, (await dumps("end")).traces[0]!.stages];
    expect(some.map(missing)).toEqual(["", "not here yet", "", "", "", "not here yet", ""]);
    expect(absent(some[5]!, some[5]!)).toBe("p5 is not here yet");
    expect(absent(some[1]!, some[5]!)).toBe("p1 is not here yet; p5 is not here yet");
    expect(absent(end[5]!, end[6]!)).toBe("p5 is not available: it could not be printed or sent");
  });

  it("leave open which pass last changed a line", async () => {
    const found = await dumps("some");
    const blame = new Blame(new Analysis(found), found.traces[0]!);
    await blame.compute(6, () => true);
    expect(Array.from(blame.at(3)!)).toEqual([-1, -1, -1]);
    expect(blame.back({ stage: 3, line: 0 })).toBeNull();
    expect(noEarlier(found.traces[0]!, 3)).toBe("Which pass last changed this line is not known: p1 is not here yet");
    const all = await dumps("end");
    const known = new Blame(new Analysis(all), all.traces[0]!);
    await known.compute(4, () => true);
    expect(Array.from(known.at(4)!)).toEqual([0, 1, 2]);
    expect(known.back({ stage: 4, line: 1 })).toEqual({ stage: 1, line: 1 });
    expect(noEarlier(all.traces[0]!, 4)).toContain("no earlier version");
  });
});

describe("what is said of a function that is shown alone", () => {
  const dumps = lowering(["func @f", "a.add", "func @g", "a.sub", "b.mul"]);
  const [stage] = dumps.traces[0]!.stages as [Stage];
  const of = (places: number[], language: string): Stage => ({ ...stage, language, places: Int32Array.from(places) });
  const made = { ...dumps, places: [1, 2].map((line) => ({ file: 0, line, column: 0 })) };
  const part = { name: "g", from: 2, to: 5 };
  const said = (mode: "alone" | "linked", left: Stage, right: Stage): string =>
    statusOf(new Analysis(made), { mode, parts: [part, part], symbol: "g", changes: [], renumbered: 0 }, left, right, {
      ...dumps.traces[0]!,
      stages: [stage],
    })[0]!;

  it("are its lines, and those of them that are linked", () => {
    expect(said("alone", stage, stage)).toBe("@g: 3 lines");
    const [left, right] = [of([0, 0, 1, 1, -1], "llvm"), of([0, 0, 0, 1, 1], "ptx")];
    expect(said("linked", left, right)).toBe(
      "@g: llvm → ptx: another language, not diffed; 2 of 3 lines linked by their source line",
    );
    expect(said("linked", of([1, 1, 0, 0, 0], "llvm"), of([0, 0, 1, 1, 1], "ptx"))).toContain(
      "no source line in common",
    );
    expect(said("linked", left, { ...right, places: null })).toContain("no line of it knows its source line");
  });
});

describe("the list of passes", () => {
  const found = lowering(["a.b"], ["a.b"], ["a.b"], ["a.c"], ["a.c"]);
  const [trace] = found.traces as [Dumps["traces"][number]];
  const listed = (hits: number[], chosen: number[]): (number | readonly number[])[] =>
    entries(timeline(found).rows(hits), "", new Set(), chosen).map((one) => ("stages" in one ? one.stages : one.stage));

  it("folds runs of passes that change nothing, unless something was found in them or they are shown", () => {
    expect(listed([], [])).toEqual([0, [1, 2], 3, 4]);
    expect(listed([0, 1], [])).toEqual([0, 1, 2, 3, 4]);
    expect(listed([], [2])).toEqual([0, 1, 2, 3, 4]);
  });

  it("counts what passes have made: not the input", () => {
    const made = (first: Partial<Stage>): number =>
      new Timeline(new Analysis(found), {
        ...trace,
        stages: trace.stages.map((one, i) => (i ? one : { ...one, ...first })),
      }).passes.length;
    expect([made({}), made({ step: "opt", name: "input" }), made({ step: "opt" })]).toEqual([4, 4, 5]);
  });

  it("shows a stage beside the one that it is of, or alone", () => {
    const befores = (...before: number[]) => ({
      ...trace,
      stages: trace.stages.map((one, i) => ({ ...one, before: before[i]! })),
    });
    const made = befores(-1, 0, -1, 0, 2);
    expect(made.stages.map((_, i) => besideOf(made, i))).toEqual([0, 0, 2, 0, 2]);
  });
});
