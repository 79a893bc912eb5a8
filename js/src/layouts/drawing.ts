/** A tensor as a grid of cells, coloured by who owns them. */

import { h } from "../dom";
import type { Linear, ElementPlace } from "./linear";

const ROOM = 480;
const MOST = 128;

export interface Chosen {
  readonly element: readonly number[];
}

export class Grid {
  readonly canvas = h("canvas", { class: "irw-l-grid", role: "img", tabindex: 0 });
  private linear: Linear | null = null;
  private cell = 8;
  private rows = 1;
  private columns = 1;
  private colour = "";
  private chosen: readonly number[] = [];

  constructor(private readonly choose: (element: readonly number[]) => void) {
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("click", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  draw(linear: Linear, colour: string, chosen: readonly number[], label: string): void {
    [this.linear, this.colour, this.chosen] = [linear, colour, chosen];
    const { shape } = linear.layout;
    this.columns = Math.min(MOST, shape.at(-1) ?? 1);
    this.rows = Math.min(MOST, shape.at(-2) ?? 1);
    this.cell = Math.max(3, Math.min(28, Math.floor(ROOM / Math.max(this.rows, this.columns))));
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [this.columns * this.cell, this.rows * this.cell];
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.setAttribute("aria-label", label);
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    const mine = linear.at(chosen)[0];
    const dark = this.canvas.closest<HTMLElement>(".irw")?.dataset["theme"] === "dark";
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) this.paint(context, row, column, mine, dark);
    }
  }

  /** Whether the tensor has more than is drawn. */
  get cut(): boolean {
    const shape = this.linear?.layout.shape ?? [];
    return (shape.at(-1) ?? 1) > this.columns || (shape.at(-2) ?? 1) > this.rows;
  }

  private paint(
    context: CanvasRenderingContext2D,
    row: number,
    column: number,
    mine: ElementPlace | undefined,
    dark: boolean,
  ): void {
    const linear = this.linear!;
    const places = linear.at(this.element(row, column));
    const value = places[0]?.[this.colour] ?? 0;
    const together = mine && places.some((place) => same(linear, place, mine));
    const [x, y, size] = [column * this.cell, row * this.cell, this.cell];
    context.fillStyle = fill(value, dark);
    context.fillRect(x, y, size, size);
    if (together) {
      context.fillStyle = dark ? "#fff" : "#000";
      const edge = Math.max(1, Math.floor(size / 8));
      context.fillRect(x, y, size, edge);
      context.fillRect(x, y + size - edge, size, edge);
      context.fillRect(x, y, edge, size);
      context.fillRect(x + size - edge, y, edge, size);
    }
    if (size >= 18) {
      context.fillStyle = dark ? "#f2f2f2" : "#14171b";
      context.font = `${Math.floor(size / 2.4)}px ui-monospace, monospace`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(String(value), x + size / 2, y + size / 2, size - 2);
    }
  }

  /** The element in a cell; of more than two axes, in the matrix of the chosen element. */
  private element(row: number, column: number): number[] {
    const shape = this.linear!.layout.shape;
    if (shape.length === 0) return [];
    if (shape.length === 1) return [column];
    const outer = shape.slice(0, -2).map((_, axis) => this.chosen[axis] ?? 0);
    return [...outer, row, column];
  }

  private point(event: MouseEvent): void {
    if (!this.linear) return;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / this.cell);
    const row = Math.floor((event.clientY - box.top) / this.cell);
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return;
    this.choose(this.element(row, column));
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step || !this.linear) return;
    event.preventDefault();
    const within = (value: number, size: number): number => Math.max(0, Math.min(size - 1, value));
    this.choose(
      this.element(
        within((this.chosen.length > 1 ? this.chosen.at(-2)! : 0) + step[0]!, this.rows),
        within((this.chosen.at(-1) ?? 0) + step[1]!, this.columns),
      ),
    );
  }
}

/** Whether two places are of one thread, or of one bank. */
function same(linear: Linear, a: ElementPlace, b: ElementPlace): boolean {
  const keys =
    linear.layout.memory === "shared"
      ? linear.colours.slice(0, 1)
      : linear.layout.memory
        ? ["row"]
        : ["thread", "block"];
  return keys.every((key) => a[key] === b[key]);
}

/** Neighbours differ in hue; what is the same has one colour. */
function fill(value: number, dark: boolean): string {
  const hue = (value * 137.508) % 360;
  return `hsl(${hue} ${dark ? "45% 28%" : "60% 82%"})`;
}
