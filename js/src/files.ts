/** The files that a lowering left: to be taken away, and the graphs among them to be looked at. */

import { h, OWN_KEYS, plural, thousands } from "./dom";
import type { Attachment } from "./dumps";
import type { Drawn } from "./graph";
import { readCode } from "./gzip";
import type { Model } from "./model";
import type { Host } from "./mount";
import { drawing } from "./svg";
import { saveFile } from "./export";

/** Milliseconds after which a graph is too large to be drawn. */
const PATIENCE = 30_000;

/** Draws DOT as SVG; its code comes when it is first asked for. */
export class Painter {
  private code: Promise<string> | null = null;

  constructor(private readonly load: () => Promise<Blob>) {}

  async draw(dot: string, signal: AbortSignal): Promise<SVGSVGElement> {
    this.code ??= this.load().then((code) => URL.createObjectURL(code));
    const worker = new Worker(await this.code);
    try {
      const answer = await new Promise<Drawn>((resolve, reject) => {
        worker.onmessage = ({ data }: MessageEvent<Drawn>) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message || "The page does not allow workers."));
        signal.addEventListener("abort", () => reject(new Error("closed")));
        setTimeout(
          () => resolve({ error: `Not drawn within ${PATIENCE / 1000} seconds: take the file to Graphviz.` }),
          PATIENCE,
        );
        worker.postMessage(dot);
      });
      if ("error" in answer) throw new Error(answer.error);
      const drawn = drawing(answer.svg);
      if (!drawn) throw new Error("Graphviz made no drawing of this graph.");
      return drawn;
    } finally {
      worker.terminate();
    }
  }
}

/** What draws graphs, when the lowering came with the code for it. */
export function painterOf(model: Model, host: Host | undefined): Painter | null {
  const reference = model.get("graph");
  if (typeof reference !== "string" || !reference || !host) return null;
  return new Painter(async () => readCode((await host.getModel(reference)).get("code") as DataView<ArrayBuffer>));
}

/** The list of files, closed until it is asked for; null when there are none. */
export function files(
  attachments: readonly Attachment[],
  painter: Painter | null,
  open: (dialog: HTMLDialogElement) => void,
): HTMLElement | null {
  if (attachments.length === 0) return null;
  const item = (file: Attachment): HTMLElement => {
    const { name, size, data } = file;
    const buttons = [];
    if (data && painter && name.endsWith(".dot")) {
      buttons.push(
        h(
          "button",
          { type: "button", "aria-label": `Draw ${name}`, ...OWN_KEYS, click: () => open(graph(file, painter)) },
          "Draw",
        ),
      );
    }
    if (data) {
      buttons.push(
        h(
          "button",
          { type: "button", "aria-label": `Save ${name}`, ...OWN_KEYS, click: () => saveFile(name, data) },
          "Save",
        ),
      );
    }
    const note = data ? "" : ": too large for the page; in Python, trace.attachments has it";
    return h("li", {}, h("code", {}, name), h("span", {}, ` ${thousands(size)} bytes${note} `), ...buttons);
  };
  return h(
    "details",
    { class: "irw-fact irw-files" },
    h("summary", { ...OWN_KEYS }, plural(attachments.length, "file")),
    h("ul", {}, ...attachments.map(item)),
  );
}

function graph({ name, data }: Attachment, painter: Painter): HTMLDialogElement {
  const stop = new AbortController();
  const place = h(
    "div",
    { class: "irw-drawing", tabindex: 0, role: "img", "aria-label": `Graph ${name}`, ...OWN_KEYS },
    "Drawing …",
  );
  let svg: SVGSVGElement | null = null;
  let [width, scale] = [0, 1];
  const zoom = (by: number): void => {
    if (!svg) return;
    scale = by === 0 ? Math.min(1, (place.clientWidth - 24) / width) : Math.min(8, Math.max(0.05, scale * by));
    svg.style.width = `${width * scale}px`;
    svg.style.height = "auto";
  };
  const button = (text: string, title: string, click: () => void): HTMLElement =>
    h("button", { type: "button", title, "aria-label": title, ...OWN_KEYS, click }, text);
  const dialog = h(
    "dialog",
    {
      class: "irw-graph",
      "aria-label": `Graph ${name}`,
      ...OWN_KEYS,
      keydown: (event: KeyboardEvent) => {
        const by = { "+": 1.25, "=": 1.25, "-": 0.8, "0": 0 }[event.key];
        if (by === undefined) return;
        zoom(by);
        event.preventDefault();
      },
    },
    h(
      "div",
      { class: "irw-graph-bar" },
      h("b", {}, name),
      h("span", { class: "irw-space" }),
      button("+", "Larger (+)", () => zoom(1.25)),
      button("−", "Smaller (-)", () => zoom(0.8)),
      button("Fit", "Fit the width (0)", () => zoom(0)),
      button(
        "Save SVG",
        "Save the drawing",
        () => svg && saveFile(name.replace(/\.dot$/, ".svg"), new TextEncoder().encode(svg.outerHTML)),
      ),
      button("Close", "Close (Esc)", () => dialog.close()),
    ),
    place,
  );
  dialog.addEventListener("close", () => stop.abort());
  const shown = (drawn: SVGSVGElement): void => {
    svg = drawn;
    width = (Number.parseFloat(drawn.getAttribute("width") ?? "") * 4) / 3 || 800; // Graphviz says points
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    place.replaceChildren(svg);
    zoom(0);
    dialog.dataset["drawn"] = "true";
  };
  painter.draw(new TextDecoder().decode(data!), stop.signal).then(shown, (error: unknown) => {
    place.replaceChildren(h("pre", { role: "alert" }, error instanceof Error ? error.message : String(error)));
  });
  return dialog;
}
