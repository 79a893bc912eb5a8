/** The ops by kernel, in launch order: the selector of everything else. */

import { freshId, h, OWN_KEYS, plural } from "../dom";
import { splitsOf } from "./data";
import type { SpyreOp, SpyreProgram } from "../schema";

const MARKS: Record<string, string> = {
  restickify: "⇄ restickify",
  fallback: "⌂ host",
  substitute: "⌂ host, here only",
};

export class OpList {
  readonly element: HTMLElement;
  private rows: HTMLElement[] = [];
  private program!: SpyreProgram;
  private selected = 0;

  constructor(private readonly chosen: (op: number) => void) {
    this.element = h("div", { role: "listbox", tabindex: 0, "aria-label": "Ops", class: "irw-s-ops", ...OWN_KEYS });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("[data-op]");
      if (row) this.chosen(Number(row.dataset["op"]));
    });
  }

  draw(program: SpyreProgram): void {
    this.program = program;
    this.rows = [];
    const groups: HTMLElement[] = [];
    let kernel = -2;
    for (const op of program.ops) {
      if (op.kernel !== kernel || groups.length === 0) {
        const named = program.kernels[op.kernel];
        const id = freshId("kernel");
        groups.push(
          h(
            "div",
            { role: "group", "aria-labelledby": id },
            h(
              "div",
              { class: "irw-s-kernel", id, role: "presentation", title: named?.name ?? "" },
              named ? `${op.kernel} ${named.name}` : "host",
            ),
          ),
        );
        kernel = op.kernel;
      }
      const row = this.row(op);
      this.rows.push(row);
      groups.at(-1)!.append(row);
    }
    this.element.replaceChildren(...groups);
  }

  private row(op: SpyreOp): HTMLElement {
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
      },
      h("span", { class: "irw-s-opname" }, h("b", {}, op.func), ` → ${op.buffer}`),
      h(
        "span",
        { class: "irw-s-opmeta irw-dim" },
        [
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
    this.rows[this.selected]?.setAttribute("aria-selected", "false");
    this.selected = op;
    const row = this.rows[op];
    if (!row) return;
    row.setAttribute("aria-selected", "true");
    this.element.setAttribute("aria-activedescendant", row.id);
    const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight];
    if (top < this.element.scrollTop) this.element.scrollTop = top - 24;
    else if (bottom > this.element.scrollTop + this.element.clientHeight)
      this.element.scrollTop = bottom - this.element.clientHeight + 24;
  }

  private key(event: KeyboardEvent): void {
    const last = this.rows.length - 1;
    const to: Record<string, number> = {
      ArrowUp: this.selected - 1,
      ArrowDown: this.selected + 1,
      Home: 0,
      End: last,
      PageUp: this.selected - 10,
      PageDown: this.selected + 10,
    };
    const next = to[event.key];
    if (next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.chosen(Math.max(0, Math.min(last, next)));
  }
}
