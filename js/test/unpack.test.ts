import { describe, expect, it } from "vitest";
import { labelled, unpack } from "../src/unpack";

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  return new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
}

function u32(value: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Uint32Array.of(value).buffer);
}

function text(value: string): Uint8Array<ArrayBuffer>[] {
  const bytes = new TextEncoder().encode(value);
  return [u32(bytes.length), bytes];
}

const stage = { name: "cse", step: "s", language: "mlir", options: "", seconds: 0, scope: "module", ready: true };

async function packed(version = 1): Promise<ArrayBuffer> {
  const meta = {
    traces: [{ name: "m", target: "t", failure: null, facts: [], diagnostics: [], stages: [
      { ...stage, lines: 3, places: true }, { ...stage, lines: -1, places: false }, { ...stage, lines: 2, places: false },
    ] }],
    sources: [{ file: "cell", text: "x" }], places: [[0, 1, 0]],
  };
  const parts = [u32(version), ...text(JSON.stringify(meta)), ...text("a\nb é\n"), ...[[0, 1, 1], [0, -1, 1], [2, -1]].map((list) => new Uint8Array(Int32Array.from(list).buffer))];
  return gzip(new Uint8Array(await new Blob(parts).arrayBuffer()));
}

describe("unpack", () => {
  it("reads lines, stages that are as the one before, and places", async () => {
    const { table, traces, places } = await unpack(await packed());
    const [first, second, third] = traces[0]!.stages;
    expect(table).toEqual(["a", "b é", ""]);
    expect([...first!.lines]).toEqual([0, 1, 2]);
    expect([...first!.places!]).toEqual([0, -1, 0]);
    expect(second!.lines).toBe(first!.lines);
    expect(second!.changed).toBe(false);
    expect([...third!.lines]).toEqual([2, 1]);
    expect(places).toEqual([{ file: 0, line: 1, column: 0 }]);
  });

  it("says what to do about another format", async () => {
    await expect(unpack(await packed(2))).rejects.toThrow("run the cell again");
  });
});

it("numbers repeated names", () => expect(labelled(["a", "b", "a"])).toEqual(["a", "b", "a (2)"]));
