/** One column or two panes: as the reader has asked, by itself as there is room. */

import type { Store } from "./model";

/** Pixels of two panes below which one column is easier to read. */
const ROOM_FOR_TWO = 800;

export class Room {
  private roomy = true;

  constructor(
    private readonly store: Store,
    private readonly element: HTMLElement,
  ) {}

  /** Look how much room there is. */
  measure(): void {
    this.roomy = this.element.clientWidth >= ROOM_FOR_TWO;
  }

  get unified(): boolean {
    const mode = this.store.get("layout_mode");
    return mode === "unified" || (mode === "auto" && !this.roomy);
  }

  get name(): "unified" | "split" {
    return this.unified ? "unified" : "split";
  }

  /** The other one; by itself again where that is what there is room for. */
  toggle(): void {
    const unified = !this.unified;
    this.store.set({ layout_mode: unified === !this.roomy ? "auto" : unified ? "unified" : "split" });
  }
}
