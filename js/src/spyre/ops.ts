/** The ops by kernel, in launch order or the slowest first: the selector of everything else. */

import { freshId, h, OWN_KEYS, plural } from "../dom";
import { splitsOf } from "./data";
import { layersOf, type Listed, listed } from "./listing";
import { microseconds } from "./time";
import type { SpyreOp, SpyreProgram } from "../schema";

const MARKS: Record<string, string> = {
  restickify: "⇄ restickify",
  fallback: "⌂ host",
  substitute: "⌂ host, here only",
};

export class OpList {
  readonly element: HTMLElement;
  private readonly list: HTMLElement;
  private rows = new Map<number, HTMLElement>();
  private shown: Listed[] = [];
  private program!: SpyreProgram;
  private selected = 0;
  private open = new Set<number>();
  private readonly search = h("input", {
    type: "search",
    placeholder: "Search",
    ...OWN_KEYS,
    "aria-label": "Search ops by OpFunc, buffer, module, placement, what binds",
    input: () => this.fill(),
  });
  private readonly order = h(
    "select",
    { ...OWN_KEYS, "aria-label": "Order of the ops", change: () => this.fill() },
    h("option", { value: "launch" }, "as launched"),
    h("option", { value: "us" }, "slowest first"),
    h("option", { value: "idle" }, "idle cores first"),
    h("option", { value: "bytes" }, "most bytes first"),
  );
  private readonly count = h("span", { class: "irw-dim", role: "status" });

  constructor(private readonly chosen: (op: number) => void) {
    this.list = h("div", { role: "listbox", tabindex: 0, "aria-label": "Ops", class: "irw-s-ops", ...OWN_KEYS });
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("[data-op]");
      const fold = (event.target as Element).closest<HTMLElement>("[data-layers]");
      if (fold) this.unfold(Number(fold.dataset["layers"]));
      else if (row) this.chosen(Number(row.dataset["op"]));
    });
    this.element = h(
      "div",
      { class: "irw-s-opsbox" },
      h("div", { class: "irw-s-opsbar" }, this.search, this.order, this.count),
      this.list,
    );
  }

  /** `toggle`: away from the list where it has the focus already. */
  focus(toggle = false): void {
    const root = this.list.getRootNode() as Document | ShadowRoot;
    if (toggle && root.activeElement === this.list) this.list.blur();
    else this.list.focus({ preventScroll: true });
  }

  draw(program: SpyreProgram): void {
    this.program = program;
    this.open.clear();
    this.fill();
  }

  private unfold(layers: number): void {
    if (this.open.has(layers)) this.open.delete(layers);
    else this.open.add(layers);
    this.fill();
  }

  private fill(): void {
    const { program } = this;
    this.shown = listed(program, this.order.value, this.search.value, this.open);
    this.rows.clear();
    const groups: HTMLElement[] = [];
    const flat = this.order.value !== "launch";
    let kernel = -2;
    let ops = 0;
    for (const { op, times, layers } of this.shown) {
      if (groups.length === 0 || (!flat && op && op.kernel !== kernel)) {
        groups.push(flat ? h("div", { role: "group", "aria-label": "Ops" }) : this.group(op!));
        kernel = op?.kernel ?? -2;
      }
      if (layers !== undefined) {
        groups.at(-1)!.append(this.layers(layers));
        continue;
      }
      const row = this.row(op, times);
      this.rows.set(op.number, row);
      groups.at(-1)!.append(row);
      ops += 1;
    }
    this.list.replaceChildren(...groups);
    this.count.textContent =
      ops === program.ops.length ? plural(ops, "op") : `${ops} of ${plural(program.ops.length, "op")}`;
    this.mark();
  }

  private group(op: SpyreOp): HTMLElement {
    const named = this.program.kernels[op.kernel];
    const id = freshId("kernel");
    return h(
      "div",
      { role: "group", "aria-labelledby": id },
      h(
        "div",
        { class: "irw-s-kernel", id, role: "presentation", title: named?.name ?? "" },
        named ? `${op.kernel} ${microseconds(named.us)} ${named.name}` : "host",
      ),
    );
  }

  private layers(index: number): HTMLElement {
    const { count, length } = this.program.estimate.repeats[index]!;
    const open = this.open.has(index);
    return h(
      "button",
      {
        type: "button",
        ...OWN_KEYS,
        class: "irw-s-layers",
        "data-layers": index,
        "aria-expanded": String(open),
        "data-key": `layers ${index}`,
      },
      open
        ? `fold ${plural(count - 1, "equal layer")}`
        : `${plural(count - 1, "more equal layer")} of ${plural(length, "op")}`,
    );
  }

  private row(op: SpyreOp, times: number): HTMLElement {
    const place = this.program.buffers[op.buffer]?.place ?? "";
    const mark = MARKS[op.mark];
    return h(
      "div",
      {
        role: "option",
        id: freshId("op"),
        class: `irw-s-op${op.mark ? " irw-s-marked" : ""}`,
        "data-op": op.number,
        "aria-selected": "false",
        title: op.module,
      },
      h(
        "span",
        { class: "irw-s-opname" },
        h("b", {}, op.func),
        ` → ${op.buffer}`,
        ...(times > 1 ? [h("span", { class: "irw-dim" }, ` ×${times}`)] : []),
      ),
      h(
        "span",
        { class: "irw-s-opmeta irw-dim" },
        [
          op.time ? `≈${microseconds(op.time.us)}` : "",
          splitsOf(op),
          op.cores ? plural(op.cores, "core") : "",
          op.unit,
          place.replace("device memory", "device"),
          ...op.loops.map(({ dim, count }) => `loop ${dim}×${count}`),
          mark ?? "",
        ]
          .filter((part) => part && part !== "–")
          .join(" · "),
      ),
    );
  }

  select(op: number): void {
    this.selected = op;
    const layers = layersOf(this.program, op);
    if (layers >= 0 && !this.rows.has(op) && !this.search.value && this.order.value === "launch") {
      this.open.add(layers);
      this.fill();
    }
    this.mark();
  }

  private mark(): void {
    for (const row of this.list.querySelectorAll('[aria-selected="true"]')) row.setAttribute("aria-selected", "false");
    const row = this.rows.get(this.selected);
    if (!row) return void this.list.removeAttribute("aria-activedescendant");
    row.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", row.id);
    const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight];
    if (top < this.list.scrollTop) this.list.scrollTop = top - 24;
    else if (bottom > this.list.scrollTop + this.list.clientHeight)
      this.list.scrollTop = bottom - this.list.clientHeight + 24;
  }

  private key(event: KeyboardEvent): void {
    const numbers = [...this.rows.keys()];
    const at = numbers.indexOf(this.selected);
    const to: Record<string, number> = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      Home: 0,
      End: numbers.length - 1,
      PageUp: at - 10,
      PageDown: at + 10,
    };
    const next = to[event.key];
    if (next === undefined || event.ctrlKey || event.altKey || event.metaKey || numbers.length === 0) return;
    if ((event.target as Element).closest("[data-layers]")) return;
    event.preventDefault();
    event.stopPropagation();
    this.chosen(numbers[Math.max(0, Math.min(numbers.length - 1, next))]!);
  }
}
