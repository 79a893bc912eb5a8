// src/stub.ts
var loaded = globalThis[/* @__PURE__ */ Symbol.for("irwidget")] ??= /* @__PURE__ */ new Map();
async function load(bundle) {
  const code = new Blob([bundle.get("code")]);
  const text = await new Response(code.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}
var stub_default = {
  async render(context) {
    const bundle = await context.host.getModel(context.model.get("bundle"));
    const version = bundle.get("version");
    let module = loaded.get(version);
    if (!module) loaded.set(version, module = load(bundle));
    return (await module).render(context);
  }
};
export {
  stub_default as default
};
