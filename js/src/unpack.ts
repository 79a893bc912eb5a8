/** Reads what `irwidget.views.packing.pack` writes; the layout is described there. */

import type { Dumps, Failure, Source, Stage, Trace } from "./dumps";

const VERSION = 1;

interface PackedStage {
  name: string;
  step: string;
  language: string;
  options: string;
  seconds: number;
  scope: string;
  ready: boolean;
  /** Number of lines, or -1 for "as the stage before". */
  lines: number;
  places: boolean;
}

interface Meta {
  traces: {
    name: string;
    target: string;
    failure: Failure | null;
    facts: [string, string][];
    diagnostics: string[];
    stages: PackedStage[];
  }[];
  sources: Source[];
  places: [file: number, line: number, column: number][];
}

export async function gunzip(bytes: BufferSource): Promise<ArrayBuffer> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export async function unpack(bytes: BufferSource): Promise<Dumps> {
  const buffer = await gunzip(bytes);
  const view = new DataView(buffer);
  const version = view.getUint32(0, true);
  if (version !== VERSION) {
    throw new Error(`These dumps have format ${version} and this viewer reads ${VERSION}: run the cell again.`);
  }
  let at = 4;
  const text = (): string => {
    const length = view.getUint32(at, true);
    const bytes = new Uint8Array(buffer, at + 4, length);
    at += 4 + length;
    return new TextDecoder().decode(bytes);
  };
  /** Each number is stored as its difference from the one before. */
  const numbers = (length: number): Int32Array => {
    const values = new Int32Array(buffer.slice(at, at + 4 * length));
    at += 4 * length;
    for (let i = 1; i < length; i++) values[i]! += values[i - 1]!;
    return values;
  };

  const meta = JSON.parse(text()) as Meta;
  const table = text().split("\n");
  const traces = meta.traces.map((trace): Trace => {
    const labels = labelled(trace.stages.map((stage) => stage.name));
    const stages: Stage[] = [];
    for (const [i, packed] of trace.stages.entries()) {
      const same = packed.lines < 0;
      const lines = same ? stages[i - 1]!.lines : numbers(packed.lines);
      const places = packed.places ? numbers(lines.length) : null;
      stages.push({ ...packed, label: labels[i]!, lines, places, changed: !same });
    }
    return { ...trace, stages };
  });
  const places = meta.places.map(([file, line, column]) => ({ file, line, column }));
  return { table, traces, sources: meta.sources, places };
}

/** Number the names that occur more than once: canonicalize, canonicalize (2). */
export function labelled(names: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count > 1 ? `${name} (${count})` : name;
  });
}
