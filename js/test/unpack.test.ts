import { describe, expect, it } from "vitest";
import { Analysis } from "../src/analysis";
import { Unpacker } from "../src/unpack";
import { type Dumps, titled } from "../src/dumps";
import packed from "./packed.json";

/** What Python packed: see tests/views/test_packing.py. */
const data = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));

async function all(unpacker: Unpacker, bytes: Uint8Array<ArrayBuffer>): Promise<Dumps[]> {
  const found: Dumps[] = [];
  for await (const dumps of unpacker.take(bytes)) found.push(dumps);
  return found;
}

function texts({ traces, table }: Dumps): (string[] | null)[][] {
  return traces.map(({ stages }) =>
    stages.map(({ ready, lines }) => (ready ? Array.from(lines, (id) => table[id]!) : null)),
  );
}

/** The bytes up to the end of the first chunk. */
function head(): Uint8Array<ArrayBuffer> {
  return data.slice(0, 16 + new DataView(data.buffer).getUint32(12, true));
}

it("gives each lowering of a view a title of its own", () => {
  const traces = ["k", "", "k", "k", ""].map((name, i) => ({ name, target: i === 3 ? "ptx" : "mlir" }));
  const titles = ["k → mlir", "input → mlir", "k → mlir (2)", "k → ptx", "input → mlir (2)"];
  expect(titled(traces)).toEqual(titles);
});

describe("Unpacker", () => {
  it("reads every line that Python packed", async () => {
    const found = await all(new Unpacker(), data);
    expect(texts(found.at(-1)!)).toEqual(packed.lines);
  });

  it("gives the dumps of the first chunk before it reads the others", async () => {
    const [first] = await all(new Unpacker(), head());
    const there = (t: number, s: number): boolean => (t === 1 && s === 3) || (t === 0 && s === 1);
    expect(texts(first!)).toEqual(
      packed.lines.map((trace, t) => trace.map((lines, s) => (there(t, s) ? lines : null))),
    );
  });

  it("goes on from what it has read, and keeps it", async () => {
    const unpacker = new Unpacker();
    const [first] = await all(unpacker, head());
    const known = first!.traces[1]!.stages[3]!.lines;
    const more = await all(unpacker, data);
    expect(more.length).toBe(1);
    expect(texts(more[0]!)).toEqual(packed.lines);
    expect(more[0]!.traces[1]!.stages[3]!.lines).toBe(known);
    expect(more[0]!.traces[0]!.stages[3]!.lines, "an equal text is the same lines").toBe(known);
  });

  it("gives lines the same number where they are equal without renumbered names", async () => {
    const dumps = (await all(new Unpacker(), data)).at(-1)!;
    const { table, blanked } = dumps;
    const analysis = new Analysis(dumps);
    const numbers = new Map<string, number>();
    for (const [i, line] of table.entries()) {
      const text = analysis.blankOf(i);
      if (!numbers.has(text)) numbers.set(text, blanked[i]!);
      expect(blanked[i], line).toBe(numbers.get(text));
    }
    expect(new Set(numbers.values()).size).toBe(numbers.size);
    expect(new Set(blanked).size).toBe(Math.max(...blanked) + 1);
  });

  it("starts anew with other bytes", async () => {
    const unpacker = new Unpacker();
    await all(unpacker, data);
    const other = data.slice();
    other[20] = 1; // the time in the gzip header
    expect(unpacker.continues(other)).toBe(false);
    expect(texts((await all(unpacker, other)).at(-1)!)).toEqual(packed.lines);
  });

  it("reads places and attachments", async () => {
    const found = (await all(new Unpacker(), data)).at(-1)!;
    const { stages, attachments } = found.traces[0]!;
    expect(stages[1]!.places).toBeNull();
    const lines = Array.from(stages[0]!.places!, (place) => found.places[place]?.line ?? 0);
    expect(lines.length).toBe(stages[0]!.lines.length);
    expect(Math.max(...lines)).toBeGreaterThan(50);
    expect(Array.from(attachments[0]!.data!)).toEqual(Array.from({ length: 256 }, (_, i) => i));
  });

  it("says what to do about another format", async () => {
    const other = data.slice();
    other[8] = 9;
    await expect(all(new Unpacker(), other)).rejects.toThrow("run the cell again");
  });
});
