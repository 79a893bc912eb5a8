/** A sweep as a heat map: models by targets, the failing pass and op in each cell, and the pass diff behind it. */

import { h, OWN_KEYS, plural } from "../dom";
import type { Model } from "../model";
import stub from "../stub";
import { followTheme } from "../theme";
import { gunzip } from "../unpack";
import style from "./style.css?inline";

interface Cell {
  model: string;
  target: string;
  status: string;
  mark: string;
  message: string;
  step: string;
  pass: string;
  op: string;
  place: string;
  seconds: number;
  passes: number;
  lines: number;
  dumps: boolean;
}
interface Data {
  models: string[];
  targets: string[];
  cells: Cell[];
  tools: string[];
}
interface Context {
  model: Model;
  el: HTMLElement;
  signal?: AbortSignal;
  host?: { getModel(reference: string): Promise<Model> };
}

class SweepView {
  readonly element: HTMLElement;
  private readonly buttons: (HTMLButtonElement | undefined)[] = [];
  private readonly rows = new Map<string, HTMLElement>();
  private readonly detail = h("section", { class: "irw-w-detail", "aria-label": "The chosen cell", hidden: true });
  private readonly diff = h("div", { class: "irw-w-diff" });
  private readonly count = h("span", { role: "status" });
  private readonly query: HTMLInputElement;
  private readonly status: HTMLSelectElement;
  private readonly stops: (() => void)[] = [];
  private opened = -2;

  constructor(private readonly context: Context, private readonly data: Data) {
    const model = context.model;
    this.query = h("input", {
      class: "irw-query", type: "search", placeholder: "Model, target, pass, op, message", "aria-label": "Filter", ...OWN_KEYS,
      input: () => this.set("query", this.query.value),
    });
    const counts = new Map<string, number>();
    for (const cell of data.cells) counts.set(cell.status, (counts.get(cell.status) ?? 0) + 1);
    const bad = data.cells.length - (counts.get("ok") ?? 0);
    const option = (value: string, text: string): HTMLElement => h("option", { value }, text);
    this.status = h("select", { "aria-label": "Status", ...OWN_KEYS, change: () => this.set("status", this.status.value) },
      option("", `all ${data.cells.length}`), option("!ok", `not ok ${bad}`),
      ...[...counts].map(([name, count]) => option(name, `${name} ${count}`)));
    this.element = h("div", { class: "irw irw-w" }, h("style", {}, style),
      h("div", { class: "irw-bar" }, this.status, this.query, this.count),
      h("div", { class: "irw-w-scroll", tabindex: 0, ...OWN_KEYS, "aria-label": "Heat map", keydown: (event: KeyboardEvent) => this.key(event) }, this.table()),
      this.detail, this.diff,
      h("div", { class: "irw-status" }, h("span", {}, data.tools.join(" · "))));
    for (const [key, act] of [["query", () => this.filter()], ["status", () => this.filter()], ["chosen", () => this.open()], ["diff", () => void this.showDiff()]] as const) {
      model.on(`change:${key}`, act);
      this.stops.push(() => model.off(`change:${key}`, act));
    }
    this.filter();
    this.open();
    void this.showDiff();
  }

  close(): void {
    for (const stop of this.stops) stop();
  }

  private set(key: string, value: unknown): void {
    this.context.model.set(key, value);
    this.context.model.save_changes();
  }

  private table(): HTMLElement {
    const { models, targets, cells } = this.data;
    const at = new Map(cells.map((cell, i) => [`${cell.model}\0${cell.target}`, i]));
    const head = h("tr", {}, h("th", { scope: "col" }, "model"), ...targets.map((target) => h("th", { scope: "col" }, target)));
    const body = models.map((model) => {
      const row = h("tr", {}, h("th", { scope: "row", title: model }, model), ...targets.map((target) => {
        const i = at.get(`${model}\0${target}`);
        if (i === undefined) return h("td", {});
        const cell = cells[i]!;
        const where = cell.status === "ok" ? `${plural(cell.passes, "pass", "passes")} · ${cell.seconds.toFixed(2)} s` : [cell.pass || cell.step, cell.op].filter(Boolean).join(": ");
        const button = h("button", {
          class: "irw-w-cell", "data-status": cell.status, title: cell.message.split("\n")[0] || where, tabindex: -1, click: () => this.set("chosen", i),
        }, h("b", {}, cell.mark), h("span", {}, where));
        this.buttons[i] = button;
        return h("td", {}, button);
      }));
      this.rows.set(model, row);
      return row;
    });
    return h("table", { class: "irw-w-table" }, h("thead", {}, head), h("tbody", {}, ...body));
  }

  /** Dim the cells that do not fit, and hide the models that have none that do. */
  private filter(): void {
    const query = (this.context.model.get("query") as string).toLowerCase();
    const status = this.context.model.get("status") as string;
    if (this.query.value.toLowerCase() !== query) this.query.value = this.context.model.get("query") as string;
    this.status.value = status;
    const seen = new Set<string>();
    let found = 0;
    for (const [i, cell] of this.data.cells.entries()) {
      const fits = (!status || (status === "!ok" ? cell.status !== "ok" : cell.status === status)) &&
        (!query || [cell.model, cell.target, cell.step, cell.pass, cell.op, cell.message].some((text) => text.toLowerCase().includes(query)));
      this.buttons[i]?.classList.toggle("irw-w-out", !fits);
      if (!fits) continue;
      found++;
      seen.add(cell.model);
    }
    for (const [model, row] of this.rows) row.hidden = !seen.has(model);
    this.count.textContent = `${plural(found, "cell")}, ${plural(seen.size, "model")}`;
  }

  private open(): void {
    const chosen = this.context.model.get("chosen") as number;
    if (chosen === this.opened) return;
    this.opened = chosen;
    for (const [i, button] of this.buttons.entries()) button?.setAttribute("aria-pressed", String(i === chosen));
    const cell = this.data.cells[chosen];
    this.detail.hidden = !cell;
    if (!cell) return;
    const facts = [["pass", cell.pass || cell.step], ["op", cell.op], ["line", cell.place], ["passes", String(cell.passes)], ["time", `${cell.seconds.toFixed(2)} s`]];
    this.detail.replaceChildren(
      h("div", {}, h("b", {}, `${cell.model} to ${cell.target}: ${cell.status}`)),
      h("div", { class: "irw-facts" }, ...facts.filter(([, value]) => value).map(([name, value]) => h("span", { class: "irw-fact" }, `${name} `, h("b", {}, value!)))),
      ...(cell.message ? [h("pre", {}, cell.message)] : []),
      ...(cell.dumps ? [] : [h("div", { class: "irw-dim" }, "No dumps were kept of this cell.")]),
    );
    this.buttons[chosen]?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (this.context.model.get("offline")) this.showPage(chosen);
  }

  /** In a notebook the pass diff is a widget of its own. */
  private async showDiff(): Promise<void> {
    const { host, model, signal } = this.context;
    if (!host || model.get("offline")) return;
    const reference = model.get("diff") as string | null;
    this.diff.replaceChildren();
    if (!reference) return;
    const place = h("div", {});
    this.diff.replaceChildren(place);
    const stop = await stub.render({ model: await host.getModel(reference), el: place, host, ...(signal ? { signal } : {}) });
    if (place.isConnected) this.stops.push(stop);
    else stop();
  }

  /** In an offline page it is a page in the page, made of the parts of this one. */
  private showPage(chosen: number): void {
    const kept = document.querySelector<HTMLTemplateElement>(`#irw-cell-${chosen}`);
    this.diff.replaceChildren();
    if (!kept) return;
    const scripts = [...document.querySelectorAll("#irw-bundle-viewer, script[type=module]")].map((script) => script.outerHTML);
    const styles = [...document.head.querySelectorAll("style")].map((sheet) => sheet.outerHTML);
    const frame = h("iframe", { class: "irw-w-frame", title: "Pass diff" });
    frame.srcdoc = ["<!doctype html><meta charset=utf-8>", ...styles, kept.innerHTML, ...scripts].join("\n");
    this.diff.replaceChildren(frame);
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const models = this.data.models.filter((model) => !this.rows.get(model)!.hidden);
    const cell = this.data.cells[this.context.model.get("chosen") as number];
    const clamp = (value: number, length: number): number => Math.max(0, Math.min(length - 1, value));
    const row = cell ? clamp(models.indexOf(cell.model) + step[0]!, models.length) : 0;
    const column = cell ? clamp(this.data.targets.indexOf(cell.target) + step[1]!, this.data.targets.length) : 0;
    const next = this.data.cells.findIndex((one) => one.model === models[row] && one.target === this.data.targets[column]);
    if (next >= 0) this.set("chosen", next);
  }
}

export async function render(context: Context): Promise<() => void> {
  const bytes = await gunzip(context.model.get("data") as DataView<ArrayBuffer>);
  const view = new SweepView(context, JSON.parse(new TextDecoder().decode(bytes)) as Data);
  context.el.replaceChildren(view.element);
  const stop = followTheme(view.element);
  return () => {
    stop();
    view.close();
  };
}
export default { render };
