/** What Python says of a pipeline under edit. */

import { readJson } from "../gzip";
import type { OfferedPass, PipelineStep } from "../schema";

/** Tool -> its passes, by name. */
export type OfferedPasses = ReadonlyMap<string, ReadonlyMap<string, OfferedPass>>;

export async function unpackPasses(data: DataView<ArrayBuffer> | null): Promise<OfferedPasses> {
  if (!data || data.byteLength === 0) return new Map();
  const tools = await readJson<Record<string, OfferedPass[]>>(data);
  return new Map(
    Object.entries(tools).map(([tool, passes]) => [tool, new Map(passes.map((pass) => [pass.name, pass]))]),
  );
}

/** The passes that have every word in name or help: names that begin with the query first, then names that have it. */
export function find(passes: ReadonlyMap<string, OfferedPass>, query: string): OfferedPass[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ({ name }: OfferedPass): number => {
    const first = words[0] ?? "";
    return name.startsWith(first) ? 0 : name.includes(first) ? 1 : 2;
  };
  return [...passes.values()]
    .filter(({ name, help }) => words.every((word) => name.includes(word) || help.toLowerCase().includes(word)))
    .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

/** A time for a chip: `0.4 ms`, `12 ms`, `3.2 s`. */
export function duration(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(1)} s`;
  const ms = seconds * 1000;
  if (ms < 0.05) return "<0.1 ms";
  return ms >= 10 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
}

const STATES = {
  "": "",
  waiting: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  stopped: "stopped",
} as const;
const SIGNS = { "": "", waiting: "○", running: "●", done: "✓", failed: "✗", stopped: "■" } as const;

export function sign(step: PipelineStep): string {
  return step.enabled ? SIGNS[step.state] : "–";
}

/** A step in words, for those who do not see it. */
export function spoken(step: PipelineStep, place: number, count: number): string {
  const options = Object.entries(step.options).map(([name, value]) => `${name} ${value}`);
  const state = step.enabled ? STATES[step.state] : "disabled";
  const time = step.state === "done" || step.seconds > 0 ? duration(step.seconds) : "";
  const parts = [`${step.tool} ${step.label}`, ...options, ...(step.id ? [] : ["part of the IR type"]), state, time];
  return `Step ${place + 1} of ${count}: ${parts.filter(Boolean).join(", ")}`;
}
