import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Analysis } from "../src/analysis";
import { Blame, Blames, noEarlier, type Version } from "../src/blame";
import type { Dumps, Stage, Trace } from "../src/dumps";
import { lowering } from "./lowering";

async function blamed(dumps: Dumps): Promise<{ blame: Blame; trace: Trace; analysis: Analysis }> {
  const analysis = new Analysis(dumps);
  const trace = dumps.traces[0]!;
  const blame = new Blame(analysis, trace);
  await blame.compute(trace.stages.length - 1, () => true);
  return { blame, trace, analysis };
}

/** A lowering as a list of edits: every line says which it is, so its history is known without any diff. */
interface Edit {
  readonly at: number;
  readonly gone: number;
  readonly added: number;
}
const edits = fc.array(fc.array(fc.record({ at: fc.nat(40), gone: fc.nat(3), added: fc.nat(3) }), { maxLength: 4 }), {
  minLength: 1,
  maxLength: 6,
});

function history(passes: readonly (readonly Edit[])[]) {
  let next = 0;
  const line = (stage: number) => ({ id: next++, stage });
  let now = Array.from({ length: 20 }, () => line(0));
  const stages = [now];
  for (const [i, pass] of passes.entries()) {
    now = [...now];
    for (const { at, gone, added } of pass) {
      now.splice(Math.min(at, now.length), gone, ...Array.from({ length: added }, () => line(i + 1)));
    }
    stages.push(now);
  }
  // Names are renumbered by every pass; that is no change.
  const texts = stages.map((lines, s) => lines.map(({ id }, i) => `  %v${s}_${i} = x.op${"i".repeat(id)} done`));
  return { stages, texts };
}

describe("which pass last changed a line", () => {
  it("is the one that made another language of it, though the line looks the same", async () => {
    const made = lowering(["func @f {", "  x.a", "}"], ["func @f {", "  x.b", "}"], ["define f {", "  b", "}"]);
    const trace = made.traces[0]!;
    const stages = trace.stages.map((stage, i): Stage => (i === 2 ? { ...stage, language: "llvm" } : stage));
    const { blame } = await blamed({ ...made, traces: [{ ...trace, stages }] });
    expect([0, 1, 2].map((stage) => [...blame.at(stage)!])).toEqual([
      [0, 0, 0],
      [0, 1, 0],
      [2, 2, 2],
    ]);
    expect(blame.back({ stage: 2, line: 2 })).toBeNull();
    expect(blame.back({ stage: 1, line: 1 })).toEqual({ stage: 0, line: 1 });
  });

  it("is the one that brought it, whatever came before and after", async () => {
    await fc.assert(
      fc.asyncProperty(edits, async (passes) => {
        const { stages, texts } = history(passes);
        const { blame, trace, analysis } = await blamed(lowering(...texts));
        for (const [s, lines] of stages.entries()) {
          expect([...blame.at(s)!]).toEqual(lines.map(({ stage }) => stage));
          if (s === 0) continue;
          const origins = lines.map(({ id }) => stages[s - 1]!.findIndex((line) => line.id === id));
          expect([...analysis.origins(trace.stages[s - 1]!, trace.stages[s]!)]).toEqual(origins);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("is followed to that pass and that line, and to the line that was replaced there", async () => {
    const { blame } = await blamed(
      lowering(
        ["a.one", "  %0 = b.two %x : f32", "c.three"],
        ["a.one", "  %5 = b.two %x : f32", "c.three"],
        ["d.new", "a.one", "  %5 = b.two %x : f64", "c.three"],
        ["d.new", "a.one", "e.new", "  %7 = b.two %y : f64", "c.three"],
      ),
    );
    expect([0, 1, 2, 3].map((s) => [...blame.at(s)!])).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [2, 0, 2, 0],
      [2, 0, 3, 2, 0],
    ]);
    const steps = (stage: number, line: number): Version[] => {
      const found: Version[] = [];
      for (let at = blame.back({ stage, line }); at; at = blame.back(at)) found.push(at);
      return found;
    };
    expect(steps(3, 3)).toEqual([
      { stage: 2, line: 2 },
      { stage: 0, line: 1 },
    ]);
    expect(steps(3, 4), "a line of the input").toEqual([{ stage: 0, line: 2 }]);
    expect(steps(3, 2), "a line that came from nowhere").toEqual([]);
    expect(steps(2, 0)).toEqual([]);
  });

  it("goes to the line of the hunk that is most alike, and of two such to the nearer one", async () => {
    const { blame } = await blamed(
      lowering(
        ["x.head", "y.add one two three four", "y.mul six seven eight nine", "y.mul six seven eight nine", "x.tail"],
        ["x.head", "z.first", "y.add one two three FOUR", "y.mul six seven eight NINE", "x.tail"],
      ),
    );
    expect(blame.back({ stage: 1, line: 2 })).toEqual({ stage: 0, line: 1 });
    expect(blame.back({ stage: 1, line: 3 })).toEqual({ stage: 0, line: 3 });
  });

  it("sees 50 lines around the place of the line in its hunk", async () => {
    const old = Array.from({ length: 200 }, (_, i) => `p.old${"a".repeat(i)}`);
    const made = Array.from({ length: 200 }, (_, i) => `q.new${"b".repeat(i)}`);
    old[60] = "r.same one two three";
    made[100] = "r.same one two FOUR";
    old[10] = "s.same one two three";
    made[150] = "s.same one two FOUR";
    const { blame } = await blamed(lowering(old, made));
    expect(blame.back({ stage: 1, line: 100 })).toEqual({ stage: 0, line: 60 });
    expect(blame.back({ stage: 1, line: 150 })?.line).not.toBe(10);
  });

  it("starts anew in a stage that follows none", async () => {
    const dumps = lowering(["a.x"], ["a.x"], ["a.x"]);
    const stages = dumps.traces[0]!.stages as Stage[];
    stages[1] = { ...stages[1]!, before: -1 };
    stages[2] = { ...stages[2]!, before: 0 };
    const { blame } = await blamed(dumps);
    expect([0, 1, 2].map((s) => [...blame.at(s)!])).toEqual([[0], [1], [0]]);
  });

  it("is computed no further than asked for, and not when nobody wants it", async () => {
    const dumps = lowering(["a.x"], ["a.y"], ["a.z"]);
    const blame = new Blame(new Analysis(dumps), dumps.traces[0]!);
    expect(blame.at(0)).toBeUndefined();
    await blame.compute(1, () => true);
    expect([blame.at(1), blame.at(2)]).toEqual([Int32Array.of(1), undefined]);
  });
});

describe("a long computation", () => {
  const texts = Array.from({ length: 6 }, (_, i) => [`a.x${"i".repeat(i)}`, "b.y"]);
  /** Each look at the clock is 20 ms after the last. */
  const slow = (): void => {
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (now += 20));
    onTestFinished(() => void vi.restoreAllMocks());
  };

  it("gives the page a turn after 30 ms, and stops there when nobody wants it any more", async () => {
    const dumps = lowering(...texts);
    const blame = new Blame(new Analysis(dumps), dumps.traces[0]!);
    slow();
    let turns = 0;
    await blame.compute(5, () => ++turns < 2);
    expect(turns).toBe(2);
    expect([0, 1, 2, 3].map((stage) => blame.at(stage) !== undefined)).toEqual([true, true, true, false]);
    await blame.compute(5, () => true);
    expect([...blame.at(5)!]).toEqual([5, 0]);
  });

  it("goes on from where another has come meanwhile", async () => {
    const dumps = lowering(...texts);
    const analysis = new Analysis(dumps);
    const diff = vi.spyOn(analysis, "origins");
    const blame = new Blame(analysis, dumps.traces[0]!);
    slow();
    await Promise.all([blame.compute(5, () => true), blame.compute(4, () => true), blame.compute(2, () => true)]);
    expect([0, 1, 2, 3, 4, 5].map((stage) => [...blame.at(stage)!])).toEqual([0, 1, 2, 3, 4, 5].map((s) => [s, 0]));
    expect(diff.mock.calls.length, "each stage once").toBe(5);
  });
});

describe("why a line leads nowhere", () => {
  it("names the text that is not here", () => {
    const dumps = lowering(["a.x"], ["a.x"], ["a.x"]);
    const trace = dumps.traces[0]!;
    expect(noEarlier(trace, 2)).toBe("This line has no earlier version: it is in the input or new in this pass");
    (trace.stages as Stage[])[0] = { ...trace.stages[0]!, ready: false, lost: true };
    expect(noEarlier(trace, 2)).toBe(
      "Which pass last changed this line is not known: pass-0 is not available: it could not be printed or sent",
    );
  });
});

describe("Blames", () => {
  it("knows the last change of both sides, once it has been computed", async () => {
    const dumps = lowering(["a.x", "b.x"], ["a.x", "b.y"]);
    const trace = dumps.traces[0]!;
    const blames = new Blames(new Analysis(dumps));
    const sides = { left: { trace, stage: 0 }, right: { trace, stage: 1 } };
    expect(blames.known(sides)).toBe(false);
    expect(blames.last(sides.right, 1)).toBeNull();
    expect(await blames.compute(sides, () => false)).toBe(false);
    expect(await blames.compute(sides, () => true)).toBe(true);
    expect(blames.known(sides)).toBe(true);
    expect(blames.last(sides.right, 0)).toEqual({ stage: 0, name: "pass-0" });
    expect(blames.last(sides.right, 1)).toEqual({ stage: 1, name: "pass-1" });
    expect(blames.last(sides.right, 7)).toBeNull();
    expect(blames.of(trace)).toBe(blames.of(trace));
  });

  it("says nothing where a text that is not here would say it", async () => {
    const dumps = lowering(["a.x"], ["a.x"]);
    const trace = dumps.traces[0]!;
    (trace.stages as Stage[])[0] = { ...trace.stages[0]!, ready: false };
    const blames = new Blames(new Analysis(dumps));
    await blames.compute({ left: { trace, stage: 0 }, right: { trace, stage: 1 } }, () => true);
    expect([...blames.of(trace).at(1)!]).toEqual([-1]);
    expect(blames.last({ trace, stage: 1 }, 0)).toBeNull();
  });
});
