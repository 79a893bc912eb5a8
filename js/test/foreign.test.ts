import { describe, expect, it } from "vitest";
import { effort } from "./effort";
import { colours } from "../src/colours";

const kinds = (line: string, language: string) =>
  Object.fromEntries(
    [...line.matchAll(colours(language))].map((match) => [
      match[0].trim(),
      Object.entries(match.groups!).find(([, text]) => text !== undefined)![0],
    ]),
  );

describe("colours of other compilers", () => {
  it("reads HLO", () => {
    const found = kinds('  ROOT %dot.1 = f32[8,4]{1,0} dot(%a, %b), metadata={op_name="jit(f)/dot"}', "hlo");
    const said = { ROOT: "keyword", "%dot.1": "value", f32: "type", dot: "op", '"jit(f)/dot"': "string" };
    expect(found).toMatchObject({ ...said, metadata: "keyword" });
  });
  it("reads machine IR", () => {
    expect(kinds("  %4:gr32 = nsw ADD32rr %1:gr32(tied-def 0), killed %3:gr32", "mir")).toMatchObject({
      "%4": "value",
      gr32: "type",
      nsw: "keyword",
      ADD32rr: "op",
      killed: "keyword",
    });
    expect(kinds("bb.0.entry:", "mir")).toEqual({ "bb.0.entry": "symbol" });
    expect(kinds("# Machine code for function f: IsSSA", "mir")).toEqual({
      "# Machine code for function f: IsSSA": "comment",
    });
  });
  it("reads GIMPLE and RTL", () => {
    const found = kinds('  _3 = g (x_2(D)); // "x"', "gimple");
    expect(found).toEqual({ _3: "value", g: "op", "x_2(D)": "value", '// "x"': "comment" });
    expect(kinds("  <bb 2> :", "gimple")).toEqual({ "<bb 2>": "symbol" });
    expect(kinds("(insn 7 4 8 2 (set (reg:SI 82 [ _1 ])", "rtl")).toMatchObject({
      insn: "keyword",
      set: "op",
      reg: "op",
      ":SI": "type",
      "[ _1 ]": "alias",
    });
  });
  it("takes any line without effort", () => {
    for (const language of ["hlo", "mir", "gimple", "rtl"])
      for (const piece of ["(", "<bb ", "= ", "a ", "_1", '"\\', "[", "/*", "nsw ", "%", " "]) {
        const found = piece.repeat(5000).matchAll(colours(language));
        expect(effort(() => [...found])).toBeLessThan(1000);
      }
  });
});
