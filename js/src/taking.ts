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

export async function copyDump(view: Shown): Promise<void> {
  const { right } = view;
  if (!right.ready) return view.say(absent(right, right));
  const done = await copyText(textOf(view.lines, right));
  view.say(done ? "Copied" : "The browser did not allow copying");
}

export function saveDump(view: Shown): void {
  const { right, trace, lines } = view;
  const name = `${trace.name || "lowering"}-${right.label}`;
  view.say(right.ready ? saveText(name, right.language, textOf(lines, right)) : absent(right, right));
}
