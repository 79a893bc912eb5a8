/** What views ask of the page around them, as events that bubble; the extension of JupyterLab takes them up. */

/** Interrupt the kernel of the notebook; whoever does prevents the event's default. */
export const INTERRUPT = "irwidget-interrupt";

/** Keep the notes of a view with the document that it is in; `detail` is the notes. */
export const KEEP = "irwidget-keep";

/** Give back the notes that were kept of a view that stood here before; `detail` is a function that takes them. */
export const RECALL = "irwidget-recall";

/** Keep the experiments of a view with the document; `detail` has them, and `data`, the dumps of all of the view. */
export const KEEP_EXPERIMENTS = "irwidget-keep-experiments";

/** Give back the experiments of a view that stood here before; `detail` is a function that takes them. */
export const RECALL_EXPERIMENTS = "irwidget-recall-experiments";

/** Save the page with the notes in it. */
export const SAVE = "irwidget-save";

/** Whether somebody around has taken a wish up. */
export function asked(element: HTMLElement, wish: string, detail: unknown = null): boolean {
  return !element.dispatchEvent(new CustomEvent(wish, { bubbles: true, composed: true, cancelable: true, detail }));
}
