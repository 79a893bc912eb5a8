/** The text of a pane, with the place of each line: CodeMirror finds a line in a long text too slowly for thousands. */

import { Text } from "@codemirror/state";

export interface Doc {
  readonly text: Text;
  /** Where each line starts; one entry more than there are lines. */
  readonly starts: Int32Array;
}

export function docOf(lines: string[]): Doc {
  if (lines.length === 0) lines = [""];
  const starts = new Int32Array(lines.length + 1);
  for (let i = 0; i < lines.length; i++) starts[i + 1] = starts[i]! + lines[i]!.length + 1;
  return { text: Text.of(lines), starts };
}
