/** The colours of what other compilers print: XLA's HLO, LLVM's machine IR, GCC's GIMPLE and RTL. */

const STRING = String.raw`(?<string>"(?:[^"\\]|\\.)*")`;
const NUMBER = String.raw`(?<number>(?<![\w.$%#])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`;

function joined(...parts: string[]): RegExp {
  return new RegExp(parts.join("|"), "g");
}

export const FOREIGN: Readonly<Record<string, RegExp>> = {
  hlo: joined(
    String.raw`(?<comment>//.*|/\*.*?\*/)`,
    STRING,
    String.raw`(?<value>%[\w.-]+)`,
    String.raw`(?<type>\b(?:pred|token|opaque|bf16|[su]\d+|[fc]\d+\w*)(?=\[|\)|,))`,
    String.raw`(?<keyword>^\s*(?:HloModule|ENTRY|FileNames|FunctionNames|FileLocations|StackFrames)\b|\bROOT\b|\b[a-z][\w-]*(?==))`,
    String.raw`(?<op>(?<=[\])}] )[a-z][\w-]*(?=\())`,
    NUMBER,
  ),
  mir: joined(
    String.raw`(?<comment>;.*|^#.*)`,
    STRING,
    String.raw`(?<symbol>@[\w$.-]+|^\s*bb\.\d+[\w.]*|%bb\.\d+)`,
    String.raw`(?<value>%[\w.-]+|\$\w+)`,
    String.raw`(?<type>(?<=:)(?:[a-z][\w]*(?:\([^)]*\))?))`,
    String.raw`(?<keyword>\b(?:renamable|implicit|implicit-def|killed|dead|def|undef|early-clobber|nsw|nuw|successors|liveins|tied-def|debug-location)\b)`,
    String.raw`(?<op>(?<=^\s+|= (?:nsw |nuw |nofpexcept )*)[A-Z][A-Z\d_a-z]*\b)`,
    NUMBER,
  ),
  gimple: joined(
    String.raw`(?<comment>;;.*|//.*|/\*.*?\*/)`,
    STRING,
    String.raw`(?<symbol>^\s*<bb \d+>|<L?\d+>|<D\.\d+>|<bb \d+>)`,
    String.raw`(?<keyword>#\s*(?:PHI|VUSE|\.MEM\w*|DEBUG)|\b(?:goto|if|else|return|PHI|try|finally)\b)`,
    String.raw`(?<type>\b(?:void|unsigned|signed|int|long|short|char|float|double|bool|_Bool|sizetype|struct|vector\(\d+\))\b)`,
    String.raw`(?<value>\b[A-Za-z_]\w*_\d+(?:\(D\))?|\b_\d+\b|\bD\.\d+\b)`,
    String.raw`(?<op>\b\w+(?= \())`,
    NUMBER,
  ),
  rtl: joined(
    String.raw`(?<comment>;;.*)`,
    STRING,
    String.raw`(?<keyword>(?<=\()(?:(?:jump_|call_|debug_)?insn|code_label|barrier|note)\b(?:/[a-z])*)`,
    String.raw`(?<type>(?<=\w):[A-Z][A-Z\d]*\b)`,
    String.raw`(?<alias>\[[^\]]*\])`,
    String.raw`(?<op>(?<=\()[a-z_]\w*(?:/[a-z])*)`,
    NUMBER,
  ),
};
