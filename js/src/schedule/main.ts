/** The schedule of torch.compile: kernels as boxes, the text of one, and why two of them are not one. */

import { h, OWN_KEYS, plural } from "../dom";
import { readJson } from "../gzip";
import { type Model, Watch } from "../model";
import { mounted, type View } from "../mount";
import type { Schedule, ScheduleLaunch, ScheduleMemory } from "../schema";
import style from "./style.css?inline";

const VERSION = 1;
type ScheduleTrait = "launch" | "other" | "data";

class ScheduleView implements View {
  readonly element: HTMLElement;
  private schedule!: Schedule;
  private readonly state: Watch<ScheduleTrait>;
  private readonly head = h("div", { class: "irw-facts irw-c-head" });
  private readonly list = h("div", {
    class: "irw-c-list",
    role: "listbox",
    tabindex: 0,
    "aria-label": "Kernels in the order in which they run",
    ...OWN_KEYS,
  });
  private readonly detail = h("div", { class: "irw-c-detail", tabindex: 0, role: "group", "aria-label": "Kernel" });
  private readonly said = h("span", { role: "status" });
  private boxes: HTMLElement[] = [];

  constructor(private readonly model: Model) {
    this.state = new Watch<ScheduleTrait>(model, ["launch", "other", "data"], (keys) => {
      if (keys.has("data")) void this.load();
      else if (this.schedule) this.draw();
    });
    this.element = h(
      "div",
      { class: "irw irw-c", role: "region", "aria-label": "Schedule" },
      this.head,
      h("div", { class: "irw-c-body" }, this.list, this.detail),
      h(
        "div",
        { class: "irw-status" },
        this.said,
        h("span", { class: "irw-space" }),
        h("span", {}, h("kbd", {}, "↑↓"), " kernel  ", h("kbd", {}, "⇧↑↓"), " compare with"),
      ),
    );
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  async start(): Promise<void> {
    await this.load();
  }

  close(): void {
    this.state.close();
  }

  private async load(): Promise<void> {
    const sent = this.model.get("data") as DataView<ArrayBuffer> | string;
    if (this.schedule && typeof sent !== "string" && !sent.byteLength) return; // closed
    const bytes = typeof sent === "string" ? Uint8Array.from(atob(sent), (char) => char.charCodeAt(0)) : sent;
    const schedule = await readJson<Schedule>(bytes);
    if (schedule.version !== VERSION)
      throw new Error(
        `This schedule has format ${schedule.version} and the view reads ${VERSION}: run the cell again.`,
      );
    this.schedule = schedule;
    this.drawHead();
    this.drawList();
    this.draw();
    this.element.dataset["ready"] = "true";
  }

  private get selected(): { launch: number; other: number } {
    const within = (key: ScheduleTrait, least: number): number =>
      Math.max(least, Math.min(Number(this.model.get(key)), this.schedule.launches.length - 1));
    return { launch: within("launch", 0), other: within("other", -1) };
  }

  private choose(launch: number, beside: boolean): void {
    const { launch: now } = this.selected;
    if (beside) this.state.set({ other: launch === now ? -1 : launch });
    else this.state.set({ launch, other: launch === now ? -1 : now });
  }

  private drawHead(): void {
    const { name, device, launches, memory } = this.schedule;
    const fact = (label: string, value: string): HTMLElement =>
      h("span", { class: "irw-fact" }, `${label} `, h("b", {}, value));
    const made = launches.filter(({ kind }) => kind === "loops" || kind === "template").length;
    const called = launches.filter(({ kind }) => kind === "extern" || kind === "fallback").length;
    this.head.replaceChildren(
      h("b", {}, name),
      fact("on", device),
      fact("generated", String(made)),
      fact("called", String(called)),
      ...memory.map((one) => this.memoryFact(one)),
    );
  }

  private memoryFact(memory: ScheduleMemory): HTMLElement {
    const alive = memory.alive.map(
      ({ name, bytes, line }) => `${name}: ${size(bytes)}${line ? `, of line ${line}` : ""}`,
    );
    return h(
      "details",
      { class: "irw-fact" },
      h(
        "summary",
        {},
        `peak${memory.direction ? ` ${memory.direction}` : ""} `,
        h("b", {}, size(memory.peak)),
        memory.unfused ? `, unfused ${size(memory.unfused)}` : "",
      ),
      h("pre", {}, `alive at the peak, as Inductor estimates\n${alive.join("\n")}`),
    );
  }

  private drawList(): void {
    const { launches } = this.schedule;
    const most = Math.max(1, ...launches.map(({ reads, writes }) => Math.max(reads, 0) + Math.max(writes, 0)));
    this.boxes = launches.map((launch, number) => this.box(launch, number, most));
    const parts: HTMLElement[] = [];
    for (const [number, box] of this.boxes.entries()) {
      const before = launches[number - 1];
      const here = title(launches[number]!);
      if (before && title(before) !== here) parts.push(h("div", { class: "irw-c-cut", role: "presentation" }, here));
      parts.push(box);
    }
    this.list.replaceChildren(...parts);
  }

  private box(launch: ScheduleLaunch, number: number, most: number): HTMLElement {
    const targets = [...new Set(launch.ops.flatMap(({ targets }) => targets))];
    const lines = [...new Set(launch.ops.map(({ line }) => line).filter((line) => line > 0))].sort((a, b) => a - b);
    const bar = (way: "reads" | "writes"): HTMLElement =>
      h(
        "div",
        { class: "irw-c-bytes" },
        h("span", {}, way),
        h(
          "span",
          { class: "irw-c-track" },
          h("span", {
            class: `irw-c-fill irw-c-${way}`,
            style: `width:${(100 * Math.max(0, launch[way])) / most}%`,
          }),
        ),
        h("span", { class: "irw-c-size" }, size(launch[way])),
      );
    return h(
      "div",
      {
        class: "irw-c-box",
        role: "option",
        "data-kind": launch.kind,
        title: launch.kernel,
        click: (event: MouseEvent) => this.choose(number, event.shiftKey),
      },
      h("div", { class: "irw-c-name" }, h("span", { class: "irw-dim" }, `${number} `), launch.kernel),
      h(
        "div",
        { class: "irw-dim" },
        [loops(launch), launch.kind === "loops" ? "" : launch.kind, plural(launch.ops.length, "operation")]
          .filter(Boolean)
          .join(" · "),
      ),
      bar("reads"),
      bar("writes"),
      h("div", { class: "irw-c-ops" }, targets.map((one) => one.replace(/^(aten|prims)\./, "")).join(", ")),
      h("div", { class: "irw-dim" }, lines.length > 0 ? `line ${lines.join(", ")}` : "no line of yours"),
    );
  }

  private draw(): void {
    const { launch: number, other } = this.selected;
    const launch = this.schedule.launches[number];
    for (const [at, box] of this.boxes.entries()) {
      box.setAttribute("aria-selected", String(at === number));
      box.classList.toggle("irw-c-other", at === other);
      const flow = this.schedule.flows.find(
        ({ maker, reader }) => (maker === number && reader === at) || (maker === at && reader === number),
      );
      box.classList.toggle("irw-c-near", flow !== undefined);
    }
    this.boxes[number]?.scrollIntoView({ block: "nearest" });
    if (!launch) return;
    this.detail.replaceChildren(...this.details(launch, number, other));
    this.detail.scrollTop = 0;
    this.said.textContent = other < 0 ? launch.kernel : `${launch.kernel} and ${this.schedule.launches[other]!.kernel}`;
    this.element.dataset["shown"] = `${number} ${other}`;
  }

  private details(launch: ScheduleLaunch, number: number, other: number): HTMLElement[] {
    const section = (name: string, ...body: (Node | string)[]): HTMLElement =>
      h("section", { class: "irw-c-section", "aria-label": name }, h("div", { class: "irw-c-h" }, name), ...body);
    const found: HTMLElement[] = [];
    if (other >= 0) found.push(section(`Kernels ${number} and ${other}: why not one?`, this.answer(number, other)));
    found.push(
      section("What became of it", h("pre", {}, launch.said)),
      section("Buffers", this.buffers(launch, number)),
      section("Operations", operations(launch)),
    );
    if (launch.text) found.push(section("Text", code(launch)));
    return found;
  }

  private answer(one: number, other: number): HTMLElement {
    const [first, second] = one < other ? [one, other] : [other, one];
    const pair = this.schedule.pairs.find((pair) => pair.first === first && pair.second === second);
    const text = pair?.text ?? "Not worked out here: in Python, low.why(kernel, kernel) answers for any two.";
    return h("pre", { class: "irw-c-why", "data-answer": pair?.answer ?? "" }, text);
  }

  private buffers(launch: ScheduleLaunch, number: number): HTMLElement {
    const rows = launch.buffers.map(({ name, bytes, way }) => {
      const ends = this.schedule.flows.filter(
        ({ maker, reader, buffer }) => buffer === name && (way === "reads" ? reader : maker) === number,
      );
      const at = ends.map(({ maker, reader }) => String(way === "reads" ? maker : reader)).join(", ");
      const where = at ? `${way === "reads" ? "from" : "to"} kernel ${at}` : way === "reads" ? "an input" : "";
      return h("tr", {}, ...[way, name, size(bytes), where].map((cell) => h("td", {}, cell)));
    });
    return h("table", { class: "irw-c-table" }, h("tbody", {}, ...rows));
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const { launch, other } = this.selected;
    const last = this.schedule.launches.length - 1;
    if (event.shiftKey) {
      const next = (other < 0 ? launch : other) + step;
      this.choose(Math.max(0, Math.min(last, next === launch ? next + step : next)), true);
    } else this.state.set({ launch: Math.max(0, Math.min(last, launch + step)), other: -1 });
  }
}

function operations(launch: ScheduleLaunch): HTMLElement {
  const rows = launch.ops.map((op) =>
    h(
      "tr",
      {},
      ...[op.name, op.targets.join(", "), loops(op), op.line ? `line ${op.line}` : "", op.module].map((cell) =>
        h("td", {}, cell),
      ),
    ),
  );
  return h("table", { class: "irw-c-table" }, h("tbody", {}, ...rows));
}

/** The kernel, each line with the user's line before it. */
function code(launch: ScheduleLaunch): HTMLElement {
  const lines = launch.text.replace(/\s+$/, "").split("\n");
  const rows = lines.map((line, at) =>
    h("div", {}, h("span", { class: "irw-c-gutter" }, launch.lines[at] ? String(launch.lines[at]) : ""), line),
  );
  return h("div", { class: "irw-c-code" }, ...rows);
}

function loops({ loops, reduced }: { loops: readonly string[]; reduced: readonly string[] }): string {
  const kept = loops.join(" × ");
  return reduced.length > 0 ? `${kept || "1"}, over ${reduced.join(" × ")}` : kept;
}

/** The graph that a kernel is of, and the branch, loop or region in it. */
function title({ graph, direction, subgraph }: ScheduleLaunch): string {
  return [`graph ${graph}`, direction, subgraph].filter(Boolean).join(", ");
}

function size(bytes: number): string {
  if (bytes < 0) return "?";
  const units: [string, number][] = [
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
  ];
  for (const [unit, step] of units) if (bytes >= step) return `${Number((bytes / step).toPrecision(4))} ${unit}`;
  return `${bytes} B`;
}

export const render = mounted(style, "this schedule", ({ model }) => new ScheduleView(model));
