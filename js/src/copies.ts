/** Why one-shot-bufferize gave an operand a buffer of its own: Python runs its analysis when somebody asks. */

import type { Analysis } from "./analysis";
import { Asker } from "./ask";
import { h, OWN_KEYS, plural } from "./dom";
import type { Dialogs } from "./dialogs";
import type { Dumps } from "./dumps";
import type { Model, Store } from "./model";
import { shortName } from "./source";
import type { BufferConflict, Bufferization, BufferPlace, OwnBuffer } from "./schema";

const PASS = "one-shot-bufferize";

/** What is asked of the view. */
export interface Shown {
  readonly lines: Analysis;
  readonly dialogs: Dialogs;
  /** Go to a line, from 0, of the stage before the one on the right. */
  goBefore(line: number): void;
  say(text: string): void;
}

export class Copies {
  /** Nobody is there to ask in an offline page. */
  private readonly asker: Asker | null;
  /** What was found, by the lowering and the stage; other dumps have other answers. */
  private readonly found = new Map<string, Bufferization>();
  private of: Dumps | null = null;

  constructor(
    private readonly model: Model,
    private readonly store: Store,
    private readonly view: Shown,
  ) {
    this.asker = model.send ? new Asker(model, () => view.say("The analysis is still running")) : null;
  }

  /** Whether the stage on the right is one that can be asked about. */
  get there(): boolean {
    const { traces } = this.view.lines.dumps;
    const stage = traces[this.store.get("trace")]?.stages[this.store.get("right")];
    return this.asker !== null && this.model.get("editable") === true && stage?.name === PASS;
  }

  button(): HTMLElement {
    const title = "Which operands got buffers of their own, and which reads forced it";
    return h(
      "button",
      { type: "button", class: "irw-inside", title, ...OWN_KEYS, click: () => void this.open() },
      "Why copies",
    );
  }

  private async open(): Promise<void> {
    if (this.of !== this.view.lines.dumps) this.found.clear();
    this.of = this.view.lines.dumps;
    const [trace, stage] = [this.store.get("trace"), this.store.get("right")];
    const key = `${trace} ${stage}`;
    if (!this.found.has(key)) {
      this.view.say("Running the analysis of one-shot-bufferize");
      const { error, buffers } = await this.asker!.request({ kind: "bufferization", trace, stage });
      this.view.say(error);
      if (error || !buffers[0]) return;
      this.found.set(key, JSON.parse(new TextDecoder().decode(buffers[0])) as Bufferization);
    }
    const dialog = h("dialog", { class: "irw-graph irw-short", "aria-label": "Why there are copies", ...OWN_KEYS });
    const go = (line: number): void => {
      dialog.close();
      this.view.goBefore(line);
    };
    dialog.append(...written(this.found.get(key)!, go, () => dialog.close()));
    this.view.dialogs.open(dialog);
  }

  close(): void {
    this.asker?.close();
  }
}

/** What is in the window; `go` shows a line of the dump before the pass. */
export function written(found: Bufferization, go: (line: number) => void, close: () => void): HTMLElement[] {
  const link = ({ line, said, user, place }: BufferPlace): HTMLElement =>
    h(
      "button",
      { type: "button", title: `Show line ${line} before the pass`, ...OWN_KEYS, click: () => go(line - 1) },
      user ? `${said} (${shortName(user)}:${place})` : said,
    );
  const conflict = ({ definition, write, read }: BufferConflict): HTMLElement =>
    h("li", {}, link(write), " would overwrite ", link(definition), ", which is still read: ", link(read));
  const own = ({ operand, conflicts, related }: OwnBuffer): HTMLElement => {
    const unnamed = "The analysis names no conflict in which it is the write";
    const said = related.length > 0 ? `${unnamed}; its operation takes part in:` : `${unnamed}.`;
    return h(
      "li",
      {},
      link(operand),
      ...(conflicts.length > 0 ? [] : [h("p", { class: "irw-dim" }, said)]),
      h("ul", {}, ...[...conflicts, ...related].map(conflict)),
    );
  };
  const count = found.own.length;
  const head =
    count > 0
      ? `${plural(count, "operand")} with ${count > 1 ? "buffers" : "a buffer"} of ${count > 1 ? "their" : "its"} own`
      : "Every operand is written in place";
  const fixed = found.not_writable.map((place) => h("li", {}, link(place)));
  return [
    h(
      "div",
      { class: "irw-graph-bar" },
      h("b", {}, head),
      h("span", { class: "irw-dim" }, "by the analysis of one-shot-bufferize; lines are of the dump before it"),
      h("button", { type: "button", class: "irw-close", ...OWN_KEYS, click: close }, "Close"),
    ),
    h(
      "div",
      { class: "irw-copies" },
      h("ol", {}, ...found.own.map(own)),
      ...(fixed.length > 0 ? [h("p", {}, "Nothing may write into:"), h("ul", {}, ...fixed)] : []),
    ),
  ];
}
