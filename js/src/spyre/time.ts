/** The estimate of time: what binds each op, kernels by cores along the time, and a roofline. */

import { h, plural, thousands } from "../dom";
import { table } from "./cores";
import { bytes } from "./data";
import { folded } from "./memory";
import type { SpyreOp, SpyreParts, SpyreProgram, SpyreTime } from "../schema";

export const NAMES: Readonly<Record<keyof SpyreParts, string>> = {
  pe: "PE",
  sfp: "SFP",
  memory: "device memory",
  lx: "LX",
  ring: "ring",
};
const PARTS = Object.keys(NAMES) as (keyof SpyreParts)[];
const SVG = "http://www.w3.org/2000/svg";

export function microseconds(us: number): string {
  return us >= 1000 ? `${Number((us / 1000).toPrecision(4))} ms` : `${Number(us.toPrecision(4))} µs`;
}

function svg(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

interface Timed {
  readonly op: SpyreOp;
  readonly time: SpyreTime;
  readonly from: number;
}

const WIDTH = 1000;
const HEIGHT = 96;

/** The estimate of a program; drawn once for each, then only the selection moves. */
export class Time {
  readonly element = h("div", { class: "irw-s-time" });
  private program!: SpyreProgram;
  private timed: Timed[] = [];
  private readonly mark = svg("rect", { class: "irw-s-chosen", y: 0, height: HEIGHT });
  private readonly spot = svg("circle", { class: "irw-s-chosen", r: 5 });
  private readonly detail = h("div", {});

  constructor(private readonly chosen: (op: number) => void) {}

  draw(program: SpyreProgram): void {
    this.program = program;
    const { estimate } = program;
    let at = 0;
    this.timed = [];
    for (const op of program.ops) {
      if (!op.time) continue;
      this.timed.push({ op, time: op.time, from: at });
      at += op.time.us;
    }
    const legend = PARTS.filter((part) => estimate.bound[part] > 0).map((part) =>
      h(
        "span",
        { class: "irw-s-bound" },
        h("span", { class: `irw-s-swatch irw-s-part-${part}`, "aria-hidden": "true" }),
        ` ${NAMES[part]} binds ${microseconds(estimate.bound[part])}`,
      ),
    );
    const host = estimate.host_calls
      ? ` ${plural(estimate.host_calls, "host call")} with ${bytes(estimate.host_bytes)} to copy: not in it.`
      : "";
    this.element.replaceChildren(
      h(
        "p",
        {},
        h("b", {}, `about ${microseconds(estimate.us)}`),
        ` on the card, an estimate; cores idle ${(100 * estimate.idle).toFixed(0)} % of the card's time.${host}`,
      ),
      h("p", { class: "irw-s-legend" }, ...legend),
      this.timeline(),
      h(
        "div",
        { class: "irw-s-axis irw-s-timeaxis irw-dim", "aria-hidden": "true" },
        h("span", {}, "0"),
        h("span", {}, microseconds(estimate.us)),
      ),
      this.detail,
      folded("Roofline", this.roofline()),
      folded(
        "Where the figures are from",
        table(
          "Figures of the estimate",
          ["figure", "", "unit", "kind", "source"],
          estimate.constants.map(({ name, value, unit, kind, source }) => [name, String(value), unit, kind, source]),
          "irw-s-left",
        ),
      ),
    );
  }

  /** Ops along the time, as high as the cores that they use, coloured by what binds them. */
  private timeline(): SVGElement {
    const { estimate, max_cores: cores, kernels } = this.program;
    const whole = estimate.us || 1;
    const picture = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT + 4}`,
      preserveAspectRatio: "none",
      class: "irw-s-timeline",
      role: "img",
      "aria-label": `Kernels by cores along ${microseconds(estimate.us)}, estimated`,
    });
    const paths: Record<string, string> = {};
    const x = (t: number): number => (WIDTH * t) / whole;
    for (const { op, time, from } of this.timed) {
      const high = (HEIGHT * op.cores) / cores;
      paths[time.binds] =
        `${paths[time.binds] ?? ""}M${x(from).toFixed(2)} ${HEIGHT}v${-high}h${Math.max(0.15, x(time.us)).toFixed(2)}v${high}z`;
    }
    picture.append(svg("rect", { class: "irw-s-idle", x: 0, y: 0, width: WIDTH, height: HEIGHT }));
    for (const [part, d] of Object.entries(paths)) picture.append(svg("path", { d, class: `irw-s-part-${part}` }));
    let ticks = "";
    let at = 0;
    for (const kernel of kernels) {
      ticks += `M${x(at).toFixed(2)} ${HEIGHT}v4`;
      at += kernel.us;
    }
    picture.append(svg("path", { d: ticks, class: "irw-s-ticks" }), this.mark);
    picture.addEventListener("click", (event) => {
      const { left, width } = picture.getBoundingClientRect();
      const t = (((event as MouseEvent).clientX - left) / width) * whole;
      const found = this.timed.filter(({ from }) => from <= t).at(-1);
      if (found) this.chosen(found.op.number);
    });
    return picture;
  }

  /** Operations per second over operations per byte of device memory; both axes logarithmic. */
  private roofline(): HTMLElement {
    const { roof } = this.program.estimate;
    const points = this.timed.filter(({ time }) => time.intensity > 0 && time.us > 0);
    if (points.length === 0) return h("p", { class: "irw-dim" }, "No op touches device memory.");
    const range = (values: number[]): [number, number] => [
      Math.floor(Math.log10(Math.min(...values))),
      Math.ceil(Math.log10(Math.max(...values))),
    ];
    const ridge = roof.operations / roof.bandwidth;
    const [x0, x1] = range([...points.map(({ time }) => time.intensity), ridge * 4]);
    const [y0, y1] = range([...points.map(({ time }) => time.operations / time.us), roof.operations]);
    const px = (v: number): number => 40 + (425 * (Math.log10(v) - x0)) / (x1 - x0);
    const py = (v: number): number => 170 - (160 * (Math.log10(v) - y0)) / (y1 - y0);
    const picture = svg("svg", {
      viewBox: "0 0 490 200",
      class: "irw-s-roofline",
      role: "img",
      "aria-label": "Operations per second over operations per byte, estimated",
    });
    const flat = Math.max(10 ** x0, 10 ** y0 / roof.bandwidth);
    picture.append(
      svg("path", {
        class: "irw-s-roof",
        d: `M${px(flat)} ${py(flat * roof.bandwidth)}L${px(ridge)} ${py(roof.operations)}H480`,
      }),
      svg("text", { x: 480, y: py(roof.operations) - 4, "text-anchor": "end" }, "PE arrays"),
      svg("path", { class: "irw-s-ticks", d: "M40 10V170H480" }),
    );
    for (let i = x0; i <= x1; i++)
      picture.append(svg("text", { x: px(10 ** i), y: 184, "text-anchor": "middle" }, `${10 ** i}`));
    picture.append(svg("text", { x: 260, y: 197, "text-anchor": "middle" }, "operations per byte of device memory"));
    for (let i = y0; i <= y1; i++)
      picture.append(svg("text", { x: 36, y: py(10 ** i) + 3, "text-anchor": "end" }, `${10 ** (i - 6)}`));
    picture.append(svg("text", { x: 44, y: 16 }, "tera operations per second"));
    const paths: Record<string, string> = {};
    const seen = new Set<string>();
    for (const { time } of points) {
      const [x, y] = [px(time.intensity).toFixed(1), py(time.operations / time.us).toFixed(1)];
      if (seen.has(`${x} ${y}`)) continue;
      seen.add(`${x} ${y}`);
      paths[time.binds] = `${paths[time.binds] ?? ""}M${x} ${y}m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`;
    }
    for (const [part, d] of Object.entries(paths)) picture.append(svg("path", { d, class: `irw-s-part-${part}` }));
    picture.append(this.spot);
    this.place = ({ intensity, operations, us }) => {
      this.spot.setAttribute("visibility", intensity > 0 && us > 0 ? "visible" : "hidden");
      if (intensity <= 0 || us <= 0) return;
      this.spot.setAttribute("cx", String(px(intensity)));
      this.spot.setAttribute("cy", String(py(operations / us)));
    };
    return h("div", {}, picture);
  }

  private place: (time: SpyreTime) => void = () => undefined;

  select(op: SpyreOp): void {
    const found = this.timed.find((one) => one.op.number === op.number);
    this.mark.setAttribute("visibility", found ? "visible" : "hidden");
    if (!found || !op.time) {
      this.detail.replaceChildren(h("p", { class: "irw-dim" }, "What the host does is not estimated."));
      return;
    }
    const { time } = found;
    const whole = this.program.estimate.us || 1;
    this.mark.setAttribute("x", String((WIDTH * found.from) / whole));
    this.mark.setAttribute("width", String(Math.max(2, (WIDTH * time.us) / whole)));
    this.place(time);
    const most = Math.max(...PARTS.map((part) => time.parts[part])) || 1;
    const rows = PARTS.filter((part) => time.parts[part] > 0).map((part) => {
      const bar = h("span", { class: `irw-s-part irw-s-part-${part}` });
      bar.style.width = `${(100 * time.parts[part]) / most}%`;
      return [
        NAMES[part] + (part === time.binds ? ", binds" : ""),
        microseconds(time.parts[part]),
        h("span", { class: "irw-s-cost", "aria-hidden": "true" }, bar),
      ];
    });
    const memory = [
      `${bytes(time.read + time.written)} of device memory, each byte once`,
      time.again ? `${bytes(time.again)} read again` : "",
      time.shared ? `${bytes(time.shared)} handed on between cores` : "",
    ].filter(Boolean);
    this.detail.replaceChildren(
      h(
        "p",
        {},
        h("b", {}, `${op.func} → ${op.buffer}: about ${microseconds(time.us)}`),
        `, ${plural(time.idle, "idle core")}; ${memory.join(", ")}; ${thousands(time.operations)} operations.`,
      ),
      table("Time of the op", ["part", "estimated", ""], rows, "irw-s-left"),
    );
  }
}
