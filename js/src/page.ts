/** The host of an offline page: it gives each view of the page its model and its code. */

import { importCode } from "./gzip";
import type { Host, Render } from "./mount";
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

for (const place of document.querySelectorAll<HTMLElement>(".irw-view")) {
  const name = place.dataset["bundle"]!;
  const state = JSON.parse(place.querySelector("script")!.textContent!) as Record<string, unknown>;
  if (typeof state["data"] === "string") state["data"] = decode(state["data"]);
  if (!bundles.has(name)) bundles.set(name, importCode(codeOf(name)));
  const view = await bundles.get(name)!;
  place.replaceChildren();
  await view.render({ model: new PageModel(state), el: place, host });
}
