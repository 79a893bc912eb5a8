/** The host of an offline page: it gives each view of the page its model and its code. */

import { importCode } from "./gzip";
import type { Host, Render } from "./mount";
import { saveFile } from "./export";
import { KEEP, SAVE } from "./outside";
import { PageModel } from "./pagemodel";

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const codeOf = (name: string): Uint8Array<ArrayBuffer> =>
  decode(document.getElementById(`irw-bundle-${name}`)!.textContent!);
/** Views name the code of others as they name models in Jupyter. */
const host: Host = { getModel: async (name) => new PageModel({ code: codeOf(name) }) };
const bundles = new Map<string, Promise<{ render: Render }>>();

/** The page as it came, to be saved with what is written on its views. */
const pristine = document.documentElement.cloneNode(true) as HTMLElement;
/** Whether there are notes that only this window has. */
let unsaved = false;

/** Save the page with its views' notes. */
function save(): void {
  saveFile("lowering.html", new TextEncoder().encode(`<!doctype html>\n${pristine.outerHTML}`));
  unsaved = false;
}

function keeps(place: HTMLElement, number: number): void {
  const script = pristine.querySelectorAll(".irw-view > script")[number]!;
  place.addEventListener(KEEP, (event) => {
    const state = JSON.parse(script.textContent!) as Record<string, unknown>;
    state["notes"] = (event as CustomEvent<unknown>).detail;
    // "<" as an escape, as Python writes it: no note can end the script.
    script.textContent = JSON.stringify(state).replaceAll("<", "\\u003c");
    unsaved = true;
    event.preventDefault();
  });
  place.addEventListener(SAVE, (event) => {
    event.preventDefault();
    save();
  });
}

window.addEventListener("beforeunload", (event) => {
  if (unsaved) event.preventDefault();
});

for (const [number, place] of document.querySelectorAll<HTMLElement>(".irw-view").entries()) keeps(place, number);
for (const place of document.querySelectorAll<HTMLElement>(".irw-view")) {
  const name = place.dataset["bundle"]!;
  const state = JSON.parse(place.querySelector("script")!.textContent!) as Record<string, unknown>;
  if (typeof state["data"] === "string") state["data"] = decode(state["data"]);
  if (!bundles.has(name)) bundles.set(name, importCode(codeOf(name)));
  const view = await bundles.get(name)!;
  place.replaceChildren();
  await view.render({ model: new PageModel(state), el: place, host });
}
