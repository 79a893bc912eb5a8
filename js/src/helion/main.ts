/** A Helion kernel: its source, its Device IR nodes and their MLIR; what belongs together lights up together. */

import { h, OWN_KEYS } from "../dom";
import { readJson } from "../gzip";
import { type Model, Watch } from "../model";
import { mounted, type View } from "../mount";
import { Column, type ColumnRow } from "./column";
import { absent, describe, linesOf } from "./data";
import type { LinkedKernel, LinkedProgram, LinkedStage } from "../schema";
import { inPlace } from "./inplace";
import style from "./style.css?inline";
import { type Tie, Ties } from "./ties";

const KEYS = ["stage", "program", "pinned", "hide_symbols", "form"] as const;
/** Nodes of a kernel beyond which they are joined only when somebody points at them. */
const MOST_JOINED = 400;
const NONE: ReadonlySet<number> = new Set();

class KernelLinks implements View {
  readonly element: HTMLElement;
  private kernel!: LinkedKernel;
  private readonly columns: readonly [Column, Column, Column, Column];
  /** The columns that there are: the last one only where there is Triton. */
  private shownColumns: readonly Column[] = [];
  private readonly body = h("div", { class: "irw-k-body" });
  private readonly ties = new Ties(this.body, () => this.gaps());
  private readonly status = h("div", { class: "irw-status", role: "status" });
  private readonly name = h("b", {});
  private readonly stages: HTMLSelectElement;
  private readonly programs: HTMLSelectElement;
  private readonly programLabel = h("span", { class: "irw-dim", "aria-hidden": "true" }, "Triton");
  private readonly symbols: HTMLButtonElement;
  private readonly forms: readonly (readonly [string, HTMLButtonElement])[];
  private readonly unfold: HTMLButtonElement;
  private readonly state: Watch<(typeof KEYS)[number]>;
  private hovered: ReadonlySet<number> | null = null;
  private lit = NONE;
  private current: ReadonlySet<number> = NONE;
  private numbers = new Map<string, number>();

  constructor(private readonly model: Model) {
    this.state = new Watch(model, KEYS, (keys) => this.changed(keys));
    const watcher = {
      hovered: (nodes: readonly number[] | null) => {
        this.hovered = nodes && new Set(nodes);
        this.light();
      },
      moved: (column: Column, nodes: readonly number[]) => {
        this.current = new Set(nodes);
        this.light();
        for (const other of this.shownColumns) if (other !== column) other.reveal(this.current);
      },
      chosen: (nodes: readonly number[]) => this.pin(nodes),
      leave: (column: Column, step: 1 | -1) => {
        const next = this.shownColumns[this.shownColumns.indexOf(column) + step];
        if (!next) return;
        next.reveal(this.current.size > 0 ? this.current : this.pinned);
        next.focus();
      },
      cleared: () => {
        this.current = NONE;
        this.state.set({ pinned: [] });
        this.light();
      },
    };
    this.columns = [
      new Column("Helion source", watcher),
      new Column("Device IR", watcher),
      new Column("MLIR", watcher),
      new Column("Triton", watcher),
    ];
    this.stages = h("select", {
      ...OWN_KEYS,
      "aria-label": "Stage",
      change: () => this.state.set({ stage: Number(this.stages.value) }),
    });
    this.programs = h("select", {
      ...OWN_KEYS,
      "aria-label": "Triton IR",
      change: () => this.state.set({ program: Number(this.programs.value) }),
    });
    this.symbols = h(
      "button",
      { type: "button", click: () => this.state.set({ hide_symbols: !this.get("hide_symbols") }) },
      "Hide symbol nodes",
    );
    const form = (value: string, label: string) =>
      [value, h("button", { type: "button", click: () => this.state.set({ form: value }) }, label)] as const;
    this.forms = [form("columns", "Columns"), form("in place", "In place")];
    this.unfold = h("button", { type: "button", click: () => this.unfoldAll() }, "Unfold all");
    const group = h(
      "span",
      { role: "group", "aria-label": "Form", class: "irw-k-forms" },
      ...this.forms.map(([, button]) => button),
    );
    this.element = h(
      "div",
      { class: "irw irw-k", role: "region", "aria-label": "Kernel, nodes and MLIR" },
      h(
        "div",
        { class: "irw-bar" },
        this.name,
        h("span", { class: "irw-space" }),
        this.unfold,
        this.symbols,
        group,
        h("span", { class: "irw-dim", "aria-hidden": "true" }, "stage"),
        this.stages,
        this.programLabel,
        this.programs,
      ),
      this.body,
      this.status,
    );
  }

  async start(): Promise<void> {
    const kept = await readJson<LinkedKernel>(this.model.get("data") as DataView<ArrayBuffer>);
    this.kernel = { ...kept, programs: kept.programs ?? [] }; // a notebook may keep a view from before there were any
    this.numbers = new Map(this.kernel.nodes.map(({ name }, i) => [name, i]));
    this.name.textContent = this.kernel.name;
    this.stages.replaceChildren(
      ...this.kernel.stages.map(({ index, name }) => h("option", { value: index }, `${index} ${name}`)),
    );
    const { programs } = this.kernel;
    this.programs.replaceChildren(...programs.map(({ name }, i) => h("option", { value: i }, name)));
    this.programs.hidden = this.programLabel.hidden = programs.length === 0;
    this.shownColumns = programs.length > 0 ? this.columns : this.columns.slice(0, 3);
    this.draw();
    this.element.dataset["ready"] = "true";
  }

  // State

  private get(key: (typeof KEYS)[number]): unknown {
    return this.model.get(key);
  }

  private get pinned(): ReadonlySet<number> {
    return new Set((this.get("pinned") as string[]).flatMap((name) => this.numbers.get(name) ?? []));
  }

  private get stage(): LinkedStage {
    const { stages } = this.kernel;
    return stages.find(({ index }) => index === this.get("stage")) ?? stages[stages.length - 1]!;
  }

  private get program(): LinkedProgram | undefined {
    const { programs } = this.kernel;
    return programs[this.get("program") as number] ?? programs[0];
  }

  private hidden(node: number): boolean {
    return Boolean(this.get("hide_symbols")) && this.kernel.nodes[node]!.symbolic;
  }

  /** Pin a group; pinning what is pinned lets go of it. */
  private pin(nodes: readonly number[]): void {
    if (nodes.length === 0) return;
    const { pinned } = this;
    const same = pinned.size === nodes.length && nodes.every((node) => pinned.has(node));
    this.state.set({ pinned: same ? [] : nodes.map((node) => this.kernel.nodes[node]!.name) });
  }

  private changed(keys: ReadonlySet<(typeof KEYS)[number]>): void {
    if (!this.kernel) return;
    if (keys.size > 1 || !keys.has("pinned")) return this.draw();
    this.light();
    if (this.pinned.size > 0) for (const column of this.shownColumns) column.reveal(this.pinned);
  }

  // Drawing

  private draw(): void {
    const form = this.get("form");
    this.stages.value = String(this.stage.index);
    this.symbols.setAttribute("aria-pressed", String(Boolean(this.get("hide_symbols"))));
    for (const [value, button] of this.forms) button.setAttribute("aria-pressed", String(form === value));
    this.unfold.hidden = form === "columns";
    if (form === "columns") {
      if (!this.columns[0].element.isConnected)
        this.body.replaceChildren(...this.shownColumns.map(({ element }) => element), this.ties.element);
      this.drawColumns();
    } else {
      const { pinned } = this;
      this.body.replaceChildren(
        inPlace(
          this.kernel,
          this.stage,
          (node) => this.hidden(node),
          (node) => pinned.has(node),
        ),
      );
    }
    this.light();
  }

  private drawColumns(): void {
    const { kernel, stage, program } = this;
    const [source, nodes, mlir, triton] = this.columns;
    source.show(sourceRows(kernel), "python");
    nodes.show(
      nodeRows(kernel, (node) => this.hidden(node)),
      "python",
    );
    const code = stage.lines.map((id, i): ColumnRow => {
      const owner = stage.owners[i]!;
      return {
        text: kernel.table[id]!,
        number: String(i + 1),
        indent: 0,
        nodes: owner < 0 ? [] : [owner],
        title: kernel.nodes[owner]?.name,
      };
    });
    mlir.show(code, stage.language);
    if (program) {
      this.programs.value = String(kernel.programs.indexOf(program));
      triton.show(programRows(kernel, program), program.language);
    }
    if (this.pinned.size > 0) for (const column of this.shownColumns) column.reveal(this.pinned);
  }

  private light(): void {
    const { kernel, stage, pinned } = this;
    const group = this.hovered ?? (this.current.size > 0 ? this.current : pinned);
    for (const column of this.shownColumns) column.light(group, pinned);
    this.lit = group;
    this.ties.later();
    const shown = group.size > 0 ? group : pinned;
    const lost = shown.size > 0 && linesOf(stage, shown).length === 0;
    this.columns[0].title("", "");
    this.columns[1].title("", "");
    this.columns[2].title(`${stage.index} ${stage.name}`, lost ? absent(kernel, stage, shown) : "");
    this.columns[3].title(this.program?.name ?? "", "");
    this.status.textContent =
      this.get("form") === "columns"
        ? describe(kernel, stage, shown) || "↑ ↓ move, Enter pins, → ← next column, Esc clears"
        : `${kernel.name}: each line with its MLIR of ${stage.index} ${stage.name}`;
  }

  /** From the lines of the source to their nodes, and from each node to its MLIR. */
  private gaps() {
    const [source, nodes, mlir, triton] = this.columns;
    const { pinned, kernel } = this;
    const chosen = [...new Set([...pinned, ...this.lit])];
    // Until somebody points at something, all that is in sight is joined, faintly.
    const every = chosen.length === 0 && kernel.nodes.length <= MOST_JOINED;
    const shown = every ? [...kernel.nodes.keys()].filter((node) => !this.hidden(node)) : chosen;
    const between = (from: Column, to: Column, group: readonly number[]): Tie[] => {
      const ends = to.bands(group);
      const kind = every ? "faint" : group.some((node) => this.lit.has(node)) ? "lit" : "kept";
      return from.bands(group).flatMap((left) => ends.map((right) => ({ left, right, kind })));
    };
    const byRow = new Map<number, number[]>();
    for (const node of shown) byRow.set(kernel.nodes[node]!.row, [...(byRow.get(kernel.nodes[node]!.row) ?? []), node]);
    return [
      {
        left: source.element,
        right: nodes.element,
        ties: [...byRow.values()].flatMap((group) => between(source, nodes, group)),
      },
      { left: nodes.element, right: mlir.element, ties: shown.flatMap((node) => between(nodes, mlir, [node])) },
      ...(this.program
        ? [
            {
              left: mlir.element,
              right: triton.element,
              ties: [...byRow.values()].flatMap((group) => between(mlir, triton, group)),
            },
          ]
        : []),
    ];
  }

  private unfoldAll(): void {
    const all = [...this.body.querySelectorAll("details")];
    const open = all.some((one) => !one.open);
    for (const one of all) one.open = open;
  }

  close(): void {
    this.ties.close();
    this.state.close();
  }
}

function sourceRows(kernel: LinkedKernel): ColumnRow[] {
  const rows: ColumnRow[] = [];
  let [file, before] = [kernel.source[0]?.[0], (kernel.source[0]?.[1] ?? 1) - 1];
  for (const [row, [from, line, text]] of kernel.source.entries()) {
    if (from !== file || line !== before + 1)
      rows.push({ text: from === file ? "…" : shortName(from), number: "", indent: 0, nodes: [], quiet: true });
    [file, before] = [from, line];
    const nodes = kernel.nodes.flatMap((node, i) => (node.row === row ? [i] : []));
    rows.push({ text, number: String(line), indent: 0, nodes });
  }
  return rows;
}

function programRows(kernel: LinkedKernel, program: LinkedProgram): ColumnRow[] {
  const nodes = new Map<number, number[]>();
  for (const [i, { row }] of kernel.nodes.entries()) nodes.set(row, [...(nodes.get(row) ?? []), i]);
  return program.lines.map((id, i) => {
    const row = program.rows[i]!;
    return { text: kernel.table[id]!, number: String(i + 1), indent: 0, nodes: row < 0 ? [] : (nodes.get(row) ?? []) };
  });
}

function nodeRows(kernel: LinkedKernel, hidden: (node: number) => boolean): ColumnRow[] {
  const rows: ColumnRow[] = [];
  let before = "";
  let depth = 0;
  for (const [i, node] of kernel.nodes.entries()) {
    const graph = node.name.includes(".") ? node.name.slice(0, node.name.indexOf(".")) : "";
    if (graph && graph !== before && node.depth > depth && node.depth > 2)
      rows.push({ text: graph, number: "", indent: node.depth - 1, nodes: [], quiet: true });
    if (graph) [before, depth] = [graph, node.depth];
    if (!hidden(i)) rows.push({ text: node.text, number: "", indent: node.depth, nodes: [i], title: node.name });
  }
  return rows;
}

function shortName(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}

export const render = mounted(style, "this kernel", ({ model }) => new KernelLinks(model));
