function n(a,r={},...e){let t=document.createElement(a);for(let[i,o]of Object.entries(r))typeof o=="function"?t.addEventListener(i,o):o===!0?t.setAttribute(i,""):o!==void 0&&o!==!1&&t.setAttribute(i,String(o));return t.append(...e),t}var u={"data-lm-suppress-shortcuts":"true"};function M(a){return String(a).replace(/\B(?=(\d{3})+$)/g,",")}function f(a,r,e=`${r}s`){return`${M(a)} ${a===1?r:e}`}var b=globalThis[Symbol.for("irwidget")]??=new Map;async function $(a){let r=new Blob([a.get("code")]),e=await new Response(r.stream().pipeThrough(new DecompressionStream("gzip"))).blob(),t=URL.createObjectURL(new Blob([e],{type:"text/javascript"}));try{return await import(t)}finally{URL.revokeObjectURL(t)}}var x={async render(a){let r=await a.host.getModel(a.model.get("bundle")),e=r.get("version"),t=b.get(e);return t||b.set(e,t=$(r)),(await t).render(a)}};var v=`.irw {
  --irw-bg: var(--jp-layout-color0, light-dark(#fff, #14171b));
  --irw-bg-raised: var(--jp-layout-color1, light-dark(#fff, #1a1d22));
  --irw-bg-quiet: var(--jp-layout-color2, light-dark(#f3f4f6, #23272e));
  --irw-fg: var(--jp-content-font-color0, light-dark(#14171b, #f2f2f2));
  --irw-dim: light-dark(#59606a, #a3abb5);
  --irw-line: light-dark(#d9dce1, #383d45);
  --irw-blue: light-dark(#0067a5, #63b3e8);
  --irw-orange: light-dark(#b34700, #f0955a);
  --irw-new: light-dark(#0072b214, #56b4e91f);
  --irw-gone: light-dark(#d55e0014, #e8803a1f);
  --irw-new-word: light-dark(#0072b22e, #56b4e93d);
  --irw-gone-word: light-dark(#d55e002e, #e8803a3d);
  --irw-hit-bg: light-dark(#ffe27a, #6b5600);
  --irw-code: var(--jp-code-font-family, ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace);
  color-scheme: light dark;
  position: relative;
  display: flex;
  flex-direction: column;
  height: 36rem;
  min-height: 16rem;
  resize: vertical;
  overflow: hidden;
  box-sizing: border-box;
  border: 1px solid var(--irw-line);
  border-radius: 6px;
  background: var(--irw-bg);
  color: var(--irw-fg);
  font: 12px/1.4 var(--jp-ui-font-family, system-ui, sans-serif);
  text-align: start;
}
.irw[data-theme="light"] { color-scheme: light; }
.irw[data-theme="dark"] { color-scheme: dark; }
.irw *, .irw *::before { box-sizing: border-box; }
.irw [hidden] { display: none !important; }
.irw b { font-weight: 600; }
.irw pre { margin: 4px 0 0; font: 12px/1.45 var(--irw-code); white-space: pre-wrap; overflow: auto; max-height: 12em; background: none; color: inherit; padding: 0; }
.irw-dim { color: var(--irw-dim); }

.irw-facts { display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 6px 10px 0; }
.irw-fact { color: var(--irw-dim); }
.irw-fact b { color: var(--irw-fg); }
.irw-failure { margin: 6px 10px 0; padding: 6px 10px; border: 1px solid light-dark(#b3261e, #f2877f); border-left-width: 4px; border-radius: 4px; }
.irw-failure > b { color: light-dark(#b3261e, #ff9a92); }

.irw-bar { display: flex; flex-wrap: wrap; align-items: center; gap: 4px; padding: 6px 10px; border-bottom: 1px solid var(--irw-line); }
.irw-space { flex: 1; }
.irw-found { color: var(--irw-dim); padding: 0 4px; }
.irw button, .irw select, .irw input {
  height: 24px; margin: 0; padding: 0 8px; border: 1px solid var(--irw-line); border-radius: 4px;
  background: var(--irw-bg-raised); color: var(--irw-fg); font: inherit; max-width: 16rem;
}
.irw select { padding: 0 4px; }
.irw input::placeholder { color: var(--irw-dim); opacity: 1; }
.irw-query { width: 13rem; }
.irw button { cursor: pointer; white-space: nowrap; }
.irw button:hover { background: var(--irw-bg-quiet); }
.irw button[aria-pressed="true"] { border-color: var(--irw-blue); color: var(--irw-blue); background: var(--irw-new); font-weight: 600; }
.irw :focus-visible { outline: 2px solid var(--irw-blue); outline-offset: -1px; }

.irw-body { flex: 1; display: flex; min-height: 0; }
.irw-side { width: 19rem; min-width: 9rem; max-width: 60%; display: flex; flex-direction: column; border-right: 1px solid var(--irw-line); resize: horizontal; overflow: hidden; }
.irw-filter { margin: 6px 8px 4px !important; max-width: none !important; flex: none; }
.irw-list { position: relative; flex: 1 1 60%; min-height: 0; overflow-y: auto; padding-bottom: 4px; }
.irw-list:focus-visible { outline-offset: -2px; }
.irw-row {
  position: relative; display: grid; grid-template-columns: 2.2em minmax(0, 1fr) 10px 46px 3.2em; align-items: center;
  column-gap: 5px; height: 25px; padding: 0 8px 3px 4px; cursor: pointer; border-left: 4px solid transparent;
}
.irw-row:hover, .irw-quiet:hover { background: var(--irw-bg-quiet); }
.irw-index { color: var(--irw-dim); text-align: right; font-variant-numeric: tabular-nums; }
.irw-name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.irw-same .irw-name, .irw-pending .irw-name { color: var(--irw-dim); }
.irw-pending .irw-name { font-style: italic; }
.irw-failed .irw-name, .irw-failed .irw-time { color: light-dark(#b3261e, #ff9a92); font-weight: 600; }
.irw-time { color: var(--irw-dim); text-align: right; font-size: 11px; font-variant-numeric: tabular-nums; }
.irw-hits { color: light-dark(#8a6a00, #f0d264); font-size: 9px; }
.irw-bars { position: relative; height: 9px; display: grid; grid-template-columns: 1fr 1fr; column-gap: 1px; }
.irw-bar-gone { justify-self: end; background: var(--irw-orange); height: 9px; border-radius: 2px 0 0 2px; }
.irw-bar-new { grid-column: 2; background: var(--irw-blue); height: 9px; border-radius: 0 2px 2px 0; }
.irw-strip { position: absolute; left: calc(2.2em + 9px); right: 8px; bottom: 1px; height: 3px; display: flex; gap: 1px; border-radius: 1px; overflow: hidden; opacity: 0.85; }
.irw-strip span { min-width: 1px; flex: 1 1 0; }
.irw-row.irw-left { border-left-color: var(--irw-orange); }
.irw-row.irw-right { border-left-color: var(--irw-blue); background: var(--irw-new); }
.irw-row.irw-right .irw-name { font-weight: 600; }
.irw-said-only { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.irw-quiet { padding: 2px 8px 2px calc(2.2em + 13px); color: var(--irw-dim); cursor: pointer; font-size: 11px; }
.irw-hue0 { background: light-dark(#0072b2, #4fa8dc); }
.irw-hue1 { background: light-dark(#e69f00, #e69f00); }
.irw-hue2 { background: light-dark(#009e73, #2bbd92); }
.irw-hue3 { background: light-dark(#cc79a7, #cc79a7); }
.irw-hue4 { background: light-dark(#56b4e9, #8ccdf2); }
.irw-hue5 { background: light-dark(#d55e00, #e8803a); }
.irw-hue6 { background: light-dark(#b8a900, #f0e442); }
.irw-hue7 { background: light-dark(#9aa0a8, #7a828c); }

.irw-main { flex: 1; min-width: 0; display: flex; flex-direction: column; }
.irw-titles { display: flex; padding-right: 12px; border-bottom: 1px solid var(--irw-line); }
.irw-title { flex: 1 1 50%; min-width: 0; padding: 4px 10px; display: flex; gap: 6px; white-space: nowrap; overflow: hidden; border-top: 2px solid transparent; }
.irw-title b, .irw-title span { overflow: hidden; text-overflow: ellipsis; }
.irw-title b, .irw-title .irw-index { flex: none; max-width: 80%; }
.irw-inside { flex: none; margin-left: auto; padding: 0 6px; }
.irw-title.irw-left { border-top-color: var(--irw-orange); }
.irw-title.irw-right { border-top-color: var(--irw-blue); }
.irw-panes { flex: 1; display: flex; min-height: 0; position: relative; }
.irw-pane { flex: 1 1 50%; min-width: 0; position: relative; }
.irw-pane + .irw-pane { border-left: 1px solid var(--irw-line); }
.irw-pane .cm-editor, .irw-source .cm-editor { height: 100%; background: var(--irw-bg); color: var(--irw-fg); }
.irw-pane .cm-editor { position: absolute; inset: 0; }
.irw .cm-editor.cm-focused { outline: none; }
.irw-pane .cm-editor.cm-focused { box-shadow: inset 0 2px var(--irw-blue); }
.irw .cm-editor .cm-scroller { font-family: var(--irw-code); font-size: 12.5px; line-height: 18px; overflow: auto; }
.irw .cm-editor .cm-content { padding: 2px 0; }
.irw .cm-editor .cm-line { padding: 0 6px 0 6px; word-break: break-all !important; }
.irw .cm-editor .cm-gutters { background: var(--irw-bg); color: var(--irw-dim); border: 0; border-right: 1px solid var(--irw-line); }
.irw .cm-editor .cm-gutterElement { padding: 0 4px 0 6px; text-align: right; font-variant-numeric: tabular-nums; white-space: pre; cursor: default; }
.irw .cm-editor .cm-activeLine { background: none; }
.irw .cm-editor.cm-focused .cm-activeLine { box-shadow: inset 0 0 0 1px var(--irw-line); }
.irw .cm-editor .cm-selectionBackground, .irw .cm-editor.cm-focused .cm-selectionBackground { background: light-dark(#0072b233, #56b4e944) !important; }
.irw .cm-editor .cm-cursor { border-left-color: var(--irw-fg); }
.irw .cm-editor .cm-specialChar { color: light-dark(#b3261e, #ff9a92); }
.irw .cm-editor .irw-blame .cm-gutterElement { color: var(--irw-blue); cursor: pointer; text-decoration: underline dotted; }
.irw .cm-editor .irw-source-line .cm-gutterElement { font-size: 11px; padding: 0 2px 0 4px; }
.irw .cm-editor .cm-line.irw-gone { background: var(--irw-gone); }
.irw .cm-editor .cm-line.irw-new { background: var(--irw-new); }
.irw .cm-editor .cm-gutterElement.irw-gone { background: var(--irw-gone); color: var(--irw-orange); box-shadow: inset 3px 0 var(--irw-orange); }
.irw .cm-editor .cm-gutterElement.irw-new { background: var(--irw-new); color: var(--irw-blue); box-shadow: inset 3px 0 var(--irw-blue); }
.irw .cm-editor .cm-line.irw-linked { background: light-dark(#fff3bf, #453a10); }
.irw-gap { background: repeating-linear-gradient(135deg, var(--irw-bg-quiet) 0 2px, transparent 2px 7px); }
.irw-fold { height: 22px; line-height: 22px; padding: 0 10px; background: var(--irw-bg-quiet); color: var(--irw-dim); font: 11px/22px var(--jp-ui-font-family, system-ui, sans-serif); cursor: pointer; }
.irw-fold:hover { color: var(--irw-blue); }
.irw-gone .irw-word { background: var(--irw-gone-word); border-radius: 2px; }
.irw-new .irw-word { background: var(--irw-new-word); border-radius: 2px; }
.irw-hit { background: var(--irw-hit-bg); border-radius: 2px; box-shadow: 0 0 0 1px light-dark(#8a6a00, #f0d264); }
.irw .irw-hit, .irw .irw-hit span { color: light-dark(#14171b, #fff); }
.irw-use { background: light-dark(#0072b21f, #56b4e933); border-radius: 2px; }
.irw-definition { box-shadow: 0 0 0 1.5px var(--irw-blue); border-radius: 2px; }
.irw-ruler { position: relative; width: 12px; flex: none; border-left: 1px solid var(--irw-line); cursor: pointer; }
.irw-ruler::before { content: ""; position: absolute; inset-inline: 0; top: var(--irw-top, 0%); height: max(6px, var(--irw-seen, 0%)); background: light-dark(#0000001a, #ffffff26); }
.irw-ruler span { position: absolute; left: 2px; right: 2px; border-radius: 1px; }
.irw-mark-gone { background: var(--irw-orange); }
.irw-mark-new { background: var(--irw-blue); }
.irw-mark-both { background: linear-gradient(90deg, var(--irw-orange) 50%, var(--irw-blue) 50%); }

.irw-source { flex: 1 1 40%; min-height: 6rem; display: flex; flex-direction: column; border-top: 1px solid var(--irw-line); }
.irw-source-title { padding: 3px 10px; color: var(--irw-dim); background: var(--irw-bg-quiet); }
.irw-source .cm-editor { flex: 1; min-height: 0; }

.irw-comment { color: light-dark(#5a6472, #98a2ae); font-style: italic; }
.irw-string { color: light-dark(#9a3412, #f0a884); }
.irw-value { color: light-dark(#14171b, #e6e6e6); }
.irw-symbol { color: light-dark(#7a2e8e, #d8a2e8); }
.irw-alias { color: light-dark(#7a2e8e, #d8a2e8); }
.irw-type { color: light-dark(#00588f, #82c4f2); }
.irw-op { color: light-dark(#11632f, #7fd49b); font-weight: 600; }
.irw-keyword { color: light-dark(#00588f, #82c4f2); font-weight: 600; }
.irw-number { color: inherit; }

.irw-status { display: flex; gap: 14px; padding: 4px 10px; border-top: 1px solid var(--irw-line); color: var(--irw-dim); font-variant-numeric: tabular-nums; min-height: 26px; }
.irw-said { color: var(--irw-fg); }
.irw-counts { border-top: 1px solid var(--irw-line); max-height: 40%; overflow: auto; flex: none; }
.irw-counts summary { padding: 4px 10px; cursor: pointer; color: var(--irw-dim); }
.irw-operations { padding: 0 10px 8px; }
.irw table { border-collapse: collapse; margin: 0; font-size: 12px; background: none; color: inherit; border: 0; }
.irw table tr, .irw table tr:nth-child(even), .irw table tr:hover { background: none !important; }
.irw th, .irw td { padding: 1px 14px 1px 0; text-align: right; font-variant-numeric: tabular-nums; border: 0; font-weight: 400; vertical-align: baseline; }
.irw thead th { color: var(--irw-dim); }
.irw tbody th { text-align: left; font-family: var(--irw-code); }
.irw-less { color: var(--irw-orange); }
.irw-more { color: var(--irw-blue); }

.irw-files ul { margin: 4px 0; padding: 0 0 0 16px; }
.irw-files code { font: 12px var(--irw-code); color: var(--irw-fg); background: none; }
.irw-graph { width: min(92vw, 1400px); height: 86vh; padding: 0; border: 1px solid var(--irw-line); border-radius: 8px; background: var(--irw-bg); color: var(--irw-fg); }
.irw-graph[open] { display: flex; flex-direction: column; }
.irw-graph::backdrop { background: #0006; }
.irw-graph-bar { display: flex; align-items: center; gap: 4px; padding: 6px 10px; border-bottom: 1px solid var(--irw-line); }
/* Graphviz draws in black on white whatever the page is. */
.irw-drawing { flex: 1; overflow: auto; padding: 12px; background: #fff; color: #14171b; }
.irw-drawing svg { display: block; max-width: none; }
.irw-help { border: 1px solid var(--irw-line); border-radius: 8px; padding: 16px; background: var(--irw-bg); color: var(--irw-fg); }
.irw-help::backdrop { background: #0006; }
.irw-help td { text-align: left; }
.irw-help tbody th { text-align: right; white-space: nowrap; font-family: inherit; }
.irw-help kbd { padding: 0 5px; border: 1px solid var(--irw-line); border-radius: 4px; background: var(--irw-bg-quiet); color: var(--irw-fg); font: 11px/1.5 var(--irw-code); box-shadow: none; }
.irw-help button { margin-top: 12px; }

@media (forced-colors: active) {
  .irw-bar-gone, .irw-bar-new, .irw-strip span, .irw-ruler span { forced-color-adjust: none; }
  .irw-row.irw-right { outline: 2px solid Highlight; outline-offset: -2px; }
  .irw-row.irw-left { outline: 1px dashed CanvasText; outline-offset: -2px; }
  .irw button[aria-pressed="true"] { outline: 2px solid Highlight; outline-offset: -2px; }
  .irw-hit, .irw-word, .irw-definition { outline: 1px solid Highlight; }
  .irw-use { text-decoration: underline; }
}
@media (prefers-reduced-motion: reduce) {
  .irw * { transition: none !important; animation: none !important; scroll-behavior: auto !important; }
}
`;function y(a){let r=()=>{a.dataset.theme=I(a)?"dark":"light"};r();let e=new MutationObserver(r),t={attributes:!0,attributeFilter:["class","style","data-jp-theme-light","data-jp-theme-name","data-theme"]};e.observe(document.body,t),e.observe(document.documentElement,t);let i=matchMedia("(prefers-color-scheme: dark)");return i.addEventListener("change",r),()=>{e.disconnect(),i.removeEventListener("change",r)}}function I(a){for(let r=a.parentElement;r;r=T(r)){let[e,t,i,o]=L(getComputedStyle(r).backgroundColor);if(!(o<128))return .299*e+.587*t+.114*i<128}return matchMedia("(prefers-color-scheme: dark)").matches}function L(a){let r=document.createElement("canvas");r.width=r.height=1;let e=r.getContext("2d");if(!e)return[0,0,0,0];e.fillStyle=a,e.fillRect(0,0,1,1);let[t,i,o,s]=e.getImageData(0,0,1,1).data;return[t,i,o,s]}function T(a){if(a.parentElement)return a.parentElement;let r=a.getRootNode();return r instanceof ShadowRoot?r.host:null}var k=String.raw`(?:(?<![\w.$])|(?<=[\dx]))(?:bf16|tf32|f(?:4|6|8|16|32|64|80|128)\w*|[su]?i\d+|index|none|half|bfloat|float|double|ptr|void)\b|(?<![\w.$])(?:tensor|memref|vector|tuple|complex)(?=<)|![a-zA-Z_][\w.$]*`,j=new RegExp([String.raw`(?<comment>//.*)`,String.raw`(?<generic>"[a-z_]\w*(?:\.\w+)+"(?=\())`,String.raw`(?<string>"(?:[^"\\]|\\.)*")`,String.raw`(?<value>%[\w$.-]+(?:#\d+)?)`,String.raw`(?<symbol>@(?:"[^"]*"|[\w$.-]+)|\^\w+)`,String.raw`(?<alias>#[a-zA-Z_][\w.]*)`,`(?<type>${k})`,String.raw`(?<op>(?<![\w.$<])[a-z_]\w*(?:\.[a-z_]\w*)+|(?<=^\s*)(?:module|return|func)\b)`,String.raw`(?<keyword>(?<![\w.$])(?:attributes|private|public|ins|outs|iter_args|to|step|affine_map|affine_set|dense|dense_resource|loc|true|false)\b)`,String.raw`(?<number>(?<![\w.$])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`].join("|"),"g"),q=new RegExp([String.raw`(?<comment>;.*)`,String.raw`(?<string>c?"[^"]*")`,String.raw`(?<value>%(?:"[^"]*"|[\w$.-]+))`,String.raw`(?<symbol>@(?:"[^"]*"|[\w$.-]+)|^[\w$.-]+:)`,String.raw`(?<alias>#\d+|![\w.]*)`,`(?<type>${k}|(?<![\\w.$%@])label\\b)`,String.raw`(?<keyword>^(?:define|declare|target|source_filename|attributes)\b|(?<![\w.$%@])(?:noundef|nonnull|nocapture|readonly|align|inbounds|nsw|nuw|fast|to|null|undef|poison|zeroinitializer|true|false|private|external|global|constant)\b)`,String.raw`(?<op>(?<=^\s+|=\s(?:tail )?)[a-z]\w*)`,String.raw`(?<number>(?<![\w.$%@])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`].join("|"),"g"),C=new RegExp([String.raw`(?<comment>//.*|;.*)`,String.raw`(?<string>"[^"]*")`,String.raw`(?<value>%[\w$.]+|\b[sva]\d+\b|\b[sva]\[\d+:\d+\]|\b(?:R|P|UR|UP)\d+\b)`,String.raw`(?<symbol>^[\w$.@]+:|\$L\w+)`,String.raw`(?<keyword>^\s*\.\w+|(?<=[\s(])\.\w+)`,String.raw`(?<op>(?<=^\s+(?:@!?%?\w+\s+)?)[A-Za-z][\w.]*)`,String.raw`(?<number>(?<![\w.$%])-?(?:0[xfd][\dA-Fa-f]+|\d+(?:\.\d*)?)(?![\w.]))`].join("|"),"g"),D=new RegExp([String.raw`(?<comment>#.*)`,String.raw`(?<string>[rbf]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))`,String.raw`(?<op>(?<![\w.])(?:def|class|return|import|from|as|for|in|while|if|elif|else|with|lambda|not|and|or|is|yield|raise|try|except|finally|assert|pass|del|async|await)\b)`,String.raw`(?<keyword>(?<![\w.])(?:None|True|False|self|super)\b|^\s*@[\w.]+|^\s*%%?\w+)`,String.raw`(?<value>%\w+)`,String.raw`(?<number>(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w]))`].join("|"),"g");var F=new TextDecoder;var Y=1<<20;var ie=new Int32Array(0);async function A(a){let r=new Blob([a]).stream().pipeThrough(new DecompressionStream("gzip"));return new Response(r).arrayBuffer()}var S=`.irw.irw-w { height: auto !important; max-height: none; overflow: visible; resize: none; min-height: 0; }
.irw-w-scroll { overflow: auto; max-height: 26rem; padding: 0 10px 10px; }
.irw-w-table { border-collapse: separate; border-spacing: 2px; margin: 0; font: inherit; }
.irw-w-table th { font-weight: 400; color: var(--irw-dim); text-align: left; padding: 4px 6px; white-space: nowrap; background: var(--irw-bg); }
.irw-w-table thead th { position: sticky; top: 0; z-index: 1; }
.irw-w-table tbody th { position: sticky; left: 0; max-width: 16rem; overflow: hidden; text-overflow: ellipsis; color: var(--irw-fg); }
.irw-w-table td { padding: 0; }
.irw button.irw-w-cell { display: flex; flex-direction: column; justify-content: center; width: 11rem; max-width: 11rem; height: 36px; padding: 2px 6px; text-align: left; overflow: hidden; border-color: transparent; background: var(--irw-gone-word); }
.irw button.irw-w-cell span { font-size: 11px; color: var(--irw-dim); overflow: hidden; text-overflow: ellipsis; }
.irw button.irw-w-cell[data-status="ok"] { background: var(--irw-new); }
.irw button.irw-w-cell:is([data-status="crashed"], [data-status="timeout"], [data-status="lost"], [data-status="error"]) { background: light-dark(#b3261e33, #f2877f40); }
.irw button.irw-w-cell[aria-pressed="true"] { border-color: var(--irw-blue); outline: 1px solid var(--irw-blue); }
.irw button.irw-w-cell.irw-w-out { opacity: 0.25; }
.irw-w-detail { border-top: 1px solid var(--irw-line); padding: 8px 10px; }
.irw-w-detail .irw-facts { padding: 2px 0 0; }
.irw-w-diff:not(:empty) { padding: 0 10px 10px; }
.irw-w-frame { width: 100%; height: 40rem; border: 0; }
`;var g=class{constructor(r,e){this.context=r;this.data=e;let t=r.model;this.query=n("input",{class:"irw-query",type:"search",placeholder:"Model, target, pass, op, message","aria-label":"Filter",...u,input:()=>this.set("query",this.query.value)});let i=new Map;for(let l of e.cells)i.set(l.status,(i.get(l.status)??0)+1);let o=e.cells.length-(i.get("ok")??0),s=(l,d)=>n("option",{value:l},d);this.status=n("select",{"aria-label":"Status",...u,change:()=>this.set("status",this.status.value)},s("",`all ${e.cells.length}`),s("!ok",`not ok ${o}`),...[...i].map(([l,d])=>s(l,`${l} ${d}`))),this.element=n("div",{class:"irw irw-w"},n("style",{},v+S),n("div",{class:"irw-bar"},this.status,this.query,this.count),n("div",{class:"irw-w-scroll",tabindex:0,...u,"aria-label":"Heat map",keydown:l=>this.key(l)},this.table()),this.detail,this.diff,n("div",{class:"irw-status"},n("span",{},e.tools.join(" \xB7 "))));for(let[l,d]of[["query",()=>this.filter()],["status",()=>this.filter()],["chosen",()=>this.open()],["diff",()=>{this.showDiff()}]])t.on(`change:${l}`,d),this.stops.push(()=>t.off(`change:${l}`,d));this.filter(),this.open(),this.showDiff()}context;data;element;buttons=[];rows=new Map;detail=n("section",{class:"irw-w-detail","aria-label":"The chosen cell",hidden:!0});diff=n("div",{class:"irw-w-diff"});count=n("span",{role:"status"});query;status;stops=[];opened=-2;close(){for(let r of this.stops)r()}set(r,e){this.context.model.set(r,e),this.context.model.save_changes()}table(){let{models:r,targets:e,cells:t}=this.data,i=new Map(t.map((l,d)=>[`${l.model}\0${l.target}`,d])),o=n("tr",{},n("th",{scope:"col"},"model"),...e.map(l=>n("th",{scope:"col"},l))),s=r.map(l=>{let d=n("tr",{},n("th",{scope:"row",title:l},l),...e.map(p=>{let w=i.get(`${l}\0${p}`);if(w===void 0)return n("td",{});let c=t[w],h=c.status==="ok"?`${f(c.passes,"pass","passes")} \xB7 ${c.seconds.toFixed(2)} s`:[c.pass||c.step,c.op].filter(Boolean).join(": "),m=n("button",{class:"irw-w-cell","data-status":c.status,title:c.message.split(`
`)[0]||h,tabindex:-1,click:()=>this.set("chosen",w)},n("b",{},c.mark),n("span",{},h));return this.buttons[w]=m,n("td",{},m)}));return this.rows.set(l,d),d});return n("table",{class:"irw-w-table"},n("thead",{},o),n("tbody",{},...s))}filter(){let r=this.context.model.get("query").toLowerCase(),e=this.context.model.get("status");this.query.value.toLowerCase()!==r&&(this.query.value=this.context.model.get("query")),this.status.value=e;let t=new Set,i=0;for(let[o,s]of this.data.cells.entries()){let l=(!e||(e==="!ok"?s.status!=="ok":s.status===e))&&(!r||[s.model,s.target,s.step,s.pass,s.op,s.message].some(d=>d.toLowerCase().includes(r)));this.buttons[o]?.classList.toggle("irw-w-out",!l),l&&(i++,t.add(s.model))}for(let[o,s]of this.rows)s.hidden=!t.has(o);this.count.textContent=`${f(i,"cell")}, ${f(t.size,"model")}`}open(){let r=this.context.model.get("chosen");if(r===this.opened)return;this.opened=r;for(let[i,o]of this.buttons.entries())o?.setAttribute("aria-pressed",String(i===r));let e=this.data.cells[r];if(this.detail.hidden=!e,!e)return;let t=[["pass",e.pass||e.step],["op",e.op],["line",e.place],["passes",String(e.passes)],["time",`${e.seconds.toFixed(2)} s`]];this.detail.replaceChildren(n("div",{},n("b",{},`${e.model} to ${e.target}: ${e.status}`)),n("div",{class:"irw-facts"},...t.filter(([,i])=>i).map(([i,o])=>n("span",{class:"irw-fact"},`${i} `,n("b",{},o)))),...e.message?[n("pre",{},e.message)]:[],...e.dumps?[]:[n("div",{class:"irw-dim"},"No dumps were kept of this cell.")]),this.buttons[r]?.scrollIntoView({block:"nearest",inline:"nearest"}),this.context.model.get("offline")&&this.showPage(r)}async showDiff(){let{host:r,model:e,signal:t}=this.context;if(!r||e.get("offline"))return;let i=e.get("diff");if(this.diff.replaceChildren(),!i)return;let o=n("div",{});this.diff.replaceChildren(o);let s=await x.render({model:await r.getModel(i),el:o,host:r,...t?{signal:t}:{}});o.isConnected?this.stops.push(s):s()}showPage(r){let e=document.querySelector(`#irw-cell-${r}`);if(this.diff.replaceChildren(),!e)return;let t=[...document.querySelectorAll("#irw-bundle-viewer, script[type=module]")].map(s=>s.outerHTML),i=[...document.head.querySelectorAll("style")].map(s=>s.outerHTML),o=n("iframe",{class:"irw-w-frame",title:"Pass diff"});o.srcdoc=["<!doctype html><meta charset=utf-8>",...i,e.innerHTML,...t].join(`
`),this.diff.replaceChildren(o)}key(r){let e={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[r.key];if(!e)return;r.preventDefault();let t=this.data.models.filter(p=>!this.rows.get(p).hidden),i=this.data.cells[this.context.model.get("chosen")],o=(p,w)=>Math.max(0,Math.min(w-1,p)),s=i?o(t.indexOf(i.model)+e[0],t.length):0,l=i?o(this.data.targets.indexOf(i.target)+e[1],this.data.targets.length):0,d=this.data.cells.findIndex(p=>p.model===t[s]&&p.target===this.data.targets[l]);d>=0&&this.set("chosen",d)}};async function z(a){let r=await A(a.model.get("data")),e=new g(a,JSON.parse(new TextDecoder().decode(r)));a.el.replaceChildren(e.element);let t=y(e.element);return()=>{t(),e.close()}}var we={render:z};export{we as default,z as render};
