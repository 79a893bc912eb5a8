/** A graph of operations on a canvas: wheel and drag move it, arrows walk along its edges, Enter goes inside. */

import { h, OWN_KEYS, plural } from "../dom";
import { HUES, hueOf } from "../hues";
import { dialect } from "../analysis";
import { BOX, type Placed, placed, type Region } from "./region";

export interface Drawn {
  readonly title: string;
  readonly region: Region;
  readonly label: (node: number) => string;
  readonly name: (node: number) => string;
  /** How many operations are inside of a node. */
  readonly inside: (node: number) => number;
  readonly changed: (node: number) => boolean;
}

export interface DrawingHooks {
  readonly enter: (node: number) => void;
  readonly out: () => void;
  readonly choose: (node: number) => void;
}

/** Pixels of a letter of a label, below which it is not written. */
const LEGIBLE = 6;
const LETTER = 6.3;

export class Drawing {
  readonly element: HTMLElement;
  readonly bar: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  private readonly said = h("span", { class: "irw-dim", role: "status" });
  private readonly title = h("b", {});
  /** Elements that have the colours of dialects, which a canvas cannot ask the style sheet for. */
  private readonly hues = Array.from({ length: HUES }, (_, hue) => h("i", { class: `irw-hue${hue}`, hidden: true }));
  private drawn: Drawn | null = null;
  private at: Placed | null = null;
  private near: number[][] = [];
  private view = { x: 0, y: 0, scale: 1 };
  private chosen = 0;
  private frame = 0;
  /** Milliseconds that the last frame took to draw. */
  took = 0;

  constructor(private readonly hooks: DrawingHooks) {
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "application",
      "aria-label": "Graph of operations: arrow keys go from one to the next, Enter goes inside, Backspace out",
      ...OWN_KEYS,
      keydown: (event: KeyboardEvent) => this.key(event),
      wheel: (event: WheelEvent) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
      },
      pointerdown: (event: PointerEvent) => this.drag(event),
      dblclick: () => this.hooks.enter(this.chosen),
    });
    const button = (text: string, title: string, click: () => void): HTMLElement =>
      h("button", { type: "button", title, ...OWN_KEYS, click }, text);
    this.bar = h(
      "div",
      { class: "irw-graph-bar" },
      button("Out", "To the operation that this is inside of (Backspace)", () => this.hooks.out()),
      button("Fit", "All of it (0)", () => this.fit()),
      this.title,
      this.said,
    );
    this.element = h("div", { class: "irw-ops-graph" }, this.bar, this.canvas, ...this.hues);
  }

  show(drawn: Drawn): void {
    this.drawn = drawn;
    const { nodes, edges } = drawn.region;
    this.at = placed(nodes.length, edges);
    this.near = Array.from(nodes, () => []);
    for (const [from, to] of edges) {
      this.near[from]!.push(to);
      this.near[to]!.push(from);
    }
    this.chosen = 0;
    this.title.textContent = drawn.title;
    this.say();
    this.fit();
  }

  /** All of it in sight, but no larger than life. */
  fit(): void {
    if (!this.at) return;
    const { clientWidth, clientHeight } = this.canvas;
    const { width, height } = this.at;
    const scale = Math.min(1, (clientWidth - 40) / Math.max(1, width), (clientHeight - 40) / Math.max(1, height));
    this.view = { scale: Math.max(scale, 0.02), x: 0, y: 20 };
    this.view.x = (clientWidth - width * this.view.scale) / 2;
    this.redraw();
  }

  private zoom(by: number, x: number, y: number): void {
    const scale = Math.min(3, Math.max(0.02, this.view.scale * by));
    const real = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real };
    this.redraw();
  }

  private drag(event: PointerEvent): void {
    const { x, y } = this.view;
    const hit = this.hit(event.offsetX, event.offsetY);
    if (hit >= 0) this.choose(hit);
    this.canvas.setPointerCapture(event.pointerId);
    const move = ({ clientX, clientY }: PointerEvent): void => {
      this.view = { ...this.view, x: x + clientX - event.clientX, y: y + clientY - event.clientY };
      this.redraw();
    };
    this.canvas.addEventListener("pointermove", move);
    const over = (): void => this.canvas.removeEventListener("pointermove", move);
    this.canvas.addEventListener("lostpointercapture", over, { once: true });
  }

  private hit(x: number, y: number): number {
    const { at, view } = this;
    if (!at) return -1;
    const [left, top] = [(x - view.x) / view.scale, (y - view.y) / view.scale];
    return at.x.findIndex((from, i) => {
      const down = at.y[i]!;
      return left >= from && left <= from + BOX.width && top >= down && top <= down + BOX.height;
    });
  }

  private choose(node: number): void {
    this.chosen = node;
    this.hooks.choose(node);
    this.say();
    this.redraw();
  }

  private say(): void {
    const { drawn, chosen } = this;
    if (!drawn) return;
    const { nodes, edges } = drawn.region;
    const more = nodes.length > 0 ? drawn.inside(chosen) : 0;
    const here = nodes.length > 0 ? `; ${drawn.label(chosen)}${more > 0 ? `, ${more} inside` : ""}` : "";
    this.said.textContent = `${plural(nodes.length, "operation")}, ${plural(edges.length, "use")}${here}`;
  }

  private key(event: KeyboardEvent): void {
    const { at, near, chosen } = this;
    if (!at || !this.drawn) return;
    const toward = (up: boolean): void => {
      const next = near[chosen]!.filter((node) => (up ? at.y[node]! < at.y[chosen]! : at.y[node]! > at.y[chosen]!));
      if (next.length > 0) this.walk(next[0]!);
    };
    const beside = (by: number): void => {
      const row = [...at.y.keys()].filter((node) => at.y[node] === at.y[chosen]).sort((a, b) => at.x[a]! - at.x[b]!);
      const next = row[row.indexOf(chosen) + by];
      if (next !== undefined) this.walk(next);
    };
    const { clientWidth, clientHeight } = this.canvas;
    const actions: Readonly<Record<string, () => void>> = {
      ArrowUp: () => toward(true),
      ArrowDown: () => toward(false),
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      Enter: () => this.hooks.enter(chosen),
      Backspace: () => this.hooks.out(),
      "+": () => this.zoom(1.25, clientWidth / 2, clientHeight / 2),
      "-": () => this.zoom(0.8, clientWidth / 2, clientHeight / 2),
      "0": () => this.fit(),
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Choose a node, and bring it into sight. */
  private walk(node: number): void {
    const { at, view, canvas } = this;
    const scale = Math.max(view.scale, 0.7);
    const [x, y] = [at!.x[node]! + BOX.width / 2, at!.y[node]! + BOX.height / 2];
    this.view = { scale, x: canvas.clientWidth / 2 - x * scale, y: canvas.clientHeight / 2 - y * scale };
    this.choose(node);
  }

  private redraw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    const began = performance.now();
    const { canvas, drawn, at, view } = this;
    const context = canvas.getContext("2d");
    if (!drawn || !at || !context) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
    }
    const style = getComputedStyle(canvas);
    const hues = this.hues.map((probe) => getComputedStyle(probe).backgroundColor);
    const [fg, line, bg] = [style.color, style.borderTopColor, style.backgroundColor];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = bg;
    context.fillRect(0, 0, width, height);
    context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
    const left = -view.x / view.scale - BOX.width;
    const [right, top] = [left + width / view.scale + 2 * BOX.width, -view.y / view.scale - BOX.height];
    const bottom = top + height / view.scale + 2 * BOX.height;
    context.strokeStyle = line;
    context.lineWidth = 1 / Math.min(1, view.scale);
    context.beginPath();
    for (const [from, to] of drawn.region.edges) {
      const [x0, y0, x1, y1] = [at.x[from]!, at.y[from]!, at.x[to]!, at.y[to]!];
      if (Math.max(x0, x1) < left || Math.min(x0, x1) > right || Math.max(y0, y1) < top || Math.min(y0, y1) > bottom)
        continue;
      context.moveTo(x0 + BOX.width / 2, y0 + (y1 > y0 ? BOX.height : 0));
      context.lineTo(x1 + BOX.width / 2, y1 + (y1 > y0 ? 0 : BOX.height));
    }
    context.stroke();
    const legible = view.scale * LETTER * 1.6 >= LEGIBLE;
    context.font = `11px ${style.fontFamily}`;
    context.textBaseline = "middle";
    for (let i = 0; i < drawn.region.nodes.length; i++) {
      const [x, y] = [at.x[i]!, at.y[i]!];
      if (x < left || x > right || y < top || y > bottom) continue;
      const hue = hues[hueOf(dialect(drawn.name(i)))] ?? fg;
      if (!legible && i !== this.chosen) {
        context.fillStyle = hue;
        context.fillRect(x, y, BOX.width, BOX.height);
        continue;
      }
      context.fillStyle = bg;
      context.fillRect(x, y, BOX.width, BOX.height);
      context.fillStyle = hue;
      context.fillRect(x, y, 5, BOX.height);
      context.strokeStyle = i === this.chosen || drawn.changed(i) ? fg : line;
      context.lineWidth = (i === this.chosen ? 2.5 : 1) / Math.min(1, view.scale);
      context.strokeRect(x, y, BOX.width, BOX.height);
      if (!legible) continue;
      context.fillStyle = fg;
      const mark = `${drawn.changed(i) ? "± " : ""}${drawn.label(i)}${drawn.inside(i) > 0 ? ` (${drawn.inside(i)})` : ""}`;
      const most = Math.floor((BOX.width - 14) / LETTER);
      context.fillText(mark.length > most ? `${mark.slice(0, most - 1)}…` : mark, x + 10, y + BOX.height / 2);
    }
    this.took = performance.now() - began;
    canvas.dataset["drawn"] = String(drawn.region.nodes.length);
    canvas.dataset["took"] = this.took.toFixed(1);
  }
}
