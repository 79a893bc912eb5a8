/** Beside the panes: the operations of the dump on the right as a tree, what the pass did to them, and their graph. */

import type { Analysis } from "../analysis";
import { dialect } from "../analysis";
import { comparable } from "../dumps";
import { freshId, h, OWN_KEYS, plural } from "../dom";
import { hueOf } from "../hues";
import { changes, type ChangeKind, type Compared, type OpChange } from "./changes";
import { Drawing } from "./drawing";
import { type Op, outline, within } from "./outline";
import { region } from "./region";

export interface PanelHooks {
  readonly reveal: (side: "left" | "right", line: number) => void;
  readonly open: (dialog: HTMLDialogElement) => void;
}

/** Rows of the tree below one operation, or of changes, that are drawn at once. */
const AT_ONCE = 300;
/** Operations that stand open at first: so many that they fill a panel. */
const OPEN = 40;

const SIGNS: Readonly<Record<ChangeKind, string>> = { added: "+", removed: "−", changed: "~", moved: "↕" };

export class OpsPanel {
  readonly element: HTMLElement;
  private readonly said = h("p", { class: "irw-ops-said", role: "status" });
  private readonly tabs: Readonly<Record<"tree" | "changes", HTMLButtonElement>>;
  private readonly body = h("div", { class: "irw-ops-body" });
  private tab: "tree" | "changes" = "changes";
  private analysis!: Analysis;
  private compared: Compared | null = null;
  private ops: readonly Op[] = [];
  private found: readonly OpChange[] = [];
  /** Lines on the right on which an operation is new or another. */
  private touched: ReadonlySet<number> = new Set();
  private readonly open = new Set<number>();
  private chosen = -1;
  private readonly id = freshId("op");

  constructor(private readonly hooks: PanelHooks) {
    const tab = (name: "tree" | "changes", text: string): HTMLButtonElement =>
      h("button", { type: "button", "aria-pressed": "false", ...OWN_KEYS, click: () => this.turn(name) }, text);
    this.tabs = { changes: tab("changes", "Changes"), tree: tab("tree", "Tree") };
    const graph = h(
      "button",
      {
        type: "button",
        title: "What is inside of the operation chosen in the tree, as a graph",
        ...OWN_KEYS,
        click: () => this.graph(),
      },
      "Graph",
    );
    this.element = h(
      "aside",
      { class: "irw-ops", "aria-label": "Operations" },
      h("div", { class: "irw-ops-top" }, this.tabs.changes, this.tabs.tree, graph),
      this.said,
      this.body,
    );
  }

  /** Show what two stages have; null: nothing is known of one of them. */
  show(analysis: Analysis, compared: Compared | null, sentence: string): void {
    this.analysis = analysis;
    this.compared = compared;
    this.open.clear();
    this.chosen = -1;
    const right = compared?.right;
    this.ops = right?.ready && right.syntax ? outline(analysis, right, compared!.parts[1]) : [];
    const alike = compared && comparable(compared.left, compared.right) && compared.left.syntax === right!.syntax;
    this.found = alike && compared.left !== compared.right ? changes(analysis, compared) : [];
    this.touched = new Set(this.found.filter(({ kind }) => kind !== "moved").map(({ after }) => after));
    this.said.textContent = sentence;
    this.unfold();
    this.draw();
  }

  /** Open what fits: functions first, then what is in them. */
  private unfold(): void {
    let level = within(this.ops, -1);
    let shown = level.length;
    while (level.length > 0) {
      const below = level.map((number) => within(this.ops, number));
      shown += below.flat().length;
      if (shown > OPEN && this.open.size > 0) return;
      for (const number of level) this.open.add(number);
      if (shown > OPEN) return;
      level = below.flat();
    }
  }

  private turn(tab: "tree" | "changes"): void {
    this.tab = tab;
    this.draw();
  }

  private draw(): void {
    for (const [name, button] of Object.entries(this.tabs))
      button.setAttribute("aria-pressed", String(name === this.tab));
    this.body.replaceChildren(this.tab === "tree" ? this.tree() : this.list());
  }

  private none(): string {
    const { compared } = this;
    if (!compared?.right.ready) return "The text is not here";
    if (!compared.right.syntax) return `No operations are known of ${compared.right.language}`;
    return "";
  }

  // Changes

  private list(): HTMLElement {
    const none = this.none() || this.uncompared();
    if (none) return h("p", { class: "irw-dim" }, none);
    const counts = (Object.keys(SIGNS) as ChangeKind[])
      .map((kind) => [kind, this.found.filter((one) => one.kind === kind).length] as const)
      .filter(([, count]) => count > 0);
    if (counts.length === 0) return h("p", { class: "irw-dim" }, "No operation differs, renumbering apart");
    const rows = this.found.slice(0, AT_ONCE).map((one) => this.change(one));
    const more = this.found.length - rows.length;
    return h(
      "div",
      {},
      h("p", {}, counts.map(([kind, count]) => `${count} ${kind}`).join(", ")),
      h("ul", { class: "irw-ops-changes" }, ...rows),
      ...(more > 0 ? [h("p", { class: "irw-dim" }, `and ${plural(more, "other")}`)] : []),
    );
  }

  private uncompared(): string {
    const { left, right } = this.compared!;
    if (left === right) return "Nothing to compare with";
    if (!left.ready) return "The text on the left is not here";
    return left.syntax === right.syntax ? "" : "Another language: operations are not compared";
  }

  private change({ kind, op, before, after, what }: OpChange): HTMLElement {
    const side = after >= 0 ? "right" : "left";
    const line = after >= 0 ? after : before;
    const click = (): void => this.hooks.reveal(side, line);
    return h(
      "li",
      { class: `irw-node-${kind}` },
      h(
        "button",
        { type: "button", title: `${kind}, line ${line + 1} on the ${side}`, ...OWN_KEYS, click },
        h("span", { "aria-label": kind }, SIGNS[kind]),
        ` ${op} `,
        h("span", { class: "irw-dim" }, `:${line + 1}`),
      ),
      ...what.map((one) => h("div", { class: "irw-dim" }, one)),
    );
  }

  // Tree

  private tree(): HTMLElement {
    const none = this.none();
    if (none || this.ops.length === 0) return h("p", { class: "irw-dim" }, none || "No operations");
    if (this.chosen < 0) this.chosen = 0;
    const tree = h("div", {
      class: "irw-tree",
      role: "tree",
      tabindex: 0,
      "aria-label": "Operations on the right",
      "aria-activedescendant": `${this.id}-${this.chosen}`,
      ...OWN_KEYS,
      keydown: (event: KeyboardEvent) => this.key(event),
      click: (event: MouseEvent) => this.clicked(event),
    });
    tree.append(...this.rows(-1));
    return tree;
  }

  private *rows(parent: number): Generator<HTMLElement> {
    const inside = within(this.ops, parent);
    for (const number of inside.slice(0, AT_ONCE)) {
      yield this.row(number);
      if (this.open.has(number)) yield* this.rows(number);
    }
    if (inside.length > AT_ONCE)
      yield h("div", { class: "irw-dim" }, `and ${plural(inside.length - AT_ONCE, "other")}`);
  }

  private row(number: number): HTMLElement {
    const op = this.ops[number]!;
    const inside = op.end - number - 1;
    const touched = this.touched.has(op.line);
    const row = h(
      "div",
      {
        class: `irw-node ${touched ? "irw-node-touched" : ""}`,
        id: `${this.id}-${number}`,
        role: "treeitem",
        "data-op": number,
        "aria-level": op.depth + 1,
        "aria-expanded": inside > 0 ? String(this.open.has(number)) : undefined,
        "aria-selected": String(number === this.chosen),
      },
      h(
        "span",
        { class: "irw-node-sign", "aria-hidden": "true" },
        inside > 0 ? (this.open.has(number) ? "▾" : "▸") : "",
      ),
      h("i", { class: `irw-hue${hueOf(dialect(op.name))}`, "aria-hidden": "true" }),
      label(op),
      h("span", { class: "irw-dim" }, `${inside > 0 ? ` ${inside}` : ""}${touched ? " ±" : ""}`),
    );
    row.style.paddingLeft = `${op.depth * 12 + 4}px`;
    return row;
  }

  private clicked(event: MouseEvent): void {
    const row = (event.target as Element).closest<HTMLElement>("[data-op]");
    if (!row) return;
    this.chosen = Number(row.dataset["op"]);
    if ((event.target as Element).closest(".irw-node-sign")) this.toggle(this.chosen);
    this.hooks.reveal("right", this.ops[this.chosen]!.line);
    this.redrawTree();
  }

  private toggle(number: number): void {
    if (!this.open.delete(number)) this.open.add(number);
  }

  private redrawTree(): void {
    const { scrollTop } = this.body;
    this.draw();
    this.body.scrollTop = scrollTop;
    this.body.querySelector<HTMLElement>("[role=tree]")?.focus();
    this.body.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }

  private key(event: KeyboardEvent): void {
    const op = this.ops[this.chosen];
    if (!op || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = [...this.body.querySelectorAll<HTMLElement>("[data-op]")].map((row) => Number(row.dataset["op"]));
    const at = rows.indexOf(this.chosen);
    const go = (number: number | undefined): void => void (this.chosen = number ?? this.chosen);
    const holds = op.end > this.chosen + 1;
    const actions: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(rows[at + 1]),
      ArrowUp: () => go(rows[at - 1]),
      Home: () => go(rows[0]),
      End: () => go(rows.at(-1)),
      ArrowRight: () =>
        holds && !this.open.has(this.chosen) ? this.toggle(this.chosen) : go(holds ? rows[at + 1] : undefined),
      ArrowLeft: () =>
        holds && this.open.has(this.chosen) ? this.toggle(this.chosen) : go(op.parent >= 0 ? op.parent : undefined),
      Enter: () => this.hooks.reveal("right", op.line),
      g: () => this.graph(),
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "g") this.redrawTree();
  }

  // Graph

  private graph(): void {
    if (this.ops.length === 0) return;
    const dialog = h("dialog", { class: "irw-graph", "aria-label": "Graph of operations", ...OWN_KEYS });
    let parent = this.ops[this.chosen] && this.ops[this.chosen]!.end > this.chosen + 1 ? this.chosen : this.main();
    let nodes: readonly number[] = [];
    const show = (): void => {
      const { right } = this.compared!;
      const shown = region(this.analysis, right, this.ops, parent);
      nodes = shown.nodes;
      const op = (node: number): Op => this.ops[nodes[node]!]!;
      drawing.show({
        title: parent < 0 ? right.label : path(this.ops, parent),
        region: shown,
        label: (node) => label(op(node)),
        name: (node) => op(node).name,
        inside: (node) => op(node).end - nodes[node]! - 1,
        changed: (node) => this.ops.slice(nodes[node]!, op(node).end).some(({ line }) => this.touched.has(line)),
      });
    };
    const drawing = new Drawing({
      enter: (node) => {
        const number = nodes[node];
        if (number === undefined || this.ops[number]!.end === number + 1) return;
        parent = number;
        show();
      },
      out: () => {
        if (parent < 0) return;
        parent = this.ops[parent]!.parent;
        show();
      },
      choose: (node) => this.hooks.reveal("right", this.ops[nodes[node]!]!.line),
    });
    drawing.bar.append(
      h("button", { type: "button", class: "irw-close", ...OWN_KEYS, click: () => dialog.close() }, "Close"),
    );
    dialog.append(drawing.element);
    this.hooks.open(dialog);
    show();
    drawing.canvas.focus();
  }

  /** What is worth drawing where nothing was chosen: the outermost operation that holds more than one. */
  private main(): number {
    let parent = -1;
    for (let inside = within(this.ops, parent); inside.length === 1; inside = within(this.ops, parent))
      parent = inside[0]!;
    return parent;
  }
}

function label({ name, symbol }: Op): string {
  return symbol ? `${name} @${symbol}` : name;
}

function path(ops: readonly Op[], number: number): string {
  const names: string[] = [];
  for (let i = number; i >= 0; i = ops[i]!.parent) names.unshift(label(ops[i]!));
  return names.join(" › ");
}
