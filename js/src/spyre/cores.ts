/** The cores as a grid, the splits, and what the selected core touches. */

import { h, OWN_KEYS, plural, thousands } from "../dom";
import { at, bytes, type Colour, hex, iterationOf, span, tileOf } from "./data";
import type { SpyreOp, SpyreProgram } from "../schema";

const COLUMNS = 8;

/** A colour's depth as a style. */
export function depth(colour: Colour): string {
  return `--depth:${Math.round(14 + 52 * colour.depth)}%`;
}

/** Four rows of eight; arrow keys move. */
export class Cores {
  readonly element = h("div", { role: "grid", "aria-label": "Cores", class: "irw-s-cores" });
  private cells: HTMLElement[] = [];
  private readonly columns = COLUMNS;
  /** What the cells were drawn for: the ops of a model are often divided alike. */
  private drawn = "";

  constructor(private readonly chosen: (core: number) => void) {
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  draw(program: SpyreProgram, op: SpyreOp, colours: readonly Colour[]): void {
    const live = program.lx.blocks.filter(({ first, last }) => first <= op.step && op.step <= last);
    const used =
      live.reduce((most, { address, bytes: size }) => Math.max(most, address + size), 0) / program.lx.capacity;
    const drawn = JSON.stringify([program.cores, used, op.cores, op.dims.map(({ label, split }) => [label, split])]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.cells = [];
    const rows: HTMLElement[] = [];
    for (let first = 0; first < program.cores; first += this.columns) {
      const row = h("div", { role: "row", class: "irw-s-row" });
      for (let core = first; core < Math.min(first + this.columns, program.cores); core++)
        row.append(this.cell(program, op, colours[core], core, used));
      rows.push(row);
    }
    this.element.replaceChildren(...rows);
  }

  private cell(
    program: SpyreProgram,
    op: SpyreOp,
    colour: Colour | undefined,
    core: number,
    used: number,
  ): HTMLElement {
    const idle = core >= op.cores;
    const split = op.dims
      .map((dim, i) => ({ dim, slice: op.slices[core]?.[i] ?? 0 }))
      .filter(({ dim }) => dim.split > 1);
    const slice = split.map(({ slice }) => slice).join(",");
    const said = idle ? "idle" : split.map(({ dim, slice }) => `${dim.label} ${slice}`).join(", ") || "all";
    const bar = h("span", { class: "irw-s-lxbar", "aria-hidden": "true" }, h("span", {}));
    (bar.firstChild as HTMLElement).style.width = `${Math.min(100, 100 * (idle ? 0 : used))}%`;
    const cell = h(
      "div",
      {
        role: "gridcell",
        ...(idle || !colour ? {} : { "data-hue": colour.hue, style: depth(colour) }),
        class: idle ? "irw-s-core irw-s-idle" : "irw-s-core",
        tabindex: -1,
        ...OWN_KEYS,
        "data-core": core,
        "data-key": `core ${core}`,
        click: () => this.chosen(core),
      },
      h(
        "span",
        { class: "irw-said-only" },
        `core ${core}: ${said}; LX ${Math.round(100 * (idle ? 0 : used))} % of ${bytes(program.lx.capacity)}`,
      ),
      h("b", { "aria-hidden": "true" }, String(core)),
      h("span", { "aria-hidden": "true" }, idle ? "idle" : slice),
      bar,
    );
    this.cells.push(cell);
    return cell;
  }

  select(core: number, also: ReadonlySet<number>): void {
    for (const [i, cell] of this.cells.entries()) {
      cell.tabIndex = i === core ? 0 : -1;
      cell.setAttribute("aria-selected", String(i === core));
      cell.classList.toggle("irw-s-also", also.has(i) && i !== core);
    }
  }

  focus(core: number): void {
    this.cells[core]?.focus();
  }

  private key(event: KeyboardEvent): void {
    const now = this.cells.findIndex((cell) => cell.tabIndex === 0);
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -this.columns,
      ArrowDown: this.columns,
      Home: -now,
      End: this.cells.length - 1 - now,
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = now + step;
    if (next < 0 || next >= this.cells.length) return;
    this.chosen(next);
    this.focus(next);
  }
}

export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly (string | Node)[])[],
  name = "",
): HTMLTableElement {
  return h(
    "table",
    { "aria-label": caption, class: `irw-s-table ${name}` },
    h("thead", {}, h("tr", {}, ...head.map((cell) => (cell ? h("th", { scope: "col" }, cell) : h("td", {}))))),
    h(
      "tbody",
      {},
      ...rows.map(([first, ...rest]) =>
        h("tr", {}, h("th", { scope: "row" }, first ?? ""), ...rest.map((cell) => h("td", {}, cell))),
      ),
    ),
  );
}

export function splits(op: SpyreOp): HTMLElement {
  if (op.dims.length === 0)
    return h("p", { class: "irw-dim" }, op.kernel < 0 ? "Runs on the host." : "Nothing is divided.");
  return table(
    "Splits",
    ["dim", "size", "tile", "over", "loop"],
    op.dims.map((dim) => [
      [dim.label, dim.variable && `(${dim.name || dim.variable})`, dim.reduced ? "Σ" : ""].filter(Boolean).join(" "),
      dim.padded === dim.size ? thousands(dim.size) : `${thousands(dim.size)} (${dim.padded} padded)`,
      thousands(dim.tile),
      dim.split > 1 ? plural(dim.split, "core") : "–",
      dim.loop > 1 ? `${dim.loop} ×` : "–",
    ]),
  );
}

/** Rows, columns, bytes and address of each tensor, for one core and iteration. */
export function corePanel(op: SpyreOp, core: number, iteration: number): HTMLElement {
  const slices = op.slices[core];
  if (!slices)
    return h(
      "p",
      { class: "irw-dim" },
      op.kernel < 0 ? "The host does it." : `Core ${core} is idle: ${op.division?.idle || "the op uses fewer cores"}`,
    );
  const rows = op.tensors.map((tensor) => {
    const tile = tileOf(tensor, core);
    if (!tile) return [tensor.name, tensor.role, "padding only", "", "", "", ""];
    const { box, address } = at(tensor, tile, iterationOf(op, iteration));
    const [leading, rows, columns] = [box.slice(0, -2), box.at(-2), box.at(-1)];
    return [
      tensor.name,
      tensor.role,
      leading.map(span).join(", ") || "–",
      rows ? span(rows) : "–",
      columns ? span(columns) : "–",
      tensor.place === "hbm" ? hex(address) : `${tensor.place} ${hex(address)}`,
      bytes(tile.bytes),
      tile.cores.length > 1 ? `×${tile.cores.length}` : "",
    ];
  });
  const head = ["tensor", "", "outer", "rows", "columns", "address", "bytes", "cores"];
  const used = [
    0,
    1,
    ...(rows.some((row) => row[2] !== "–") ? [2] : []),
    3,
    4,
    5,
    6,
    ...(rows.some((row) => row[7]) ? [7] : []),
  ];
  return table(
    "Tiles of this core",
    used.map((i) => head[i]!),
    rows.map((row) => used.map((i) => row[i] ?? "")),
    "irw-s-coretable",
  );
}
