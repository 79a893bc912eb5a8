/** What each pass costs: a strip of time that can be zoomed, and a table that can be sorted. */

import type { Analysis } from "../analysis";
import { Breath } from "../codec";
import { comparable, type Trace } from "../dumps";
import { h, OWN_KEYS, plural, thousands } from "../dom";
import { milliseconds } from "../list";
import { inputOf, percent, total } from "../timeline";
import { type Cost, costOf } from "./costs";

interface OpRow {
  readonly stage: number;
  readonly values: readonly (number | null)[];
  readonly texts: readonly string[];
}

const HEADS = ["pass", "time", "share", "ops", "allocations", "allocated", "copies", "flop"] as const;
const TITLES: Readonly<Partial<Record<(typeof HEADS)[number], string>>> = {
  time: "Of the pass alone, without printing",
  ops: "Operations in the text after the pass",
  allocations: "How many there are after the pass, and how many it brought or took",
  allocated: "Bytes of all allocations, each once; ≥ where the text does not say all sizes",
  copies: "memref.copy and its like, and how many the pass brought or took",
  flop: "Arithmetic on floating-point numbers, each function run once; empty where the text does not say it",
};

/** The window; `go` shows a pass. */
export function costs(analysis: Analysis, trace: Trace, go: (stage: number) => void, close: () => void): HTMLElement {
  const all = total(trace.stages);
  const known: (Cost | null)[] = [];
  let [by, down, counted] = [-1, true, false];
  const body = h("tbody");
  const heads = HEADS.map((name, i) =>
    h(
      "th",
      { scope: "col", title: TITLES[name], "aria-sort": "none" },
      h("button", { type: "button", ...OWN_KEYS, click: () => sort(i) }, name),
    ),
  );
  const rows = (): OpRow[] => trace.stages.map((_, i) => row(trace, i, all, known));
  const draw = (): void => {
    const order = rows();
    if (by >= 0) {
      const value = ({ values, stage }: OpRow): number => (by === 0 ? stage : (values[by] ?? -1));
      order.sort((a, b) => (down ? value(b) - value(a) : value(a) - value(b)) || a.stage - b.stage);
    }
    const said = HEADS.map((_, i) => !counted || order.some(({ texts }) => texts[i]));
    for (const [i, head] of heads.entries()) {
      head.setAttribute("aria-sort", i === by ? (down ? "descending" : "ascending") : "none");
      head.hidden = !said[i];
    }
    body.replaceChildren(...order.map((one) => line(one, said, go)));
  };
  const sort = (column: number): void => {
    down = column === by ? !down : column !== 0;
    by = column;
    draw();
  };
  draw();
  const table = h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body);
  const box = h(
    "div",
    { class: "irw-cost-table" },
    h(
      "div",
      { class: "irw-graph-bar" },
      h("b", {}, "What each pass costs"),
      h("span", { class: "irw-dim" }, all ? spent(trace, all) : "no times are known"),
      h("button", { type: "button", class: "irw-close", ...OWN_KEYS, click: close }, "Close"),
    ),
    ...(all ? [strip(trace, all, go)] : []),
    h("div", { class: "irw-cost-rows" }, table),
  );
  const done = (): void => {
    counted = true;
    draw();
  };
  void count(analysis, trace, known, done, () => box.isConnected);
  return box;
}

/** The time in words: of what comes before the passes, too, which the list of passes does not count. */
function spent(trace: Trace, all: number): string {
  const input = inputOf(trace);
  if (!input?.seconds) return `${milliseconds(all)} in all`;
  const passes = plural(trace.stages.length - 1, "pass", "passes");
  const parts = `${input.label} ${milliseconds(input.seconds)}, ${passes} ${milliseconds(all - input.seconds)}`;
  return `${milliseconds(all)} in all: ${parts}`;
}

/** Read the dumps one after the other. */
async function count(
  analysis: Analysis,
  { stages }: Trace,
  known: (Cost | null)[],
  done: () => void,
  alive: () => boolean,
): Promise<void> {
  const breath = new Breath();
  const seen = new Map<Int32Array, Cost | null>();
  for (const [i, stage] of stages.entries()) {
    if (!seen.has(stage.lines)) seen.set(stage.lines, costOf(analysis, stage));
    known[i] = seen.get(stage.lines)!;
    await breath.take();
    if (i > 0 && !alive()) return;
  }
  done();
}

function row({ stages }: Trace, i: number, all: number, known: readonly (Cost | null)[]): OpRow {
  const stage = stages[i]!;
  const cost = known[i] ?? null;
  const before = stages[stage.before];
  const old =
    before && comparable(before, stage) && !stage.part === !before.part ? (known[stage.before] ?? null) : null;
  const share = all ? stage.seconds / all : 0;
  const brought = (now: number, of: number | undefined): string => {
    const more = of === undefined ? 0 : now - of;
    const change = more === 0 ? "" : ` (${more > 0 ? "+" : "−"}${thousands(Math.abs(more))})`;
    return now || more ? `${thousands(now)}${change}` : "";
  };
  const bytes = cost && (cost.bytes || cost.more) ? `${cost.more ? "≥ " : ""}${thousands(cost.bytes)} B` : "";
  return {
    stage: i,
    values: [
      i,
      stage.seconds,
      share,
      cost?.ops ?? null,
      cost?.allocations ?? null,
      cost?.bytes ?? null,
      cost?.copies ?? null,
      cost?.flops ?? null,
    ],
    texts: [
      `${i} ${stage.label}`,
      milliseconds(stage.seconds),
      share ? percent(share) : "",
      cost ? thousands(cost.ops) : "",
      cost ? brought(cost.allocations, old?.allocations) : "",
      bytes,
      cost ? brought(cost.copies, old?.copies) : "",
      cost?.flops ? thousands(cost.flops) : "",
    ],
  };
}

/** The row of a pass, with the columns in which any pass has something. */
function line({ stage, texts }: OpRow, said: readonly boolean[], go: (stage: number) => void): HTMLElement {
  const [name, ...others] = texts.filter((_, i) => said[i]);
  const button = h("button", { type: "button", ...OWN_KEYS, click: () => go(stage) }, name!);
  return h("tr", {}, h("th", { scope: "row" }, button), ...others.map((text) => h("td", {}, text)));
}

/** The passes side by side, as wide as they took time; the wheel and + and − zoom, dragging moves it. */
function strip(trace: Trace, all: number, go: (stage: number) => void): HTMLElement {
  let zoom = 1;
  const bar = h("div", { class: "irw-cost-bar" });
  for (const [i, { label, seconds }] of trace.stages.entries()) {
    if (!seconds) continue;
    const part = h(
      "button",
      {
        type: "button",
        tabindex: -1,
        title: `${i} ${label}: ${milliseconds(seconds)}`,
        ...OWN_KEYS,
        click: () => go(i),
      },
      h("span", {}, label),
    );
    part.style.width = `${(100 * seconds) / all}%`;
    bar.append(part);
  }
  const box: HTMLElement = h(
    "div",
    {
      class: "irw-cost-strip",
      tabindex: 0,
      role: "group",
      "aria-label": "Time of the passes, side by side; the table has the numbers",
      title: "Wheel, + and −: zoom",
      ...OWN_KEYS,
      wheel: (event: WheelEvent) => {
        if (event.deltaX !== 0 && event.deltaY === 0) return;
        event.preventDefault();
        scale(Math.exp(-event.deltaY / 300), event.clientX - box.getBoundingClientRect().left);
      },
      keydown: (event: KeyboardEvent) => {
        if (event.key === "+" || event.key === "-") scale(event.key === "+" ? 1.5 : 1 / 1.5, box.clientWidth / 2);
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    },
    bar,
  );
  const scale = (by: number, at: number): void => {
    const share = (box.scrollLeft + at) / (box.clientWidth * zoom);
    zoom = Math.min(500, Math.max(1, zoom * by));
    bar.style.width = `${zoom * 100}%`;
    box.scrollLeft = share * box.clientWidth * zoom - at;
  };
  return box;
}
