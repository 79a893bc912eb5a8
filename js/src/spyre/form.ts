/** The form that compiles again: options, the splits of one op and the layouts of the inputs. */

import { h, OWN_KEYS } from "../dom";
import type { SpyreOp, SpyreProgram } from "../schema";

export interface Change {
  cores?: number;
  orders?: Record<string, number[]>;
  divisions?: Record<string, Record<string, number> | null>;
  [option: string]: unknown;
}

export class Form {
  readonly element = h("form", { class: "irw-s-form", "aria-label": "Compile again" });
  private readonly said = h("p", { role: "alert", class: "irw-s-error" });
  private readonly go = h("button", { type: "submit", ...OWN_KEYS }, "Compile again");
  private read: (() => Change) | null = null;

  constructor(private readonly send: ((change: Change) => Promise<string>) | null) {
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      const change = this.read?.() ?? {};
      if (Object.keys(change).length === 0) return this.answer("Nothing is changed.");
      this.said.textContent = "";
      this.go.disabled = true;
      this.go.textContent = "Compiling …";
      void this.send?.(change).then((error) => this.answer(error));
    });
    // Letters typed here are text, not keys of the view.
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  private answer(error: string): void {
    this.said.textContent = error;
    this.go.disabled = false;
    this.go.textContent = "Compile again";
  }

  draw(program: SpyreProgram, op: SpyreOp): void {
    if (!this.send) {
      this.element.replaceChildren(
        h(
          "p",
          { class: "irw-dim" },
          "To compile again with other cores, layouts or hints, open the notebook: this page has no kernel.",
        ),
      );
      return;
    }
    const { options } = program;
    const number = (value: number, most: number) =>
      h("input", { type: "number", min: 1, max: most, value, ...OWN_KEYS, class: "irw-s-number" });
    const select = (values: readonly string[], value: string) =>
      h("select", { ...OWN_KEYS }, ...values.map((one) => h("option", { value: one, selected: one === value }, one)));
    const labelled = (label: string, control: HTMLElement) => h("label", {}, h("span", {}, label), control);

    const cores = number(options.cores, program.max_cores);
    const solvers = Object.entries(options.choices).map(
      ([name, values]) => [name, select(values, options[name as "layout_solver"])] as const,
    );
    const switches = Object.entries(options.switches).map(
      ([name, on]) => [name, h("input", { type: "checkbox", checked: on, ...OWN_KEYS })] as const,
    );
    const before = options.divisions[op.buffer];
    const splits = op.dims
      .filter(
        ({ variable, symbol }) =>
          variable &&
          op.dims.findIndex((d) => d.variable === variable) === op.dims.findIndex((d) => d.symbol === symbol),
      )
      .map((dim) => {
        const whole = op.dims
          .filter(({ variable }) => variable === dim.variable)
          .reduce((all, { split }) => all * split, 1);
        return [dim, whole, number(whole, program.max_cores)] as const;
      });
    const orders = Object.entries(options.orders)
      .filter(([, order]) => order.length <= 4)
      .map(
        ([name, order]) =>
          [
            name,
            order.join(),
            select(
              permutations(order.filter((d) => d >= 0)).map((one) => one.join()),
              order.join(),
            ),
          ] as const,
      );
    const free = h("input", { type: "checkbox", ...OWN_KEYS });

    this.read = () => {
      const change: Change = {};
      if (Number(cores.value) !== options.cores) change.cores = Number(cores.value);
      for (const [name, control] of solvers)
        if (control.value !== options[name as "layout_solver"]) change[name] = control.value;
      for (const [name, control] of switches)
        if (control.checked !== options.switches[name]) change[name] = control.checked;
      if (splits.some(([, now, control]) => Number(control.value) !== now)) {
        change.divisions = {
          [op.buffer]: Object.fromEntries(splits.map(([dim, , control]) => [dim.variable, Number(control.value)])),
        };
      } else if (free.checked) change.divisions = { [op.buffer]: null };
      const moved = orders.filter(([, now, control]) => control.value !== now);
      if (moved.length > 0)
        change.orders = Object.fromEntries(
          moved.map(([name, , control]) => [name, control.value.split(",").map(Number)]),
        );
      return change;
    };
    this.element.replaceChildren(
      h(
        "fieldset",
        {},
        h("legend", {}, "Program"),
        labelled("cores", cores),
        ...solvers.map(([name, control]) => labelled(name, control)),
      ),
      h("fieldset", {}, h("legend", {}, "Switches"), ...switches.map(([name, control]) => labelled(name, control))),
      h(
        "fieldset",
        {},
        h("legend", {}, `Splits of ${op.buffer} = ${op.func}`),
        ...splits.map(([dim, , control]) => labelled(`${dim.name || dim.variable} (${dim.units} units)`, control)),
        ...(before ? [labelled("take the hint back", free)] : []),
        ...(splits.length === 0 ? [h("span", { class: "irw-dim" }, "nothing to split")] : []),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Dim order of inputs (last: in the sticks)"),
        ...orders.map(([name, , control]) => labelled(name, control)),
      ),
      this.go,
      this.said,
    );
  }
}

function permutations(values: readonly number[]): number[][] {
  const sorted = [...values].sort((a, b) => a - b);
  const make = (rest: readonly number[]): number[][] =>
    rest.length === 0
      ? [[]]
      : rest.flatMap((n, i) => make([...rest.slice(0, i), ...rest.slice(i + 1)]).map((tail) => [n, ...tail]));
  return make(sorted);
}
