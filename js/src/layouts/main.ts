/** A dump of TTGIR, and beside it who owns each element of the tensor of a line; conversions as two such drawings. */

import { h, OWN_KEYS } from "../dom";
import { readJson } from "../gzip";
import { type Model, Watch } from "../model";
import { type Context, mounted, type View } from "../mount";
import type { LayoutsData } from "../schema";
import { Grid } from "./drawing";
import { Linear, told } from "./linear";
import style from "./style.css?inline";

/** Of a tensor that is drawn. */
const MOST_ELEMENTS = 2 ** 18;

class LayoutsView implements View {
  readonly element = h("div", { class: "irw irw-l", role: "region", "aria-label": "Layouts" });
  private readonly model: Model;
  private data!: LayoutsData;
  private readonly state: Watch<"line" | "colour" | "element">;
  private readonly known = new Map<number, Linear>();
  private readonly lines: HTMLElement[] = [];
  private readonly title = h("div", { class: "irw-l-title" });
  private readonly owner = h("div", { class: "irw-l-owner", role: "status" });
  private readonly drawings = h("div", { class: "irw-l-drawings" });
  private readonly colour = h("select", {
    "aria-label": "Colour by",
    ...OWN_KEYS,
    change: () => this.state.set({ colour: this.colour.value }),
  });
  private readonly grids = [0, 1].map(() => new Grid((element) => this.state.set({ element: [...element] })));
  private hovered = 0;

  constructor({ model }: Context) {
    this.model = model;
    this.state = new Watch(model, ["line", "colour", "element"], () => this.data && this.show());
  }

  async start(): Promise<void> {
    this.data = await readJson<LayoutsData>(this.model.get("data") as DataView<ArrayBuffer>);
    const code = h("div", {
      class: "irw-l-code",
      tabindex: 0,
      role: "listbox",
      "aria-label": this.data.title,
      ...OWN_KEYS,
      keydown: (event: KeyboardEvent) => this.key(event),
    });
    this.data.lines.forEach((line, i) => {
      const has = line.values.length > 0;
      const row = h(
        "div",
        has
          ? {
              class: "irw-l-line irw-l-has",
              role: "option",
              "aria-selected": "false",
              pointerenter: () => this.hover(i + 1),
              click: () => this.state.set({ line: i + 1, element: [] }),
            }
          : { class: "irw-l-line", role: "presentation" },
        line.text || " ",
      );
      this.lines.push(row);
      code.append(row);
    });
    code.addEventListener("pointerleave", () => this.hover(0));
    this.element.append(
      h("div", { class: "irw-bar" }, h("b", {}, this.data.title), h("span", { class: "irw-space" }), this.colour),
      h(
        "div",
        { class: "irw-l-both" },
        code,
        h("section", { class: "irw-l-side", "aria-label": "The tensor" }, this.title, this.owner, this.drawings),
      ),
    );
    this.show();
  }

  close(): void {
    this.state.close();
  }

  /** The line whose tensor is drawn: the one under the pointer, the chosen one, or the first that has one. */
  private get line(): number {
    const chosen = this.hovered || (this.model.get("line") as number);
    if (this.data.lines[chosen - 1]?.values.length) return chosen;
    return this.data.lines.findIndex((line) => line.values.length > 0) + 1;
  }

  private hover(line: number): void {
    this.hovered = line;
    this.show();
  }

  private linear(i: number): Linear | null {
    const layout = this.data.layouts[i]!;
    if (layout.why || layout.shape.reduce((a, b) => a * b, 1) > MOST_ELEMENTS) return null;
    if (!this.known.has(i)) this.known.set(i, new Linear(layout));
    return this.known.get(i)!;
  }

  private show(): void {
    const number = this.line;
    this.lines.forEach((row, i) => {
      if (row.getAttribute("role") === "option") row.setAttribute("aria-selected", String(i + 1 === number));
    });
    const line = this.data.lines[number - 1];
    if (!line) {
      this.title.textContent = "No line of this dump has a tensor with a layout.";
      return;
    }
    const move = this.data.moves[line.move];
    const defined = line.values.find((one) => one.name) ?? line.values.at(-1)!;
    const shown = move ? [move.source, move.result] : [defined.layout];
    const layouts = shown.map((i) => this.data.layouts[i]!);
    this.title.replaceChildren(
      h("div", {}, h("b", {}, `line ${number} ${defined.name}`), ` ${move?.summary ?? layouts[0]!.type}`),
      ...layouts.map((layout) => h("div", { class: "irw-dim" }, layout.encoding)),
    );
    const element = this.chosenIn(layouts[0]!.shape);
    this.owner.replaceChildren();
    this.drawings.replaceChildren();
    shown.forEach((i, at) => this.drawOne(i, this.grids[at]!, element, at === 0));
  }

  /** The chosen element, where the tensor has it. */
  private chosenIn(shape: readonly number[]): number[] {
    const chosen = this.model.get("element") as number[];
    return shape.map((size, axis) => (chosen.length === shape.length && chosen[axis]! < size ? chosen[axis]! : 0));
  }

  private drawOne(i: number, grid: Grid, element: number[], first: boolean): void {
    const layout = this.data.layouts[i]!;
    const linear = this.linear(i);
    if (!linear) {
      this.drawings.append(
        h("figure", {}, h("figcaption", {}, `${layout.type}: not drawn: ${layout.why || "it is too large"}`)),
      );
      return;
    }
    if (first) this.offer(linear.colours);
    const wanted = this.model.get("colour") as string;
    const colour = linear.colours.includes(wanted) ? wanted : linear.colours[0]!;
    const places = element.length === layout.shape.length ? linear.at(element) : [];
    const words = places.slice(0, 4).map((place) => told(layout, place));
    const more = places.length > 4 ? ` and ${places.length - 4} more copies` : "";
    this.owner.append(h("div", {}, h("b", {}, `(${element.join(", ")})`), ` ${words.join("; ")}${more}`));
    const caption = h("figcaption", { class: "irw-dim" });
    this.drawings.append(h("figure", {}, caption, grid.canvas));
    grid.draw(linear, colour, element, `${layout.type}, coloured by ${colour}`);
    caption.textContent = `${layout.shape.join(" x ")}, by ${colour}${grid.cut ? "; the first elements" : ""}`;
  }

  private offer(names: readonly string[]): void {
    const wanted = this.model.get("colour") as string;
    if ([...this.colour.options].map((one) => one.value).join() !== names.join())
      this.colour.replaceChildren(...names.map((name) => h("option", { value: name }, `colour by ${name}`)));
    this.colour.value = names.includes(wanted) ? wanted : names[0]!;
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.hovered = 0;
    let at = this.line - 1 + step;
    while (this.data.lines[at] && !this.data.lines[at]!.values.length) at += step;
    if (!this.data.lines[at]) return;
    this.state.set({ line: at + 1, element: [] });
    this.lines[at]!.scrollIntoView({ block: "nearest" });
  }
}

export const render = mounted(style, "these layouts", (context) => new LayoutsView(context));
