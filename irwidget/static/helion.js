function a(i,e={},...r){let t=document.createElement(i);for(let[n,o]of Object.entries(e))typeof o=="function"?t.addEventListener(n,o):o===!0?t.setAttribute(n,""):o!==void 0&&o!==!1&&t.setAttribute(n,String(o));return t.append(...r),t}var E={"data-lm-suppress-shortcuts":"true"},_=0;function b(i){return`irw-${i}-${++_}`}var $=`.irw {
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
`;function M(i){let e=()=>{i.dataset.theme=K(i)?"dark":"light"};e();let r=new MutationObserver(e),t={attributes:!0,attributeFilter:["class","style","data-jp-theme-light","data-jp-theme-name","data-theme"]};r.observe(document.body,t),r.observe(document.documentElement,t);let n=matchMedia("(prefers-color-scheme: dark)");return n.addEventListener("change",e),()=>{r.disconnect(),n.removeEventListener("change",e)}}function K(i){for(let e=i.parentElement;e;e=F(e)){let[r,t,n,o]=D(getComputedStyle(e).backgroundColor);if(!(o<128))return .299*r+.587*t+.114*n<128}return matchMedia("(prefers-color-scheme: dark)").matches}function D(i){let e=document.createElement("canvas");e.width=e.height=1;let r=e.getContext("2d");if(!r)return[0,0,0,0];r.fillStyle=i,r.fillRect(0,0,1,1);let[t,n,o,s]=r.getImageData(0,0,1,1).data;return[t,n,o,s]}function F(i){if(i.parentElement)return i.parentElement;let e=i.getRootNode();return e instanceof ShadowRoot?e.host:null}var I=String.raw`(?:(?<![\w.$])|(?<=[\dx]))(?:bf16|tf32|f(?:4|6|8|16|32|64|80|128)\w*|[su]?i\d+|index|none|half|bfloat|float|double|ptr|void)\b|(?<![\w.$])(?:tensor|memref|vector|tuple|complex)(?=<)|![a-zA-Z_][\w.$]*`,Y=new RegExp([String.raw`(?<comment>//.*)`,String.raw`(?<generic>"[a-z_]\w*(?:\.\w+)+"(?=\())`,String.raw`(?<string>"(?:[^"\\]|\\.)*")`,String.raw`(?<value>%[\w$.-]+(?:#\d+)?)`,String.raw`(?<symbol>@(?:"[^"]*"|[\w$.-]+)|\^\w+)`,String.raw`(?<alias>#[a-zA-Z_][\w.]*)`,`(?<type>${I})`,String.raw`(?<op>(?<![\w.$<])[a-z_]\w*(?:\.[a-z_]\w*)+|(?<=^\s*)(?:module|return|func)\b)`,String.raw`(?<keyword>(?<![\w.$])(?:attributes|private|public|ins|outs|iter_args|to|step|affine_map|affine_set|dense|dense_resource|loc|true|false)\b)`,String.raw`(?<number>(?<![\w.$])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`].join("|"),"g"),V=new RegExp([String.raw`(?<comment>;.*)`,String.raw`(?<string>c?"[^"]*")`,String.raw`(?<value>%(?:"[^"]*"|[\w$.-]+))`,String.raw`(?<symbol>@(?:"[^"]*"|[\w$.-]+)|^[\w$.-]+:)`,String.raw`(?<alias>#\d+|![\w.]*)`,`(?<type>${I}|(?<![\\w.$%@])label\\b)`,String.raw`(?<keyword>^(?:define|declare|target|source_filename|attributes)\b|(?<![\w.$%@])(?:noundef|nonnull|nocapture|readonly|align|inbounds|nsw|nuw|fast|to|null|undef|poison|zeroinitializer|true|false|private|external|global|constant)\b)`,String.raw`(?<op>(?<=^\s+|=\s(?:tail )?)[a-z]\w*)`,String.raw`(?<number>(?<![\w.$%@])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`].join("|"),"g"),f=new RegExp([String.raw`(?<comment>//.*|;.*)`,String.raw`(?<string>"[^"]*")`,String.raw`(?<value>%[\w$.]+|\b[sva]\d+\b|\b[sva]\[\d+:\d+\]|\b(?:R|P|UR|UP)\d+\b)`,String.raw`(?<symbol>^[\w$.@]+:|\$L\w+)`,String.raw`(?<keyword>^\s*\.\w+|(?<=[\s(])\.\w+)`,String.raw`(?<op>(?<=^\s+(?:@!?%?\w+\s+)?)[A-Za-z][\w.]*)`,String.raw`(?<number>(?<![\w.$%])-?(?:0[xfd][\dA-Fa-f]+|\d+(?:\.\d*)?)(?![\w.]))`].join("|"),"g"),R=new RegExp([String.raw`(?<comment>#.*)`,String.raw`(?<string>[rbf]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))`,String.raw`(?<op>(?<![\w.])(?:def|class|return|import|from|as|for|in|while|if|elif|else|with|lambda|not|and|or|is|yield|raise|try|except|finally|assert|pass|del|async|await)\b)`,String.raw`(?<keyword>(?<![\w.])(?:None|True|False|self|super)\b|^\s*@[\w.]+|^\s*%%?\w+)`,String.raw`(?<value>%\w+)`,String.raw`(?<number>(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w]))`].join("|"),"g"),W=/(?<string>"(?:[^"\\]|\\.)*")|(?<number>(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]))/g,G={mlir:Y,llvm:V,ptx:f,amdgcn:f,sass:f,x86asm:f,spirv:f,python:R,fx:R};function T(i){return G[i]??W}var Z=4e3,h=class{constructor(e,r){this.label=e;this.watcher=r;this.list=a("div",{class:"irw-k-rows",role:"listbox",tabindex:0,"aria-label":e,"data-lm-suppress-shortcuts":"true",keydown:t=>this.key(t),focus:()=>this.focused(),mouseover:t=>this.hover(this.indexAt(t)),mouseleave:()=>this.hover(-1),click:t=>this.clicked(t)}),this.element=a("section",{class:"irw-k-column"},this.heading,this.list)}label;watcher;element;list;heading=a("div",{class:"irw-k-title"});rows=[];elements=[];at=-1;under=-1;title(e,r){this.heading.replaceChildren(a("b",{},this.label),a("span",{class:"irw-dim"},e),...r?[a("span",{class:"irw-k-absent"},r)]:[])}show(e,r){let t=this.rows[this.at]?.nodes[0];this.rows=e;let n=e.length<=Z;this.elements=e.map(s=>J(s,n?r:"")),this.list.replaceChildren(...this.elements),this.at=-1;let o=t===void 0?-1:e.findIndex(({nodes:s})=>s.includes(t));this.put(o)}light(e,r){for(let[t,n]of this.rows.entries()){let{classList:o}=this.elements[t];o.toggle("irw-k-lit",n.nodes.some(l=>e.has(l)));let s=n.nodes.some(l=>r.has(l));o.toggle("irw-k-pinned",s),n.quiet||this.elements[t].setAttribute("aria-selected",String(s))}}reveal(e){let r=this.rows.findIndex(t=>t.nodes.some(n=>e.has(n)));r<0||((document.activeElement!==this.list||!this.rows[this.at]?.nodes.some(t=>e.has(t)))&&this.put(r),this.scrollTo(r))}focus(){this.list.focus({preventScroll:!0})}focused(){this.at<0&&this.put(this.rows.findIndex(({quiet:r})=>!r));let e=this.rows[this.at];e&&this.watcher.moved(this,e.nodes)}put(e){this.elements[this.at]?.classList.remove("irw-k-at"),this.at=e;let r=this.elements[e];r?.classList.add("irw-k-at"),r?this.list.setAttribute("aria-activedescendant",r.id):this.list.removeAttribute("aria-activedescendant")}scrollTo(e){let r=this.elements[e],{list:t}=this,n=r.offsetTop-t.offsetTop;n<t.scrollTop?t.scrollTop=n-r.offsetHeight:n+r.offsetHeight>t.scrollTop+t.clientHeight&&(t.scrollTop=n-t.clientHeight/3)}go(e,r){let t=Math.min(Math.max(e,0),this.rows.length-1);for(;this.rows[t]?.quiet;)t+=r;let n=this.rows[t];n&&(this.put(t),this.scrollTo(t),this.watcher.moved(this,n.nodes))}key(e){if(e.ctrlKey||e.metaKey||e.altKey)return;let r=Math.max(1,Math.floor(this.list.clientHeight/19)-1),n={ArrowDown:()=>this.go(this.at+1,1),ArrowUp:()=>this.go(this.at-1,-1),PageDown:()=>this.go(this.at+r,1),PageUp:()=>this.go(this.at-r,-1),Home:()=>this.go(0,1),End:()=>this.go(this.rows.length-1,-1),Enter:()=>this.watcher.chosen(this.rows[this.at]?.nodes??[])," ":()=>this.watcher.chosen(this.rows[this.at]?.nodes??[]),ArrowRight:()=>this.watcher.leave(this,1),ArrowLeft:()=>this.watcher.leave(this,-1),Escape:()=>this.watcher.cleared()}[e.key];n&&(e.preventDefault(),e.stopPropagation(),n())}indexAt(e){let r=e.target.closest(".irw-k-row");return r?this.elements.indexOf(r):-1}hover(e){e!==this.under&&(this.under=e,this.watcher.hovered(this.rows[e]?.nodes??null))}clicked(e){let r=this.indexAt(e),t=this.rows[r];!t||t.quiet||(this.put(r),this.watcher.moved(this,t.nodes),this.watcher.chosen(t.nodes))}};function J(i,e){let r=a("span",{class:"irw-k-code"});r.append(...i.quiet||!e?[i.text]:g(i.text,e)),i.indent>0&&(r.style.marginLeft=`${i.indent*2}ch`);let t=i.quiet?"presentation":"option",n=a("div",{class:`irw-k-row${i.quiet?" irw-k-quiet":""}`,role:t,id:b("row"),title:i.title});return i.number&&n.append(a("span",{class:"irw-k-number"},i.number)),n.append(r),n}function g(i,e){let r=[],t=0;if(i.length>2e3)return[i];for(let n of i.matchAll(T(e))){let o=Object.entries(n.groups??{}).find(([,s])=>s!==void 0)?.[0];!o||!n[0]||(n.index>t&&r.push(i.slice(t,n.index)),r.push(a("span",{class:`irw-${o==="generic"?"op":o}`},n[0])),t=n.index+n[0].length)}return t<i.length&&r.push(i.slice(t)),r}var me=new TextDecoder;var xe=1<<20;var Re=new Int32Array(0);async function L(i){let e=new Blob([i]).stream().pipeThrough(new DecompressionStream("gzip"));return new Response(e).arrayBuffer()}async function O(i){return JSON.parse(new TextDecoder().decode(await L(i)))}function v(i,e){return i.owners.flatMap((r,t)=>e.has(r)?[t+1]:[])}function z(i){let e=[];for(let r=0;r<i.length;){let t=r;for(;i[t+1]===i[t]+1;)t++;e.push(t>r?`${i[r]}\u2013${i[t]}`:String(i[r])),r=t+1}return e.join(", ")}function U(i,e,r){if(r.size===0)return"";let t=[...r].map(c=>i.nodes[c]),o=[...new Set(t.map(({row:c})=>c).filter(c=>c>=0))].sort((c,p)=>c-p).map(c=>i.source[c][1]),s=v(e,r),l=t.length===1?`${t[0].name} (${t[0].target})`:`${t.length} nodes`,d=o.length===0?"no source line":`source line${o.length>1?"s":""} ${z(o)}`,u=s.length>0?`line${s.length>1?"s":""} ${z(s)} of ${e.name}`:y(i,e,r);return`${l}: ${d}, ${u}`}function y(i,e,r){return i.stages.some(n=>n.owners.some(o=>r.has(o)))?`no location in ${e.name}`:"no MLIR of its own"}function P(i,e,r,t){let n=i.nodes.map(()=>[]);for(let[l,d]of e.owners.entries())n[d]?.push(l);let o=new Set(i.stages.flatMap(({owners:l})=>l)),s=i.source.map(([l,d,u],c)=>{let p=i.nodes.flatMap((w,m)=>w.row===c&&o.has(m)&&!r(m)?[m]:[]),S=a("span",{class:"irw-k-code"});S.append(...g(u,"python"));let A=[a("span",{class:"irw-k-number"},String(d)),S],x=p.reduce((w,m)=>w+n[m].length,0);if(p.length===0)return a("div",{class:"irw-k-row irw-k-plain",title:l},...A);let N=x>0?`${x} ${x===1?"line":"lines"}`:"no location",q=a("summary",{class:"irw-k-row","data-lm-suppress-shortcuts":"true"},...A,a("span",{class:"irw-k-count"},N)),C=p.flatMap(w=>Q(i,e,w,n[w]));return a("details",{open:p.some(t)},q,a("div",{class:"irw-k-under"},...C))});return a("div",{class:"irw-k-place"},...s)}function Q(i,e,r,t){let{name:n,text:o}=i.nodes[r],s=t.length===0?[a("span",{class:"irw-k-count"},"no location")]:[],l=Math.min(...t.map(d=>X(i.table[e.lines[d]])));return[a("div",{class:"irw-k-row irw-k-node",title:n},a("span",{class:"irw-k-code"},...g(o,"python")),...s),...t.map(d=>{let u=a("span",{class:"irw-k-code"});return u.append(...g(i.table[e.lines[d]].slice(l),e.language)),a("div",{class:"irw-k-row"},a("span",{class:"irw-k-number"},String(d+1)),u)})]}function X(i){return i.length-i.trimStart().length}var B=`.irw-k { container-type: inline-size; height: 30rem; }
.irw-k-forms { display: inline-flex; gap: 2px; margin-right: 6px; }
.irw-k-body { flex: 1; display: flex; min-height: 0; }
.irw-k-column { flex: 1 1 30%; min-width: 0; min-height: 0; display: flex; flex-direction: column; }
.irw-k-column:nth-child(2) { flex-basis: 28%; }
.irw-k-column:nth-child(3) { flex-basis: 42%; }
.irw-k-column + .irw-k-column { border-left: 1px solid var(--irw-line); }
.irw-k-title { display: flex; gap: 8px; padding: 4px 10px; white-space: nowrap; overflow: hidden; border-bottom: 1px solid var(--irw-line); background: var(--irw-bg-quiet); }
.irw-k-title .irw-dim { overflow: hidden; text-overflow: ellipsis; }
.irw-k-absent { margin-left: auto; flex: none; color: var(--irw-orange); font-weight: 600; }
.irw-k-rows, .irw-k-place { flex: 1; min-height: 0; overflow: auto; position: relative; padding: 3px 0; font: 12.5px/19px var(--irw-code); }
.irw-k-rows:focus-visible { outline-offset: -2px; }
.irw-k-row { display: flex; width: max-content; min-width: 100%; white-space: pre; padding-right: 10px; border-left: 4px solid transparent; cursor: default; }
.irw-k-rows .irw-k-row { cursor: pointer; }
.irw-k-number { flex: none; width: 4.2ch; padding-right: 1ch; text-align: right; color: var(--irw-dim); user-select: none; }
.irw-k-code { padding-left: 6px; }
.irw-k-quiet { color: var(--irw-dim); font-style: italic; cursor: default !important; }
.irw-k-lit { background: light-dark(#0072b226, #56b4e933); border-left-color: var(--irw-blue); }
.irw-k-pinned { border-left-color: var(--irw-orange); background: light-dark(#d55e001a, #e8803a2b); }
.irw-k-pinned.irw-k-lit { background: light-dark(#0072b226, #56b4e933); }
.irw-k-pinned .irw-k-code { text-decoration: underline dotted var(--irw-orange); text-underline-offset: 3px; }
.irw-k-rows:focus .irw-k-at { box-shadow: inset 0 0 0 1px var(--irw-blue); }
.irw-k-place details { border: 0; }
.irw-k-place summary { list-style: none; cursor: pointer; }
.irw-k-place summary::before { content: "\u25B8"; width: 2ch; flex: none; color: var(--irw-blue); text-align: center; }
.irw-k-place details[open] > summary::before { content: "\u25BE"; }
.irw-k-place details[open] > summary { background: var(--irw-bg-quiet); }
.irw-k-plain { padding-left: 2ch; }
.irw-k-count { padding-left: 2ch; color: var(--irw-dim); font: 11px/19px var(--jp-ui-font-family, system-ui, sans-serif); }
.irw-k-under { margin-left: 6.5ch; border-left: 2px solid var(--irw-blue); padding: 2px 0 4px; }
.irw-k-node { background: var(--irw-new); }
@container (max-width: 720px) {
  .irw-k-body { flex-direction: column; }
  .irw-k-column + .irw-k-column { border-left: 0; border-top: 1px solid var(--irw-line); }
}
@media (forced-colors: active) {
  .irw-k-lit { outline: 1px solid Highlight; outline-offset: -1px; }
  .irw-k-pinned { outline: 2px solid Highlight; outline-offset: -2px; }
}
`;var re=["stage","pinned","hide_symbols","form"],H=new Set,k=class{constructor(e){this.model=e;let r={hovered:o=>{this.hovered=o&&new Set(o),this.light()},moved:(o,s)=>{this.current=new Set(s),this.light();for(let l of this.columns)l!==o&&l.reveal(this.current)},chosen:o=>this.pin(o),leave:(o,s)=>{let l=this.columns[this.columns.indexOf(o)+s];l&&(l.reveal(this.current.size>0?this.current:this.pinned),l.focus())},cleared:()=>{this.current=H,this.set({pinned:[]}),this.light()}};this.columns=[new h("Helion source",r),new h("Device IR",r),new h("MLIR",r)],this.stages=a("select",{...E,"aria-label":"Stage",change:()=>this.set({stage:Number(this.stages.value)})}),this.symbols=a("button",{type:"button",click:()=>this.set({hide_symbols:!this.get("hide_symbols")})},"Hide symbol nodes");let t=(o,s)=>[o,a("button",{type:"button",click:()=>this.set({form:o})},s)];this.forms=[t("columns","Columns"),t("in place","In place")],this.unfold=a("button",{type:"button",click:()=>this.unfoldAll()},"Unfold all");let n=a("span",{role:"group","aria-label":"Form",class:"irw-k-forms"},...this.forms.map(([,o])=>o));this.element=a("div",{class:"irw irw-k",role:"region","aria-label":"Kernel, nodes and MLIR"},a("div",{class:"irw-bar"},this.name,a("span",{class:"irw-space"}),this.unfold,this.symbols,n,a("span",{class:"irw-dim","aria-hidden":"true"},"stage"),this.stages),this.body,this.status)}model;element;kernel;columns;body=a("div",{class:"irw-k-body"});status=a("div",{class:"irw-status",role:"status"});name=a("b",{});stages;symbols;forms;unfold;stops=[];hovered=null;current=H;numbers=new Map;async start(){this.stops.push(M(this.element)),this.kernel=await O(this.model.get("data")),this.numbers=new Map(this.kernel.nodes.map(({name:e},r)=>[e,r])),this.name.textContent=this.kernel.name,this.stages.replaceChildren(...this.kernel.stages.map(({index:e,name:r})=>a("option",{value:e},`${e} ${r}`)));for(let e of re){let r=()=>this.changed(e);this.model.on(`change:${e}`,r),this.stops.push(()=>this.model.off(`change:${e}`,r))}this.draw(),this.element.dataset.ready="true"}get(e){return this.model.get(e)}set(e){for(let[r,t]of Object.entries(e))this.model.set(r,t);this.model.save_changes()}get pinned(){return new Set(this.get("pinned").flatMap(e=>this.numbers.get(e)??[]))}get stage(){let{stages:e}=this.kernel;return e.find(({index:r})=>r===this.get("stage"))??e[e.length-1]}hidden(e){return!!this.get("hide_symbols")&&this.kernel.nodes[e].symbolic}pin(e){if(e.length===0)return;let{pinned:r}=this,t=r.size===e.length&&e.every(n=>r.has(n));this.set({pinned:t?[]:e.map(n=>this.kernel.nodes[n].name)})}changed(e){if(e!=="pinned")return this.draw();if(this.light(),this.pinned.size>0)for(let r of this.columns)r.reveal(this.pinned)}draw(){let e=this.get("form");this.stages.value=String(this.stage.index),this.symbols.setAttribute("aria-pressed",String(!!this.get("hide_symbols")));for(let[r,t]of this.forms)t.setAttribute("aria-pressed",String(e===r));if(this.unfold.hidden=e==="columns",e==="columns")this.columns[0].element.isConnected||this.body.replaceChildren(...this.columns.map(({element:r})=>r)),this.drawColumns();else{let{pinned:r}=this;this.body.replaceChildren(P(this.kernel,this.stage,t=>this.hidden(t),t=>r.has(t)))}this.light()}drawColumns(){let{kernel:e,stage:r}=this,[t,n,o]=this.columns;t.show(te(e),"python"),n.show(ie(e,l=>this.hidden(l)),"python");let s=r.lines.map((l,d)=>{let u=r.owners[d];return{text:e.table[l],number:String(d+1),indent:0,nodes:u<0?[]:[u],title:e.nodes[u]?.name}});if(o.show(s,r.language),this.pinned.size>0)for(let l of this.columns)l.reveal(this.pinned)}light(){let{kernel:e,stage:r,pinned:t}=this,n=this.hovered??(this.current.size>0?this.current:t);for(let l of this.columns)l.light(n,t);let o=n.size>0?n:t,s=o.size>0&&v(r,o).length===0;this.columns[0].title("",""),this.columns[1].title("",""),this.columns[2].title(`${r.index} ${r.name}`,s?y(e,r,o):""),this.status.textContent=this.get("form")==="columns"?U(e,r,o)||"\u2191 \u2193 move, Enter pins, \u2192 \u2190 next column, Esc clears":`${e.name}: each line with its MLIR of ${r.index} ${r.name}`}unfoldAll(){let e=[...this.body.querySelectorAll("details")],r=e.some(t=>!t.open);for(let t of e)t.open=r}close(){for(let e of this.stops)e();this.element.remove()}};function te(i){let e=[],[r,t]=[i.source[0]?.[0],(i.source[0]?.[1]??1)-1];for(let[n,[o,s,l]]of i.source.entries()){(o!==r||s!==t+1)&&e.push({text:o===r?"\u2026":ne(o),number:"",indent:0,nodes:[],quiet:!0}),[r,t]=[o,s];let d=i.nodes.flatMap((u,c)=>u.row===n?[c]:[]);e.push({text:l,number:String(s),indent:0,nodes:d})}return e}function ie(i,e){let r=[],t="",n=0;for(let[o,s]of i.nodes.entries()){let l=s.name.includes(".")?s.name.slice(0,s.name.indexOf(".")):"";l&&l!==t&&s.depth>n&&s.depth>2&&r.push({text:l,number:"",indent:s.depth-1,nodes:[],quiet:!0}),l&&([t,n]=[l,s.depth]),e(o)||r.push({text:s.text,number:"",indent:s.depth,nodes:[o],title:s.name})}return r}function ne(i){return i.slice(i.lastIndexOf("/")+1)}async function oe(i){for(;!i.isConnected;)await new Promise(e=>requestAnimationFrame(e))}async function Ke({model:i,el:e}){await oe(e);let r=new k(i),t=a("style",{id:b("style")},$,B);e.append(t,r.element);try{await r.start()}catch(n){throw r.element.replaceChildren(a("pre",{role:"alert"},`irwidget could not show this kernel.
${String(n)}`)),n}return()=>{r.close(),t.remove()}}export{k as KernelLinks,Ke as render};
