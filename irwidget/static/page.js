// src/page.ts
var PageModel = class {
  constructor(state) {
    this.state = state;
  }
  state;
  listeners = /* @__PURE__ */ new Map();
  get(key) {
    return this.state[key];
  }
  set(key, value) {
    if (this.state[key] === value) return;
    this.state[key] = value;
    for (const listener of this.listeners.get(`change:${key}`) ?? []) listener();
  }
  save_changes() {
  }
  on(event, callback) {
    if (!this.listeners.has(event)) this.listeners.set(event, /* @__PURE__ */ new Set());
    this.listeners.get(event).add(callback);
  }
  off(event, callback) {
    this.listeners.get(event)?.delete(callback);
  }
};
function decode(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
var zipped = new Blob([decode(document.getElementById("irw-bundle").textContent)]).stream();
var code = await new Response(zipped.pipeThrough(new DecompressionStream("gzip"))).blob();
var url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
var viewer = await import(url);
URL.revokeObjectURL(url);
for (const place of document.querySelectorAll(".irw-view")) {
  const state = JSON.parse(place.querySelector("script").textContent);
  state["data"] = decode(state["data"]);
  place.replaceChildren();
  await viewer.render({ model: new PageModel(state), el: place });
}
