/** The steps as a row of chips: one list to a screen reader, reordered by dragging or with Shift and an arrow. */

import { freshId, h, OWN_KEYS } from "../dom";
import { duration, sign, spoken } from "./data";
import type { PipelineStep } from "../schema";

export class Chips {
  readonly element: HTMLElement;
  private readonly id = freshId("steps");
  private dragged = 0;

  constructor(
    private readonly on: {
      choose: (index: number) => void;
      /** Put a step before the one at `to`, counted without the route. */
      move: (step: number, to: number) => void;
      key: (event: KeyboardEvent) => void;
    },
  ) {
    this.element = h("div", {
      role: "listbox",
      class: "irw-pl-chips",
      tabindex: 0,
      "aria-label": "Steps of the pipeline",
      "aria-orientation": "horizontal",
      ...OWN_KEYS,
      keydown: (event: KeyboardEvent) => this.on.key(event),
    });
  }

  draw(steps: readonly PipelineStep[], selected: number): void {
    const own = steps.findIndex((step) => step.id > 0);
    this.element.replaceChildren(
      ...steps.map((step, i) => {
        const time = step.state === "done" || step.seconds > 0 ? duration(step.seconds) : "";
        const options = Object.entries(step.options)
          .map(([name, value]) => `${name}=${value}`)
          .join(" ");
        const chip = h(
          "div",
          {
            role: "option",
            id: `${this.id}-${i}`,
            "aria-selected": String(i === selected),
            class: "irw-pl-chip",
            "data-state": step.enabled ? step.state : "off",
            "data-step": step.id || undefined,
            "data-route": step.id === 0,
            title: `${step.tool} ${step.text || step.label}`.trim(),
            draggable: step.id ? "true" : undefined,
            click: () => this.on.choose(i),
            dragstart: () => (this.dragged = step.id),
            dragend: () => (this.dragged = 0),
            dragover: (event: DragEvent) => this.dragged && step.id && event.preventDefault(),
            drop: (event: DragEvent) => {
              event.preventDefault();
              if (this.dragged && step.id) this.on.move(this.dragged, i - own);
            },
          },
          h("span", { class: "irw-said-only" }, spoken(step, i, steps.length)),
          h("span", { class: "irw-pl-tool", "aria-hidden": "true" }, step.tool),
          h(
            "span",
            { class: "irw-pl-name", "aria-hidden": "true" },
            step.label,
            ...(options ? [h("span", { class: "irw-pl-given" }, ` ${options}`)] : []),
          ),
          h("span", { class: "irw-pl-state", "aria-hidden": "true" }, [sign(step), time].filter(Boolean).join(" ")),
        );
        return chip;
      }),
    );
    if (steps[selected]) this.element.setAttribute("aria-activedescendant", `${this.id}-${selected}`);
    this.element.children[selected]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
