/** How every view comes into a page and leaves it. */

import { h } from "./dom";
import type { Model } from "./model";
import { followTheme } from "./theme";

/** Finds the models that others refer to. */
export interface Host {
  getModel(reference: string): Promise<Model>;
}

export interface Context {
  readonly model: Model;
  readonly el: HTMLElement;
  readonly host?: Host;
}

export type Render = (context: Context) => Promise<() => void>;

export interface View {
  readonly element: HTMLElement;
  /** Draw: the element is in the page now, and its theme is known. */
  start(): Promise<void> | void;
  close(): void;
}

/** The `render` of a bundle; `what` is what the reader misses when the view cannot start. */
export function mounted(style: string, what: string, make: (context: Context) => View): Render {
  return async (context) => {
    const { el } = context;
    // In a shadow root or a page that is still being put together, there is nothing to measure before.
    while (!el.isConnected) await new Promise((resolve) => requestAnimationFrame(resolve));
    const view = make(context);
    const sheet = h("style", {}, style);
    setDistinctLabel(view.element);
    el.append(sheet, view.element);
    const unfollow = followTheme(view.element);
    try {
      await view.start();
    } catch (error) {
      view.element.replaceChildren(h("pre", { role: "alert" }, `irwidget could not show ${what}.\n${String(error)}`));
      throw error;
    }
    return () => {
      unfollow();
      view.close();
      view.element.remove();
      sheet.remove();
    };
  };
}

/** Number a view whose like is on the page already: a screen reader lists regions by their labels. */
function setDistinctLabel(element: HTMLElement): void {
  const others = [...document.querySelectorAll("[role=region]")].map((one) => one.getAttribute("aria-label"));
  const label = element.getAttribute("aria-label");
  for (let n = 2; label && others.includes(element.getAttribute("aria-label")); n++)
    element.setAttribute("aria-label", `${label} ${n}`);
}
