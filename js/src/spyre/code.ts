/** OpSpec, SuperDSC and bundle.mlir of the selected op: folded, searchable, with what belongs to the selection lit. */

import { h, OWN_KEYS, plural } from "../dom";
import { iterationOf } from "./data";
import type { SpyreOp, SpyreTexts } from "../schema";

type CodeKind = "OpSpec" | "SuperDSC" | "bundle.mlir";
type Path = readonly string[];
const FORMS: readonly CodeKind[] = ["OpSpec", "SuperDSC", "bundle.mlir"];
const DEEP = 3;

export class Code {
  readonly element: HTMLElement;
  private form: CodeKind = "SuperDSC";
  private texts: SpyreTexts | null = null;
  private readonly body = h("div", {
    class: "irw-s-code",
    role: "group",
    "aria-label": "Code",
    tabindex: 0,
    ...OWN_KEYS,
  });
  private readonly buttons: Map<CodeKind, HTMLButtonElement>;
  private readonly search: HTMLInputElement;
  private readonly found = h("span", { class: "irw-found", role: "status" });
  private readonly file = h("span", { class: "irw-dim" });
  private hits: HTMLElement[] = [];
  private hit = -1;
  private now: { op: SpyreOp; kernel: string; core: number; tensor: string; iteration: number } | null = null;

  constructor(private readonly asked: () => void) {
    this.buttons = new Map(
      FORMS.map((form) => [form, h("button", { type: "button", ...OWN_KEYS, click: () => this.show(form) }, form)]),
    );
    this.search = h("input", {
      type: "search",
      ...OWN_KEYS,
      placeholder: "Search",
      "aria-label": "Search the code",
      input: () => this.find(),
      keydown: (event: KeyboardEvent) => this.next(event),
    });
    this.element = h(
      "div",
      {},
      h(
        "div",
        { class: "irw-s-codebar" },
        ...this.buttons.values(),
        this.search,
        this.found,
        h("span", { class: "irw-space" }),
        this.file,
      ),
      this.body,
    );
  }

  set(texts: SpyreTexts | null): void {
    this.texts = texts;
    this.draw();
  }

  select(op: SpyreOp, kernel: string, core: number, tensor: string, iteration: number): void {
    this.now = { op, kernel, core, tensor, iteration };
    this.draw();
  }

  private show(form: CodeKind): void {
    this.form = form;
    this.draw();
  }

  draw(): void {
    if (!this.now || !this.element.closest("[open]")) return;
    for (const [form, button] of this.buttons) button.setAttribute("aria-pressed", String(form === this.form));
    if (!this.texts) {
      this.body.replaceChildren(h("p", { class: "irw-dim" }, "…"));
      this.asked();
      return;
    }
    const { op, kernel, core, tensor, iteration } = this.now;
    const wanted = iterationOf(op, iteration).join();
    const mine = this.texts.files.filter((file) => file.kernel === kernel && file.op === op.op);
    const file = mine.find((one) => one.iteration.join() === wanted) ?? mine[0];
    this.file.textContent = file && this.form === "SuperDSC" ? `${kernel}/${file.name}` : "";
    const number = op.tensors.findIndex(({ name }) => name === tensor);
    if (op.kernel < 0) this.body.replaceChildren(h("p", { class: "irw-dim" }, "A host call has no SuperDSC."));
    else if (this.form === "OpSpec") {
      this.body.replaceChildren(
        lines(this.texts.opspec[op.op] ?? "", (line) => tensor !== "" && line.includes(`name='${tensor}'`)),
      );
    } else if (this.form === "bundle.mlir") {
      this.body.replaceChildren(
        lines(this.texts.bundle[kernel] ?? "", (line) => !!file && line.includes(`"${file.name}"`)),
      );
    } else if (!file) this.body.replaceChildren(h("p", { class: "irw-dim" }, "There is no SuperDSC for this op."));
    else this.body.replaceChildren(tree(JSON.parse(file.text) as unknown, [], (path) => isLit(path, core, number)));
    this.find();
  }

  /** Open and mark what holds the text. */
  private find(): void {
    const text = this.search.value.trim().toLowerCase();
    for (const old of this.body.querySelectorAll(".irw-hit")) old.classList.remove("irw-hit");
    this.hits = [];
    this.hit = -1;
    this.found.textContent = "";
    if (!text) return;
    if (this.form === "SuperDSC") {
      // A branch that opens makes its own branches.
      for (let opened = true; opened;) {
        opened = false;
        for (const node of this.body.querySelectorAll<HTMLDetailsElement>("details:not([open])")) {
          if (!(node as Branch).holds(text)) continue;
          (node as Branch).unfold();
          opened = true;
        }
      }
    }
    for (const line of this.body.querySelectorAll<HTMLElement>(".irw-s-line")) {
      if (line.textContent!.toLowerCase().includes(text)) {
        line.classList.add("irw-hit");
        this.hits.push(line);
      }
    }
    this.found.textContent = plural(this.hits.length, "line");
  }

  private next(event: KeyboardEvent): void {
    if (event.key !== "Enter" || this.hits.length === 0) return;
    event.preventDefault();
    this.hit = (this.hit + (event.shiftKey ? -1 : 1) + this.hits.length) % this.hits.length;
    this.hits[this.hit]!.scrollIntoView({ block: "nearest" });
    this.found.textContent = `${this.hit + 1} of ${plural(this.hits.length, "line")}`;
  }
}

interface Branch extends HTMLDetailsElement {
  holds: (text: string) => boolean;
  unfold: () => void;
}

function lines(text: string, lit: (line: string) => boolean): HTMLElement {
  const made = h("pre", {});
  for (const line of text.split("\n"))
    made.append(h("span", { class: lit(line) ? "irw-s-line irw-s-lit" : "irw-s-line" }, line || " "));
  return made;
}

/** Whether a field of a SuperDSC speaks of the selected core or tensor. */
function isLit(path: Path, core: number, tensor: number): boolean {
  const key = path.at(-1)!;
  const above = path.at(-2);
  if (
    key === "numWkSlicesPerDim_" ||
    (above === "coreIdToWkSlice_" && key === String(core) && !path.includes("scheduleTree_"))
  )
    return true;
  if (path.includes("scheduleTree_")) {
    const number = Number(path[path.indexOf("scheduleTree_") + 1]);
    return number === tensor && above === "data_" && key === `[${core}, 0, 0]`;
  }
  return above === "labeledDs_" && key === String(tensor);
}

/** A value as a tree whose branches are built when they open. */
function tree(value: unknown, path: Path, lit: (path: Path) => boolean): HTMLElement {
  const key = path.at(-1);
  const label = key === undefined ? [] : [h("span", { class: "irw-s-key" }, `${key}: `)];
  const mine = key !== undefined && lit(path);
  if (value === null || typeof value !== "object") {
    return h("div", { class: mine ? "irw-s-line irw-s-lit" : "irw-s-line" }, ...label, JSON.stringify(value));
  }
  const children = Object.entries(value);
  const flat = JSON.stringify(value);
  if (children.every(([, child]) => child === null || typeof child !== "object") && flat.length < 64) {
    return h("div", { class: mine ? "irw-s-line irw-s-lit" : "irw-s-line" }, ...label, flat);
  }
  const short = Array.isArray(value) ? `[${children.length}]` : `{${children.length}}`;
  const body = h("div", { class: "irw-s-branch" });
  const summary = h(
    "summary",
    { ...OWN_KEYS, class: mine ? "irw-s-line irw-s-lit" : "irw-s-line" },
    ...label,
    h("span", { class: "irw-dim" }, short),
  );
  const node = h("details", {}, summary, body) as Branch;
  const build = (): void => {
    if (body.childElementCount === 0)
      body.append(...children.map(([name, child]) => tree(child, [...path, name], lit)));
  };
  node.addEventListener("toggle", build);
  node.unfold = () => {
    build();
    node.open = true;
  };
  node.holds = (text) => flat.toLowerCase().includes(text);
  if (mine || path.length < DEEP || below(value, path, lit)) node.unfold();
  return node;
}

function below(value: object, path: Path, lit: (path: Path) => boolean): boolean {
  return Object.entries(value).some(([name, child]) => {
    const inner = [...path, name];
    return lit(inner) || (child !== null && typeof child === "object" && below(child as object, inner, lit));
  });
}
