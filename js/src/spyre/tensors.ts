/** Tensors as maps of tiles: host rows and columns, leading dims as planes below each other. */

import { freshId, h, OWN_KEYS, plural } from "../dom";
import { depth } from "./cores";
import { at, bytes, type Colour, iterationOf, span, tileColour, tileOf } from "./data";
import type { SpyreBuffer, SpyreOp, SpyreProgram, SpyreTensor, SpyreTile } from "../schema";

const PLANES = 8;
const GAP = 3;

interface Plane {
  index: number[];
  rows: number;
  columns: number;
}

export class TensorMap {
  readonly element: HTMLElement;
  private readonly list: HTMLElement;
  private readonly options: { tile: SpyreTile; parts: HTMLElement[]; id: string }[] = [];

  constructor(
    program: SpyreProgram,
    private readonly op: SpyreOp,
    readonly tensor: SpyreTensor,
    colours: readonly Colour[],
    iteration: number,
    core: number,
    private readonly chosen: (core: number, tensor: string) => void,
    private readonly room: number,
  ) {
    const buffer = program.buffers[tensor.name]!;
    this.list = h("div", {
      role: "listbox",
      tabindex: 0,
      ...OWN_KEYS,
      class: "irw-s-map",
      "data-key": `map ${tensor.name}`,
      "aria-label": `Tiles of ${tensor.name}`,
    });
    this.list.addEventListener("keydown", (event) => this.key(event));
    const title = h("div", { class: "irw-s-maptitle", click: () => this.chosen(-1, tensor.name) });
    this.element = h("div", { class: "irw-s-tensor", "data-tensor": tensor.name }, title, this.list);
    title.append(...this.title(buffer));
    this.draw(buffer, colours, iteration, core);
  }

  private title(buffer: SpyreBuffer): (Node | string)[] {
    const { tensor } = this;
    const label = buffer.parameter || tensor.name;
    const shared = Math.max(...tensor.tiles.map(({ cores }) => cores.length));
    const what = tensor.role === "out" ? "written" : tensor.role === "index" ? "index" : "read";
    const tiles = tensor.tiles.length === 1 ? "whole" : plural(tensor.tiles.length, "tile");
    return [
      h("b", {}, label),
      ` ${buffer.size.join("×") || "scalar"} ${buffer.dtype} · ${bytes(buffer.bytes)} · `,
      h("span", { class: `irw-s-place irw-s-at-${tensor.place}` }, tensor.place === "hbm" ? "device" : tensor.place),
      ` · ${tiles}, ${what} by ${shared > 1 ? `${shared} cores each` : "one core each"}`,
    ];
  }

  private draw(buffer: SpyreBuffer, colours: readonly Colour[], iteration: number, core: number): void {
    const size = buffer.size.length === 0 ? [1] : buffer.size;
    const [rows, columns] = [size.at(-2) ?? 1, size.at(-1)!];
    const leading = size.slice(0, -2);
    const step = iterationOf(this.op, iteration);
    const count = leading.reduce((all, n) => all * n, 1);
    const own = tileOf(this.tensor, core) ?? this.tensor.tiles[0];
    const planes =
      count <= PLANES
        ? Array.from({ length: count }, (_, i): Plane => ({ index: unflatten(i, leading), rows, columns }))
        : own
          ? [
              {
                index: at(this.tensor, own, step)
                  .box.slice(0, -2)
                  .map(([low]) => low),
                rows,
                columns,
              },
            ]
          : [];
    const { width, height } = extent(rows, columns, planes.length, this.room);
    this.list.style.width = `${width}px`;
    this.list.style.height = `${(height + GAP) * planes.length - GAP}px`;
    let hidden = 0;
    for (const [i, tile] of this.tensor.tiles.entries()) {
      const { box } = at(this.tensor, tile, step);
      const full = box.length === 0 ? [[0, 0] as [number, number]] : box;
      const [r, c] = [full.length > 1 ? full.at(-2)! : ([0, 0] as [number, number]), full.at(-1)!];
      const parts: HTMLElement[] = [];
      for (const [p, plane] of planes.entries()) {
        if (!plane.index.every((n, dim) => full[dim]![0] <= n && n <= full[dim]![1])) continue;
        parts.push(
          this.part(
            tile,
            i,
            colours,
            {
              left: (c[0] / columns) * width,
              width: ((c[1] - c[0] + 1) / columns) * width,
              top: p * (height + GAP) + (r[0] / rows) * height,
              height: ((r[1] - r[0] + 1) / rows) * height,
            },
            full,
            parts.length > 0,
          ),
        );
      }
      if (parts.length === 0) hidden++;
      else {
        this.list.append(...parts);
        this.options.push({ tile, parts, id: parts[0]!.id });
      }
    }
    if (count > PLANES) {
      const note = `plane [${planes[0]?.index.join(", ")}] of ${leading.join("×")}${hidden ? `; ${plural(hidden, "tile")} in others` : ""}`;
      this.element.append(h("div", { class: "irw-dim" }, note));
    }
  }

  private part(
    tile: SpyreTile,
    number: number,
    colours: readonly Colour[],
    where: Record<string, number>,
    box: readonly [number, number][],
    again: boolean,
  ): HTMLElement {
    const shared = tile.cores.length > 1;
    const colour = tileColour(tile, colours);
    const label = shared ? `×${tile.cores.length}` : String(tile.cores[0]);
    const said = shared
      ? `${plural(tile.cores.length, "core")}: ${tile.cores.slice(0, 8).join(", ")}${tile.cores.length > 8 ? " …" : ""}`
      : `core ${tile.cores[0]}`;
    const element = h(
      "div",
      {
        ...(again
          ? { "aria-hidden": "true" }
          : { role: "option", "aria-selected": "false", "aria-label": `[${box.map(span).join(", ")}] ${said}` }),
        id: freshId("tile"),
        "data-hue": colour.hue,
        style: `${depth(colour)};${pixels(where)}`,
        class: shared ? "irw-s-tile irw-s-shared" : "irw-s-tile",
        "data-tile": number,
        title: `[${box.map(span).join(", ")}] ${said}`,
        click: () => this.pick(tile),
      },
      where["width"]! > 15 && where["height"]! > 11 ? label : "",
    );
    return element;
  }

  /** A tile's core; again, the next of those that share it. */
  private pick(tile: SpyreTile): void {
    const now = this.list.dataset["now"];
    const at = tile.cores.indexOf(Number(now));
    this.chosen(tile.cores[(at + 1) % tile.cores.length]!, this.tensor.name);
  }

  select(core: number, tensor: string): void {
    this.list.dataset["now"] = String(core);
    this.element.classList.toggle("irw-s-chosen", tensor === this.tensor.name);
    this.list.removeAttribute("aria-activedescendant");
    for (const { tile, parts, id } of this.options) {
      const mine = tile.cores.includes(core);
      for (const part of parts) part.classList.toggle("irw-s-mine", mine);
      parts[0]!.setAttribute("aria-selected", String(mine));
      if (mine) this.list.setAttribute("aria-activedescendant", id);
    }
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" || event.key === " ") {
      const own = this.options.find(({ tile }) => tile.cores.includes(Number(this.list.dataset["now"])));
      if (own) this.pick(own.tile);
    } else if (step) {
      const now = this.options.findIndex(({ tile }) => tile.cores.includes(Number(this.list.dataset["now"])));
      const next = this.options[now + step];
      if (next) this.chosen(next.tile.cores[0]!, this.tensor.name);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function pixels(where: Readonly<Record<string, number>>): string {
  return Object.entries(where)
    .map(([key, value]) => `${key}:${Math.max(value, key === "width" || key === "height" ? 1.5 : 0).toFixed(2)}px`)
    .join(";");
}

function unflatten(i: number, sizes: readonly number[]): number[] {
  const found: number[] = [];
  for (const n of [...sizes].reverse()) {
    found.unshift(i % n);
    i = Math.floor(i / n);
  }
  return found;
}

/** Pixels of a plane: its shape, with extremes drawn in so that both sides can be read. */
function extent(rows: number, columns: number, planes: number, room: number): { width: number; height: number } {
  const ratio = Math.min(4.5, Math.max(0.3, Math.sqrt(columns / rows) * (columns >= rows ? 1.6 : 1.3)));
  const tallest = Math.max(24, 150 / Math.min(planes, 4));
  const width = Math.min(room, Math.max(96, tallest * ratio));
  return {
    width: Math.round(width),
    height: Math.round(rows === 1 ? 24 : Math.max(18, Math.min(tallest, width / ratio))),
  };
}
