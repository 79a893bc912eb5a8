/** The colours of IR: what is an operation, a type, a string ... on a line. */

import { FOREIGN } from "./foreign";
import { closing } from "./strings";

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
    String.raw`(?<op>(?<![\w.$<])[a-z_]\w*(?:\.[a-zA-Z_]\w*)+(?![\w.]*:)|(?<=^\s*|= )(?:module|return|func|call|call_indirect|constant)\b)`,
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
    String.raw`(?<comment>//.*|;.*|/\*[^*]*\*/)`,
    String.raw`(?<string>"[^"]*")`,
    String.raw`(?<value>%[\w$.]+|\b[sva]\d+\b|\b[sva]\[\d+:\d+\]|\b(?:R|P|UR|UP)\d+\b)`,
    String.raw`(?<symbol>^[\w$.@]+:|\$L\w+)`,
    String.raw`(?<keyword>^\s*\.\w+|(?<=[\s(])\.\w+)`,
    String.raw`(?<op>(?<=^\s+(?:/\*\w+\*/\s+)?(?:@!?%?\w+\s+|%\w+ = )?)[A-Za-z](?:[\w.]|::)*)`,
    String.raw`(?<number>(?<![\w.$%])-?(?:0[xfd][\dA-Fa-f]+|\d+(?:\.\d*)?)(?![\w.]))`,
  ].join("|"),
  "g",
);
const PYTHON = new RegExp(
  [
    String.raw`(?<comment>#.*)`,
    String.raw`(?<string>[rbfu]*(?:"""(?:[^\\]|\\.)*?(?:"""|$)|'''(?:[^\\]|\\.)*?(?:'''|$)|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))`,
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
  ...FOREIGN,
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

/** A part of a line, and its class. */
export interface Coloured {
  readonly from: number;
  readonly to: number;
  readonly class: string;
}

/** The parts of a line that have a colour; `open` are the quotes of a string that began on a line before. */
export function colouredParts(text: string, language: string, open = ""): Coloured[] {
  const parts: Coloured[] = [];
  const end = open ? closing(text, open) : 0;
  const start = end < 0 ? text.length : end;
  if (start > 0) parts.push({ from: 0, to: start, class: "irw-string" });
  const rest = text.slice(start);
  for (const found of rest.matchAll(colours(language))) {
    const name = colourOf(found);
    const from = start + found.index;
    if (name) parts.push({ from, to: from + found[0].length, class: name });
  }
  return parts;
}
