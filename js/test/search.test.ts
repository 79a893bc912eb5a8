import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Analysis } from "../src/analysis";
import { Hits } from "../src/hits";
import { betweenNumbers, fuzzy, matcher, NO_QUERY, patternOf, sameQuery, type Query } from "../src/query";
import { lowering } from "./lowering";

const query = (text: string, more: Partial<Query> = {}): Query => ({ ...NO_QUERY, text, ...more });

function hits(texts: readonly (readonly string[])[], wanted: Query): Hits {
  const dumps = lowering(...texts);
  return new Hits(dumps.traces[0]!, new Analysis(dumps).matching(wanted));
}

describe("a query", () => {
  it.each([
    ["", "abc", {}, null],
    ["b", "aBc", {}, [1, 2]],
    ["b", "aBc", { exact: true }, null],
    ["B", "abB", { exact: true }, [2, 3]],
    ["a.b", "axb a.b", {}, [4, 7]],
    ["a.b", "axb a.b", { regex: true }, [0, 3]],
    ["[", "a[", {}, [1, 2]],
    ["[", "a[", { regex: true }, null],
    ["add", "addi add", { word: true }, [5, 8]],
    ["a|addi", "xaddi addi", { word: true, regex: true }, [6, 10]],
    ["x*", "aaxx", { regex: true }, [2, 4]],
    ["x*", "aaa", { regex: true }, null],
    ["^b", "ab", { regex: true }, null],
  ])("%j in %j, %j", (text, line, more, at) => {
    const found = matcher(query(text, more))(line);
    expect(found && [found.from, found.to]).toEqual(at);
  });

  it("goes on from a column", () => {
    expect(matcher(query("b"))("abab", 2)).toEqual({ from: 3, to: 4 });
    expect(matcher(query("b"))("abab", 4)).toBeNull();
  });

  it("that is no regular expression says why", () => {
    expect(patternOf(query("a(", { regex: true }))).toContain("Unterminated group");
    expect(patternOf(query("a(", { regex: true }))).toMatch(/^\/a\(/);
    expect(patternOf(query("a("))).toBeInstanceOf(RegExp);
  });

  it("is another in each of its parts", () => {
    const one = query("a");
    const others = [query("b"), query("a", { regex: true }), query("a", { exact: true }), query("a", { word: true })];
    expect([{ ...one }, ...others].map((other) => sameQuery(one, other))).toEqual([true, false, false, false, false]);
  });

  it.each([
    ["add", {}, true],
    ["add", { exact: true }, true],
    ["a1", {}, false],
    ["add", { regex: true }, false],
    ["add", { word: true }, false],
  ])("%j, %j, is looked for between the numbers: %s", (text, more, answer) =>
    expect(betweenNumbers(query(text, more))).toBe(answer),
  );
});

describe("hits", () => {
  const text = fc.array(fc.constantFrom("a.x 1", "a.y 12", "func @f", "Z"), { minLength: 1, maxLength: 6 });

  it("are the lines of every stage that have it in them", () => {
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 4 }),
        fc.constantFrom("a.x", "z", "12", "@", "no"),
        fc.boolean(),
        fc.boolean(),
        (texts, wanted, exact, regex) => {
          const has = (line: string): boolean => (exact ? line : line.toLowerCase()).includes(wanted);
          const counts = texts.map((lines) => lines.filter(has).length);
          expect(hits(texts, query(wanted, { exact, regex })).counts).toEqual(counts);
        },
      ),
    );
  });

  it("are walked one by one through all passes, in both directions, and around the end", () => {
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(1 as const, -1 as const),
        (texts, step) => {
          const all = texts.flatMap((lines, stage) =>
            lines.flatMap((one, line) => (one.includes("a.") ? [{ stage, line }] : [])),
          );
          const found = hits(texts, query("a."));
          expect(found.total).toBe(all.length);
          all.forEach((hit, i) => expect(found.rank(hit)).toBe(i + 1));
          if (all.length === 0) return found.next({ stage: 0, line: -1 }, step) === null;
          let at = all[0]!;
          const seen = all.map(() => (at = found.next(at, step)!));
          const order = step > 0 ? [...all.slice(1), all[0]] : [...all].reverse();
          expect(seen).toEqual(order);
          return true;
        },
      ),
    );
  });

  it("are told with the place among all, and where they begin", () => {
    const found = hits([["b"], ["a.x", "b", "a.x"], ["a.x"]], query("a.x"));
    expect(found.said({ stage: 1, line: 2 })).toBe("2 of 3 lines · 2 here · first in 1 pass-1");
    expect(found.said({ stage: 1, line: 1 })).toBe("3 lines · 2 here · first in 1 pass-1");
    expect(found.said({ stage: 0, line: 0 })).toBe("3 lines · 0 here · first in 1 pass-1");
    expect(hits([["b"]], query("a")).said({ stage: 0, line: 0 })).toBe("in no pass");
  });

  it("say how many passes were searched while texts are missing", () => {
    const dumps = lowering(["b"], ["a.x"], ["b"]);
    const [trace] = dumps.traces;
    const stages = trace!.stages.map((stage, i) =>
      i === 1 ? stage : { ...stage, ready: false, lines: new Int32Array(0) },
    );
    const matching = (text: string): Uint8Array => new Analysis(dumps).matching(query(text));
    const partly = { ...trace!, stages };
    expect(new Hits(partly, matching("no")).said({ stage: 1, line: 0 })).toBe(
      "not found: 1 of 3 passes searched, the others are not here yet",
    );
    expect(new Hits(partly, matching("a.x")).said({ stage: 1, line: 0 })).toBe(
      "1 of 1 line · 1 here · first of those here in 1 pass-1 · 1 of 3 passes searched, the others are not here yet",
    );
    const late = lowering(["a.y"], ["b"], ["a.x"]);
    const second = late.traces[0]!.stages.map((stage, i) => (i === 1 ? { ...stage, ready: false } : stage));
    const found = new Hits({ ...late.traces[0]!, stages: second }, new Analysis(late).matching(query("a.x")));
    expect(found.said({ stage: 2, line: 0 })).toContain("first of those here in 2 pass-2");
    const gone = { ...trace!, stages: stages.map((stage) => ({ ...stage, lost: !stage.ready })) };
    expect(new Hits(gone, matching("no")).said({ stage: 1, line: 0 })).toBe("not found: 1 of 3 passes searched");
  });
});

it.each([
  ["canonicalize", "cnz", true],
  ["canonicalize", "canon", true],
  ["cse", "ces", false],
  ["cse", "", true],
])("%j is found by the letters %j: %s", (name, letters, found) => expect(fuzzy(name, letters)).toBe(found));
