/** A sweep as a heat map: models by targets, the failing pass and op in each cell, and the pass diff behind it. */

import { h, OWN_KEYS, plural } from "../dom";
import { Embedded } from "../embedded";
import { readJson } from "../gzip";
import { type Model, Watch } from "../model";
import { type Context, mounted, type View } from "../mount";
import style from "./style.css?inline";
import type { SweepData } from "../schema";

class SweepView implements View {
  readonly element = h("div", { class: "irw irw-w", role: "region", "aria-label": "Sweep" });
  private readonly model: Model;
  private data!: SweepData;
  private readonly buttons: (HTMLButtonElement | undefined)[] = [];
  private readonly rows = new Map<string, HTMLElement>();
  private readonly detail = h("section", { class: "irw-w-detail", "aria-label": "The chosen cell", hidden: true });
  private readonly diff: Embedded | null;
  /** In an offline page the diff is a page in the page. */
  private readonly page = h("div", { class: "irw-w-diff" });
  private readonly count = h("span", { role: "status" });
  private readonly query = h("input", {
    class: "irw-query",
    type: "search",
    placeholder: "Model, target, pass, op, message",
    "aria-label": "Filter",
    ...OWN_KEYS,
    input: () => this.state.set({ query: this.query.value }),
  });
  private readonly status = h("select", {
    "aria-label": "Status",
    ...OWN_KEYS,
    change: () => this.state.set({ status: this.status.value }),
  });
  private readonly state: Watch<"query" | "status" | "chosen" | "diff">;
  private opened = -2;

  constructor({ model, host }: Context) {
    this.model = model;
    this.diff = host && !model.get("offline") ? new Embedded("irw-w-diff", host) : null;
    this.state = new Watch(model, ["query", "status", "chosen", "diff"], (keys) => {
      if (!this.data) return;
      if (keys.has("query") || keys.has("status")) this.filter();
      if (keys.has("chosen")) this.open();
      if (keys.has("diff")) this.showDiff();
    });
  }

  async start(): Promise<void> {
    this.data = await readJson<SweepData>(this.model.get("data") as DataView<ArrayBuffer>);
    const { cells, tools } = this.data;
    const counts = new Map<string, number>();
    for (const cell of cells) counts.set(cell.status, (counts.get(cell.status) ?? 0) + 1);
    const option = (value: string, text: string): HTMLElement => h("option", { value }, text);
    this.status.append(
      option("", `all ${cells.length}`),
      option("!ok", `not ok ${cells.length - (counts.get("ok") ?? 0)}`),
      ...[...counts].map(([name, count]) => option(name, `${name} ${count}`)),
    );
    this.element.append(
      h("div", { class: "irw-bar" }, this.status, this.query, this.count),
      h(
        "div",
        {
          class: "irw-w-scroll",
          tabindex: 0,
          role: "group",
          ...OWN_KEYS,
          "aria-label": "Heat map",
          keydown: (event: KeyboardEvent) => this.key(event),
        },
        this.table(),
      ),
      this.detail,
      this.diff?.element ?? this.page,
      h("div", { class: "irw-status" }, h("span", {}, tools.join(" · "))),
    );
    this.filter();
    this.open();
    this.showDiff();
  }

  close(): void {
    this.state.close();
    this.diff?.close();
  }

  private table(): HTMLElement {
    const { models, targets, cells } = this.data;
    const at = new Map(cells.map((cell, i) => [`${cell.model}\0${cell.target}`, i]));
    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, "model"),
      ...targets.map((target) => h("th", { scope: "col" }, target)),
    );
    const body = models.map((model) => {
      const row = h(
        "tr",
        {},
        h("th", { scope: "row", title: model }, model),
        ...targets.map((target) => {
          const i = at.get(`${model}\0${target}`);
          if (i === undefined) return h("td", {});
          const cell = cells[i]!;
          const where =
            cell.status === "ok"
              ? `${plural(cell.passes, "pass", "passes")} · ${cell.seconds.toFixed(2)} s`
              : [cell.pass || cell.step, cell.op].filter(Boolean).join(": ");
          const button = h(
            "button",
            {
              class: "irw-w-cell",
              "data-status": cell.status,
              title: cell.message.split("\n")[0] || where,
              tabindex: -1,
              click: () => this.state.set({ chosen: i }),
            },
            h("b", {}, cell.mark),
            h("span", {}, where),
          );
          this.buttons[i] = button;
          return h("td", {}, button);
        }),
      );
      this.rows.set(model, row);
      return row;
    });
    return h("table", { class: "irw-w-table" }, h("thead", {}, head), h("tbody", {}, ...body));
  }

  /** Dim the cells that do not fit, and hide the models that have none that do. */
  private filter(): void {
    const query = (this.model.get("query") as string).toLowerCase();
    const status = this.model.get("status") as string;
    if (this.query.value.toLowerCase() !== query) this.query.value = this.model.get("query") as string;
    this.status.value = status;
    const seen = new Set<string>();
    let found = 0;
    for (const [i, cell] of this.data.cells.entries()) {
      const fits =
        (!status || (status === "!ok" ? cell.status !== "ok" : cell.status === status)) &&
        (!query ||
          [cell.model, cell.target, cell.step, cell.pass, cell.op, cell.message].some((text) =>
            text.toLowerCase().includes(query),
          ));
      this.buttons[i]?.classList.toggle("irw-w-out", !fits);
      if (!fits) continue;
      found++;
      seen.add(cell.model);
    }
    for (const [model, row] of this.rows) row.hidden = !seen.has(model);
    this.count.textContent = `${plural(found, "cell")}, ${plural(seen.size, "model")}`;
  }

  private open(): void {
    const chosen = this.model.get("chosen") as number;
    if (chosen === this.opened) return;
    this.opened = chosen;
    for (const [i, button] of this.buttons.entries()) button?.setAttribute("aria-pressed", String(i === chosen));
    const cell = this.data.cells[chosen];
    this.detail.hidden = !cell;
    if (!cell) return;
    const facts = [
      ["pass", cell.pass || cell.step],
      ["op", cell.op],
      ["line", cell.place],
      ["passes", String(cell.passes)],
      ["time", `${cell.seconds.toFixed(2)} s`],
    ];
    this.detail.replaceChildren(
      h("div", {}, h("b", {}, `${cell.model} to ${cell.target}: ${cell.status}`)),
      h(
        "div",
        { class: "irw-facts" },
        ...facts
          .filter(([, value]) => value)
          .map(([name, value]) => h("span", { class: "irw-fact" }, `${name} `, h("b", {}, value!))),
      ),
      ...(cell.message ? [h("pre", {}, cell.message)] : []),
      ...(cell.dumps ? [] : [h("div", { class: "irw-dim" }, "No dumps were kept of this cell.")]),
    );
    this.buttons[chosen]?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (!this.diff) this.showPage(chosen);
  }

  private showDiff(): void {
    void this.diff?.show(this.model.get("diff") as string | null);
  }

  /** The pass diff of a cell, made of the parts of the offline page. */
  private showPage(chosen: number): void {
    const kept = document.querySelector<HTMLTemplateElement>(`#irw-cell-${chosen}`);
    this.page.replaceChildren();
    if (!kept) return;
    const scripts = [...document.querySelectorAll("#irw-bundle-viewer, script[type=module]")].map(
      (script) => script.outerHTML,
    );
    const styles = [...document.head.querySelectorAll("style")].map((sheet) => sheet.outerHTML);
    const frame = h("iframe", { class: "irw-w-frame", title: "Pass diff" });
    frame.srcdoc = ["<!doctype html><meta charset=utf-8>", ...styles, kept.innerHTML, ...scripts].join("\n");
    this.page.replaceChildren(frame);
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const models = this.data.models.filter((model) => !this.rows.get(model)!.hidden);
    const cell = this.data.cells[this.model.get("chosen") as number];
    const clamp = (value: number, length: number): number => Math.max(0, Math.min(length - 1, value));
    const row = cell ? clamp(models.indexOf(cell.model) + step[0]!, models.length) : 0;
    const column = cell ? clamp(this.data.targets.indexOf(cell.target) + step[1]!, this.data.targets.length) : 0;
    const next = this.data.cells.findIndex(
      (one) => one.model === models[row] && one.target === this.data.targets[column],
    );
    if (next >= 0) this.state.set({ chosen: next });
  }
}

export const render = mounted(style, "this sweep", (context) => new SweepView(context));
