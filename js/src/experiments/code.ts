/** An experiment as code that runs it by itself: a cell, a call. */

import type { Experiment } from "../schema";

/** A word of a line of options: in quotes, where it has more than letters. */
function quoted(text: string): string {
  return /^[\w.=-]+$/.test(text) ? text : `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

/** What the call has for a switch of the line. */
const ARGUMENTS: Readonly<Record<string, string>> = { "--no-elide": "elide=False", "--external": "external=True" };

/** A cell that runs the passes on the text. */
export function cellOf({ pipeline, toolchain, switches = [], cell }: Experiment, text: string): string {
  if (cell) return `%%lower ${cell}\n${text}`;
  const releases = toolchain ? ` --toolchain ${quoted(toolchain)}` : "";
  const more = [releases, ...switches.map((word) => ` ${word}`)].join("");
  return `%%lower --to raw_ir${pipeline ? ` --pipeline ${quoted(pipeline)}` : ""}${more}\n${text}`;
}

/** A string of Python on lines of its own. */
function python(text: string): string {
  const raw = !text.includes('"""') && !text.endsWith("\\") && !text.endsWith('"');
  return raw ? `r"""\\\n${text}"""`.replace('r"""\\\n', 'r"""') : JSON.stringify(text);
}

/** A call that runs the passes on the text. */
export function callOf({ pipeline, toolchain, switches = [], cell }: Experiment, text: string): string {
  if (cell) return `get_ipython().run_cell_magic("lower", ${JSON.stringify(cell)}, ${python(text)})\n`;
  const options = [
    pipeline && `pipeline=${JSON.stringify(pipeline)}`,
    toolchain && `toolchain=${JSON.stringify(toolchain)}`,
    ...switches.map((word) => ARGUMENTS[word]),
  ]
    .filter(Boolean)
    .map((said) => `, ${said}`)
    .join("");
  return `import irwidget\n\nirwidget.lower(${python(text)}, to="raw_ir"${options})\n`;
}
