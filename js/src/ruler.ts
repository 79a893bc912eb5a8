/** The strip beside the panes: where the changes are, and what of the text is in sight. A click goes there. */

import type { Hunk } from "./diff";
import { h } from "./dom";

/** Percent of the height below which two marks are one. */
const LEAST = 0.4;

export class Ruler {
  readonly element: HTMLElement;

  /** `scroller`: the element that the ruler is of. */
  constructor(private readonly scroller: () => HTMLElement) {
    this.element = h("div", {
      class: "irw-ruler",
      "aria-hidden": "true",
      click: (event: MouseEvent) => this.clicked(event),
    });
  }

  /** Mark what is in sight. */
  see({ scrollTop, scrollHeight, clientHeight }: HTMLElement): void {
    const { style } = this.element;
    style.setProperty("--irw-top", `${(100 * scrollTop) / Math.max(1, scrollHeight)}%`);
    style.setProperty("--irw-seen", `${Math.min(100, (100 * clientHeight) / Math.max(1, scrollHeight))}%`);
  }

  /** Mark the changes between two texts, `lines` long together. */
  draw(hunks: readonly Hunk[], lines: number): void {
    const total = Math.max(1, lines);
    const marks: HTMLElement[] = [];
    let last = -1;
    for (const { a0, a1, b0, b1 } of hunks) {
      const top = Math.round((1000 * (a0 + b0)) / total) / 10;
      const height = (100 * (a1 - a0 + b1 - b0)) / total;
      if (top + height - last < LEAST) continue;
      last = top + height;
      const mark = h("span", { class: a1 === a0 ? "irw-mark-new" : b1 === b0 ? "irw-mark-gone" : "irw-mark-both" });
      mark.style.top = `${top}%`;
      mark.style.height = `max(2px, ${height.toFixed(2)}%)`;
      marks.push(mark);
    }
    this.element.replaceChildren(...marks);
  }

  private clicked(event: MouseEvent): void {
    const share = (event.clientY - this.element.getBoundingClientRect().top) / this.element.clientHeight;
    const scroller = this.scroller();
    scroller.scrollTop = share * scroller.scrollHeight - scroller.clientHeight / 2;
  }
}
