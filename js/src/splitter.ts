/** A bar between two parts of a view that is dragged, or moved with the arrow keys. */

import { h, OWN_KEYS } from "./dom";

/** Pixels that an arrow key moves. */
const STEP = 24;

/**
 * `size` says how wide the part before the bar is, `resize` makes it as wide as wanted, `reset` as wide as it was at
 * first; all in pixels.
 */
export function splitter(
  label: string,
  part: { size: () => number; resize: (pixels: number) => void; reset: () => void },
): HTMLElement {
  const tell = (): void => bar.setAttribute("aria-valuenow", String(Math.round(part.size())));
  const resize = (pixels: number): void => {
    part.resize(pixels);
    tell();
  };
  const bar: HTMLElement = h("div", {
    class: "irw-splitter",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "vertical",
    "aria-label": label,
    "aria-valuenow": 0,
    "aria-valuemin": 0,
    "aria-valuemax": 10_000,
    focus: tell,
    title: `${label}: drag, or arrow keys; double click: as at first`,
    ...OWN_KEYS,
    pointerdown: (event: PointerEvent) => {
      const [from, size] = [event.clientX, part.size()];
      bar.setPointerCapture(event.pointerId);
      const move = ({ clientX }: PointerEvent): void => resize(size + clientX - from);
      bar.addEventListener("pointermove", move);
      bar.addEventListener("lostpointercapture", () => bar.removeEventListener("pointermove", move), { once: true });
      event.preventDefault();
    },
    dblclick: () => part.reset(),
    keydown: (event: KeyboardEvent) => {
      const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
      if (by === undefined) return;
      resize(part.size() + by);
      event.preventDefault();
      event.stopPropagation();
    },
  });
  return bar;
}
