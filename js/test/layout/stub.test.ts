import { expect, it, vi } from "vitest";
import type { Model } from "../../src/model";
import { PageModel } from "../../src/pagemodel";
import stub from "../../src/stub";
import { place } from "./page";

async function code(text: string): Promise<DataView<ArrayBuffer>> {
  const source = `export function render({ el }) { el.textContent = "${text}"; return () => (el.textContent = ""); }`;
  const stream = new Blob([source]).stream().pipeThrough(new CompressionStream("gzip"));
  return new DataView(await new Response(stream).arrayBuffer());
}

it("shows a view anew when its bundle has new code, and nothing once it is closed", async () => {
  const bundle = new PageModel({ code: await code("old"), version: "1" });
  const el = place();
  const model: Model = new PageModel({ bundle: "b" });
  const stop = await stub.render({ model, el, host: { getModel: async () => bundle } });
  expect(el.textContent).toBe("old");
  bundle.set("code", await code("new"));
  bundle.set("version", "2");
  await vi.waitFor(() => expect(el.textContent).toBe("new"));
  stop();
  await vi.waitFor(() => expect(el.textContent).toBe(""));
  bundle.set("version", "3");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(el.textContent).toBe("");
});
