/** What views ask of the page around them, as events that bubble; the extension of JupyterLab takes them up. */

/** Interrupt the kernel of the notebook; whoever does prevents the event's default. */
export const INTERRUPT = "irwidget-interrupt";

/** Whether somebody around has taken a wish up. */
export function asked(element: HTMLElement, wish: string, detail: unknown = null): boolean {
  return !element.dispatchEvent(new CustomEvent(wish, { bubbles: true, composed: true, cancelable: true, detail }));
}
