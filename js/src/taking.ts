/** The dump on the right, taken along: to the clipboard, or as a file. */

import type { Analysis } from "./analysis";
import type { Stage, Trace } from "./dumps";
import { copyText, saveText } from "./export";
import { absent } from "./panels";

/** What is asked of the view. */
export interface Shown {
  readonly right: Stage;
  readonly trace: Trace;
  readonly lines: Analysis;
  say(text: string): void;
}

/** The text of a stage, as a file has it. */
export function textOf(lines: Analysis, stage: Stage): string {
  return `${Array.from(stage.lines, (id) => lines.text(id)).join("\n")}\n`;
}

const RESOURCE = /dense_resource<([^>]*)>/g;
const EXTERNAL = /^@(\S+) = external constant /gm;

/** How many constants of a text of MLIR or LLVM IR have no values there. */
export function leftOut(text: string): number {
  const kept = text.split("{-#").slice(1).join();
  const named = new Set(Array.from(text.matchAll(RESOURCE), ([, name]) => name ?? ""));
  const lost = Array.from(named).filter((name) => !kept.includes(`${name}:`));
  return lost.length + Array.from(text.matchAll(EXTERNAL)).length;
}

/** What there is to say of a text that is taken along. */
function told(what: string, text: string): string {
  const count = leftOut(text);
  if (!count) return what;
  const values = `the values of ${String(count)} constant${count > 1 ? "s" : ""}`;
  return `${what} without ${values}, which elide=False and --no-elide keep`;
}

export async function copyDump(view: Shown): Promise<void> {
  const { right } = view;
  if (!right.ready) return view.say(absent(right, right));
  const text = textOf(view.lines, right);
  view.say((await copyText(text)) ? told("Copied", text) : "The browser did not allow copying");
}

export function saveDump(view: Shown): void {
  const { right, trace, lines } = view;
  const name = `${trace.name || "lowering"}-${right.label}`;
  if (!right.ready) return view.say(absent(right, right));
  const text = textOf(lines, right);
  saveText(name, right.language, text);
  view.say(leftOut(text) ? told("Saved", text) : "");
}
