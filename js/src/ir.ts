/** What the viewer knows of the text of IRs: names under the cursor, and colours. */

import type { Segment } from "./diff";

/** Cut a dump at the lines that define symbols; what comes before the first is the segment "". */
export function cut(lines: Int32Array, symbolOf: (id: number) => string): Segment[] {
  const segments: Segment[] = [];
  let name = "";
  let from = 0;
  for (let i = 0; i < lines.length; i++) {
    const symbol = symbolOf(lines[i]!);
    if (!symbol) continue;
    if (i > from) segments.push({ name, from, to: i });
    name = symbol;
    from = i;
  }
  segments.push({ name, from, to: lines.length });
  return segments;
}

/** The dialect of an operation; for languages without dialects, the operation up to its first dot. */
export function dialect(op: string): string {
  const dot = op.indexOf(".");
  return dot < 0 ? op : op.slice(0, dot);
}

/** Colours are one regular expression, so that only the lines in sight cost anything; the group names the class. */
const TYPES = String.raw`(?:(?<![\w.$])|(?<=[\dx]))(?:bf16|tf32|f(?:4|6|8|16|32|64|80|128)\w*|[su]?i\d+|index|none|half|bfloat|float|double|ptr|void)\b|(?<![\w.$])(?:tensor|memref|vector|tuple|complex)(?=<)|![a-zA-Z_][\w.$]*`;
const MLIR = new RegExp(
  [
    String.raw`(?<comment>//.*)`,
    String.raw`(?<generic>"[a-z_]\w*(?:\.\w+)+"(?=\())`,
    String.raw`(?<string>"(?:[^"\\]|\\.)*")`,
    String.raw`(?<value>%[\w$.-]+(?:#\d+)?)`,
    String.raw`(?<symbol>@(?:"[^"]*"|[\w$.-]+)|\^\w+)`,
    String.raw`(?<alias>#[a-zA-Z_][\w.]*)`,
    `(?<type>${TYPES})`,
    String.raw`(?<op>(?<![\w.$<])[a-z_]\w*(?:\.[a-z_]\w*)+|(?<=^\s*)(?:module|return|func)\b)`,
    String.raw`(?<keyword>(?<![\w.$])(?:attributes|private|public|ins|outs|iter_args|to|step|affine_map|affine_set|dense|dense_resource|loc|true|false)\b)`,
    String.raw`(?<number>(?<![\w.$])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`,
  ].join("|"),
  "g",
);
const LLVM = new RegExp(
  [
    String.raw`(?<comment>;.*)`,
    String.raw`(?<string>c?"[^"]*")`,
    String.raw`(?<value>%(?:"[^"]*"|[\w$.-]+))`,
    String.raw`(?<symbol>@(?:"[^"]*"|[\w$.-]+)|^[\w$.-]+:)`,
    String.raw`(?<alias>#\d+|![\w.]*)`,
    `(?<type>${TYPES}|(?<![\\w.$%@])label\\b)`,
    String.raw`(?<keyword>^(?:define|declare|target|source_filename|attributes)\b|(?<![\w.$%@])(?:noundef|nonnull|nocapture|readonly|align|inbounds|nsw|nuw|fast|to|null|undef|poison|zeroinitializer|true|false|private|external|global|constant)\b)`,
    String.raw`(?<op>(?<=^\s+|=\s(?:tail )?)[a-z]\w*)`,
    String.raw`(?<number>(?<![\w.$%@])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`,
  ].join("|"),
  "g",
);
const ASM = new RegExp(
  [
    String.raw`(?<comment>//.*|;.*)`,
    String.raw`(?<string>"[^"]*")`,
    String.raw`(?<value>%[\w$.]+|\b[sva]\d+\b|\b[sva]\[\d+:\d+\]|\b(?:R|P|UR|UP)\d+\b)`,
    String.raw`(?<symbol>^[\w$.@]+:|\$L\w+)`,
    String.raw`(?<keyword>^\s*\.\w+|(?<=[\s(])\.\w+)`,
    String.raw`(?<op>(?<=^\s+(?:@!?%?\w+\s+)?)[A-Za-z][\w.]*)`,
    String.raw`(?<number>(?<![\w.$%])-?(?:0[xfd][\dA-Fa-f]+|\d+(?:\.\d*)?)(?![\w.]))`,
  ].join("|"),
  "g",
);
const PYTHON = new RegExp(
  [
    String.raw`(?<comment>#.*)`,
    String.raw`(?<string>[rbf]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))`,
    String.raw`(?<op>(?<![\w.])(?:def|class|return|import|from|as|for|in|while|if|elif|else|with|lambda|not|and|or|is|yield|raise|try|except|finally|assert|pass|del|async|await)\b)`,
    String.raw`(?<keyword>(?<![\w.])(?:None|True|False|self|super)\b|^\s*@[\w.]+|^\s*%%?\w+)`,
    String.raw`(?<value>%\w+)`,
    String.raw`(?<number>(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w]))`,
  ].join("|"),
  "g",
);
const PLAIN = /(?<string>"(?:[^"\\]|\\.)*")|(?<number>(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]))/g;

const COLOURS: Readonly<Record<string, RegExp>> = {
  mlir: MLIR,
  llvm: LLVM,
  ptx: ASM,
  amdgcn: ASM,
  sass: ASM,
  x86asm: ASM,
  spirv: ASM,
  python: PYTHON,
  fx: PYTHON,
};

export function colours(language: string): RegExp {
  return COLOURS[language] ?? PLAIN;
}

/** Values and numbers are as plain text: they are half of all tokens, and each would be an element of its own. */
const COLOURED = ["op", "type", "generic", "string", "symbol", "alias", "keyword", "comment"] as const;

/** The class of what `colours` has found, or "". */
export function colourOf({ groups }: RegExpMatchArray): string {
  const group = groups && COLOURED.find((name) => groups[name] !== undefined);
  return group ? `irw-${group === "generic" ? "op" : group}` : "";
}

const NAME = /%(?:"[^"]*"|[\w$.-]+)|\^\w+|@(?:"[^"]*"|[\w$.-]+)/g;

/** The name that stands where `name` stands in a line that is equal apart from renumbering. */
export function nameBeside(line: string, from: number, other: string): string | null {
  const at = [...line.matchAll(NAME)].findIndex((found) => found.index === from);
  return [...other.matchAll(NAME)][at]?.[0] ?? null;
}

/** The name under a column of a line: `%x`, `^bb1`, `@f`, or "". */
export function nameAt(line: string, column: number): { name: string; from: number } | null {
  for (const found of line.matchAll(NAME)) {
    if (found.index > column) return null;
    if (column <= found.index + found[0].length) return { name: found[0], from: found.index };
  }
  return null;
}

/** Whether a line defines a name; `symbol` is the symbol that it defines. */
export function defines(line: string, name: string, symbol: string): boolean {
  const at = line.indexOf(name);
  if (at < 0) return false;
  if (name[0] === "@") return symbol === name.slice(1);
  if (name[0] === "^") return line.trimStart().startsWith(name);
  const equals = line.indexOf("=");
  // `%x = ...`, `%x:2 = ...`, or the argument of a function, block or loop: `%x: type`.
  if (equals > 0 && /^\s*%/.test(line) && wordIn(line.slice(0, equals), name)) return true;
  // MLIR writes `%x: type` where it names a value and `%x : type` where it uses one.
  const rest = line.slice(at + name.length);
  if (/^:\s/.test(rest) && /[(,]\s*$/.test(line.slice(0, at))) return true;
  return /^define\b/.test(line) && /^\s*[,)]/.test(rest);
}

/** Whether a name occurs as a whole word. */
export function wordIn(line: string, name: string): boolean {
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    if (!/[\w$.-]/.test(line[at + name.length] ?? "")) return true;
  }
  return false;
}
