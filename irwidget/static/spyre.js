function n(o,e={},...r){let t=document.createElement(o);for(let[i,s]of Object.entries(e))typeof s=="function"?t.addEventListener(i,s):s===!0?t.setAttribute(i,""):s!==void 0&&s!==!1&&t.setAttribute(i,String(s));return t.append(...r),t}var x={"data-lm-suppress-shortcuts":"true"},Me=0;function j(o){return`irw-${o}-${++Me}`}function S(o){return String(o).replace(/\B(?=(\d{3})+$)/g,",")}function y(o,e,r=`${e}s`){return`${S(o)} ${o===1?e:r}`}var re=`.irw {
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
`;function te(o){let e=()=>{o.dataset.theme=Ee(o)?"dark":"light"};e();let r=new MutationObserver(e),t={attributes:!0,attributeFilter:["class","style","data-jp-theme-light","data-jp-theme-name","data-theme"]};r.observe(document.body,t),r.observe(document.documentElement,t);let i=matchMedia("(prefers-color-scheme: dark)");return i.addEventListener("change",e),()=>{r.disconnect(),i.removeEventListener("change",e)}}function Ee(o){for(let e=o.parentElement;e;e=Ae(e)){let[r,t,i,s]=Oe(getComputedStyle(e).backgroundColor);if(!(s<128))return .299*r+.587*t+.114*i<128}return matchMedia("(prefers-color-scheme: dark)").matches}function Oe(o){let e=document.createElement("canvas");e.width=e.height=1;let r=e.getContext("2d");if(!r)return[0,0,0,0];r.fillStyle=o,r.fillRect(0,0,1,1);let[t,i,s,a]=r.getImageData(0,0,1,1).data;return[t,i,s,a]}function Ae(o){if(o.parentElement)return o.parentElement;let e=o.getRootNode();return e instanceof ShadowRoot?e.host:null}var ie=String.raw`(?:(?<![\w.$])|(?<=[\dx]))(?:bf16|tf32|f(?:4|6|8|16|32|64|80|128)\w*|[su]?i\d+|index|none|half|bfloat|float|double|ptr|void)\b|(?<![\w.$])(?:tensor|memref|vector|tuple|complex)(?=<)|![a-zA-Z_][\w.$]*`,Xe=new RegExp([String.raw`(?<comment>//.*)`,String.raw`(?<generic>"[a-z_]\w*(?:\.\w+)+"(?=\())`,String.raw`(?<string>"(?:[^"\\]|\\.)*")`,String.raw`(?<value>%[\w$.-]+(?:#\d+)?)`,String.raw`(?<symbol>@(?:"[^"]*"|[\w$.-]+)|\^\w+)`,String.raw`(?<alias>#[a-zA-Z_][\w.]*)`,`(?<type>${ie})`,String.raw`(?<op>(?<![\w.$<])[a-z_]\w*(?:\.[a-z_]\w*)+|(?<=^\s*)(?:module|return|func)\b)`,String.raw`(?<keyword>(?<![\w.$])(?:attributes|private|public|ins|outs|iter_args|to|step|affine_map|affine_set|dense|dense_resource|loc|true|false)\b)`,String.raw`(?<number>(?<![\w.$])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`].join("|"),"g"),Ve=new RegExp([String.raw`(?<comment>;.*)`,String.raw`(?<string>c?"[^"]*")`,String.raw`(?<value>%(?:"[^"]*"|[\w$.-]+))`,String.raw`(?<symbol>@(?:"[^"]*"|[\w$.-]+)|^[\w$.-]+:)`,String.raw`(?<alias>#\d+|![\w.]*)`,`(?<type>${ie}|(?<![\\w.$%@])label\\b)`,String.raw`(?<keyword>^(?:define|declare|target|source_filename|attributes)\b|(?<![\w.$%@])(?:noundef|nonnull|nocapture|readonly|align|inbounds|nsw|nuw|fast|to|null|undef|poison|zeroinitializer|true|false|private|external|global|constant)\b)`,String.raw`(?<op>(?<=^\s+|=\s(?:tail )?)[a-z]\w*)`,String.raw`(?<number>(?<![\w.$%@])-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.]))`].join("|"),"g"),Ge=new RegExp([String.raw`(?<comment>//.*|;.*)`,String.raw`(?<string>"[^"]*")`,String.raw`(?<value>%[\w$.]+|\b[sva]\d+\b|\b[sva]\[\d+:\d+\]|\b(?:R|P|UR|UP)\d+\b)`,String.raw`(?<symbol>^[\w$.@]+:|\$L\w+)`,String.raw`(?<keyword>^\s*\.\w+|(?<=[\s(])\.\w+)`,String.raw`(?<op>(?<=^\s+(?:@!?%?\w+\s+)?)[A-Za-z][\w.]*)`,String.raw`(?<number>(?<![\w.$%])-?(?:0[xfd][\dA-Fa-f]+|\d+(?:\.\d*)?)(?![\w.]))`].join("|"),"g"),Je=new RegExp([String.raw`(?<comment>#.*)`,String.raw`(?<string>[rbf]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))`,String.raw`(?<op>(?<![\w.])(?:def|class|return|import|from|as|for|in|while|if|elif|else|with|lambda|not|and|or|is|yield|raise|try|except|finally|assert|pass|del|async|await)\b)`,String.raw`(?<keyword>(?<![\w.])(?:None|True|False|self|super)\b|^\s*@[\w.]+|^\s*%%?\w+)`,String.raw`(?<value>%\w+)`,String.raw`(?<number>(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w]))`].join("|"),"g");var rr=new TextDecoder;var sr=1<<20;var mr=new Int32Array(0);async function ne(o){let e=new Blob([o]).stream().pipeThrough(new DecompressionStream("gzip"));return new Response(e).arrayBuffer()}var se=1;async function H(o){let e=o;return!e||(typeof e=="string"?e.length:e.byteLength)===0?null:typeof e=="string"?H(Uint8Array.from(atob(e),r=>r.charCodeAt(0))):JSON.parse(new TextDecoder().decode(await ne(e)))}async function oe(o){let e=await H(o);if(!e)throw new Error("There is no program: run the cell again.");if(e.version!==se)throw new Error(`This program has format ${e.version} and the view reads ${se}: run the cell again.`);return e}function E(o,e){let r=[];for(let{count:t}of[...o.loops].reverse())r.unshift(e%t),e=Math.floor(e/t);return r}function I(o){return o.loops.reduce((e,{count:r})=>e*r,1)}function A(o,e){return o.tiles.find(({cores:r})=>r.includes(e))}function L(o,e,r){return{box:e.box.map(([i,s],a)=>{let l=r.reduce((d,c,u)=>d+c*(o.shifts[u]?.[a]??0),0);return[i+l,s+l]}),address:e.address+r.reduce((i,s,a)=>i+s*(o.advances[a]??0),0)}}function ae(o,e,r){let t=o.device_size,i=new Array(t.length).fill(0);i[t.length-1]=r;for(let a=t.length-2,l=e;a>=0;a--)i[a]=l%t[a],l=Math.floor(l/t[a]);let s=o.size.map(()=>0);for(let[a,l]of o.stride_map.entries()){let d=i[a];if(d===0)continue;if(l<=0)return null;let c=Le(o,l);if(c<0)return null;s[c]+=d*l/o.stride[c]}return s.every((a,l)=>a<o.size[l])?s:null}function Le(o,e){let r=-1;for(let[t,i]of o.stride.entries())o.size[t]>1&&i<=e&&e%i===0&&(r<0||i>o.stride[r])&&(r=t);return r}function v(o){for(let[e,r]of[["GiB",2**30],["MiB",2**20],["KiB",2**10]])if(o>=r)return`${Number((o/r).toPrecision(4))} ${e}`;return`${o} B`}function M(o){return`0x${o.toString(16)}`}function C([o,e]){return o===e?String(o):`${o}\u2013${e}`}function le(o){return o.dims.filter(({split:e})=>e>1).map(({label:e,split:r})=>`${e}/${r}`).join(" ")||"\u2013"}function de(o,e){let r=o.slices[e];return r?o.dims.map(({label:t,split:i},s)=>i>1?`${t} ${r[s]} of ${i}`:"").filter(Boolean).join(", "):"idle"}function Y(o){let e=o.dims.map((t,i)=>({i,split:t.split})).filter(({split:t})=>t>1);e.sort((t,i)=>t.split-i.split);let r=e[0];return o.slices.map(t=>{if(!r)return{hue:"a",depth:.5};if(e.length===1){let a=Math.ceil(r.split/2),l=t[r.i];return{hue:l<a?"a":"b",depth:a>1?l%a/(a-1):.5}}let i=0,s=1;for(let{i:a,split:l}of e.slice(1))i=i*l+t[a],s*=l;return{hue:t[r.i]%2?"b":"a",depth:s>1?i/(s-1):.5}})}function ce(o,e){let r=o.cores.map(s=>e[s]).filter(Boolean),t=r.reduce((s,a)=>s+a.depth,0)/Math.max(1,r.length),i=r[0]?.hue??"n";return{hue:r.every(s=>s.hue===i)?i:"n",depth:t}}var Ce=8;function X(o){return`--depth:${Math.round(14+52*o.depth)}%`}var R=class{constructor(e){this.chosen=e;this.element.addEventListener("keydown",r=>this.key(r))}chosen;element=n("div",{role:"grid","aria-label":"Cores",class:"irw-s-cores"});cells=[];columns=Ce;drawn="";draw(e,r,t){let s=e.lx.blocks.filter(({first:d,last:c})=>d<=r.step&&r.step<=c).reduce((d,{address:c,bytes:u})=>Math.max(d,c+u),0)/e.lx.capacity,a=JSON.stringify([e.cores,s,r.cores,r.dims.map(({label:d,split:c})=>[d,c])]);if(a===this.drawn)return;this.drawn=a,this.cells=[];let l=[];for(let d=0;d<e.cores;d+=this.columns){let c=n("div",{role:"row",class:"irw-s-row"});for(let u=d;u<Math.min(d+this.columns,e.cores);u++)c.append(this.cell(e,r,t[u],u,s));l.push(c)}this.element.replaceChildren(...l)}cell(e,r,t,i,s){let a=i>=r.cores,l=r.dims.map((m,p)=>({dim:m,slice:r.slices[i]?.[p]??0})).filter(({dim:m})=>m.split>1),d=l.map(({slice:m})=>m).join(","),c=a?"idle":l.map(({dim:m,slice:p})=>`${m.label} ${p}`).join(", ")||"all",u=n("span",{class:"irw-s-lxbar","aria-hidden":"true"},n("span",{}));u.firstChild.style.width=`${Math.min(100,100*(a?0:s))}%`;let h=n("div",{role:"gridcell",...a||!t?{}:{"data-hue":t.hue,style:X(t)},class:a?"irw-s-core irw-s-idle":"irw-s-core",tabindex:-1,...x,"data-core":i,"data-key":`core ${i}`,"aria-label":`core ${i}: ${c}; LX ${Math.round(100*(a?0:s))} % of ${v(e.lx.capacity)}`,click:()=>this.chosen(i)},n("b",{},String(i)),n("span",{},a?"idle":d),u);return this.cells.push(h),h}select(e,r){for(let[t,i]of this.cells.entries())i.tabIndex=t===e?0:-1,i.setAttribute("aria-selected",String(t===e)),i.classList.toggle("irw-s-also",r.has(t)&&t!==e)}focus(e){this.cells[e]?.focus()}key(e){let r=this.cells.findIndex(a=>a.tabIndex===0),i={ArrowLeft:-1,ArrowRight:1,ArrowUp:-this.columns,ArrowDown:this.columns,Home:-r,End:this.cells.length-1-r}[e.key];if(i===void 0||e.ctrlKey||e.altKey||e.metaKey)return;e.preventDefault(),e.stopPropagation();let s=r+i;s<0||s>=this.cells.length||(this.chosen(s),this.focus(s))}};function T(o,e,r,t=""){return n("table",{"aria-label":o,class:`irw-s-table ${t}`},n("thead",{},n("tr",{},...e.map(i=>i?n("th",{scope:"col"},i):n("td",{})))),n("tbody",{},...r.map(([i,...s])=>n("tr",{},n("th",{scope:"row"},i??""),...s.map(a=>n("td",{},a))))))}function pe(o){return o.dims.length===0?n("p",{class:"irw-dim"},o.kernel<0?"Runs on the host.":"Nothing is divided."):T("Splits",["dim","size","tile","over","loop"],o.dims.map(e=>[[e.label,e.variable&&`(${e.name||e.variable})`,e.reduced?"\u03A3":""].filter(Boolean).join(" "),e.padded===e.size?S(e.size):`${S(e.size)} (${e.padded} padded)`,S(e.tile),e.split>1?y(e.split,"core"):"\u2013",e.loop>1?`${e.loop} \xD7`:"\u2013"]))}function ue(o,e,r){if(!o.slices[e])return n("p",{class:"irw-dim"},o.kernel<0?"The host does it.":`Core ${e} is idle: ${o.division?.idle||"the op uses fewer cores"}`);let i=o.tensors.map(l=>{let d=A(l,e);if(!d)return[l.name,l.role,"padding only","","","",""];let{box:c,address:u}=L(l,d,E(o,r)),[h,m,p]=[c.slice(0,-2),c.at(-2),c.at(-1)];return[l.name,l.role,h.map(C).join(", ")||"\u2013",m?C(m):"\u2013",p?C(p):"\u2013",l.place==="hbm"?M(u):`${l.place} ${M(u)}`,v(d.bytes),d.cores.length>1?`\xD7${d.cores.length}`:""]}),s=["tensor","","outer","rows","columns","address","bytes","cores"],a=[0,1,...i.some(l=>l[2]!=="\u2013")?[2]:[],3,4,5,6,...i.some(l=>l[7])?[7]:[]];return T("Tiles of this core",a.map(l=>s[l]),i.map(l=>a.map(d=>l[d]??"")),"irw-s-coretable")}function he(o){let e=o.why.map(({about:t,text:i})=>n("p",{class:`irw-s-why irw-s-why-${t}`},n("b",{},`${t} `),i)),r=o.division;if(r&&r.candidates.length>0){let t=Math.max(...r.candidates.map(({cost:a})=>a)),i=r.candidates.map((a,l)=>{let d=[["compute",a.compute],["memory",a.memory],["partial",a.partial_sums],["tie",a.tie]].map(([c,u])=>{let h=n("span",{class:`irw-s-term irw-s-term-${c}`,title:`${c} ${u} \xB5s`});return h.style.width=`${100*u*a.batch/t}%`,h});return[`${l===0&&r.source==="cost model"?"\u2713 ":""}${Object.entries(a.splits).map(([c,u])=>`${c}/${u}`).join(" ")}`,String(a.cores),`${a.cost}`,String(a.compute),String(a.memory),String(a.partial_sums),String(a.tie),`\xD7${a.batch}`,n("span",{class:"irw-s-cost","aria-hidden":"true"},...d)]}),s=r.count-r.candidates.length;e.push(T("Candidates of the cost model",["split","cores","\xB5s","compute","HBM","partial sums","tie-break","batch",""],i,"irw-s-left"),n("p",{class:"irw-dim"},s>0?`and ${s} more candidates, none cheaper`:"these are all"))}else r&&e.push(n("p",{class:"irw-dim"},"The cost model speaks of matrix multiplications only; other ops take the first split that fits."));return n("div",{},...e)}var D=class{constructor(e){this.send=e;this.element.addEventListener("submit",r=>{r.preventDefault();let t=this.read?.()??{};if(Object.keys(t).length===0)return this.answer("Nothing is changed.");this.said.textContent="",this.go.disabled=!0,this.go.textContent="Compiling \u2026",this.send?.(t)}),this.element.addEventListener("keydown",r=>r.stopPropagation())}send;element=n("form",{class:"irw-s-form","aria-label":"Compile again"});said=n("p",{role:"alert",class:"irw-s-error"});go=n("button",{type:"submit",...x},"Compile again");read=null;answer(e){this.said.textContent=e,this.go.disabled=!1,this.go.textContent="Compile again"}draw(e,r){if(!this.send){this.element.replaceChildren(n("p",{class:"irw-dim"},"To compile again with other cores, layouts or hints, open the notebook: this page has no kernel."));return}let{options:t}=e,i=(w,f)=>n("input",{type:"number",min:1,max:f,value:w,...x,class:"irw-s-number"}),s=(w,f)=>n("select",{...x},...w.map(g=>n("option",{value:g,selected:g===f},g))),a=(w,f)=>n("label",{},n("span",{},w),f),l=i(t.cores,e.max_cores),d=Object.entries(t.choices).map(([w,f])=>[w,s(f,t[w])]),c=Object.entries(t.switches).map(([w,f])=>[w,n("input",{type:"checkbox",checked:f,...x})]),u=t.divisions[r.buffer],h=r.dims.filter(({variable:w,symbol:f})=>w&&r.dims.findIndex(g=>g.variable===w)===r.dims.findIndex(g=>g.symbol===f)).map(w=>{let f=r.dims.filter(({variable:g})=>g===w.variable).reduce((g,{split:b})=>g*b,1);return[w,f,i(f,e.max_cores)]}),m=Object.entries(t.orders).filter(([,w])=>w.length<=4).map(([w,f])=>[w,f.join(),s(Pe(f.filter(g=>g>=0)).map(g=>g.join()),f.join())]),p=n("input",{type:"checkbox",...x});this.read=()=>{let w={};Number(l.value)!==t.cores&&(w.cores=Number(l.value));for(let[g,b]of d)b.value!==t[g]&&(w[g]=b.value);for(let[g,b]of c)b.checked!==t.switches[g]&&(w[g]=b.checked);h.some(([,g,b])=>Number(b.value)!==g)?w.divisions={[r.buffer]:Object.fromEntries(h.map(([g,,b])=>[g.variable,Number(b.value)]))}:p.checked&&(w.divisions={[r.buffer]:null});let f=m.filter(([,g,b])=>b.value!==g);return f.length>0&&(w.orders=Object.fromEntries(f.map(([g,,b])=>[g,b.value.split(",").map(Number)]))),w},this.element.replaceChildren(n("fieldset",{},n("legend",{},"Program"),a("cores",l),...d.map(([w,f])=>a(w,f))),n("fieldset",{},n("legend",{},"Switches"),...c.map(([w,f])=>a(w,f))),n("fieldset",{},n("legend",{},`Splits of ${r.buffer} = ${r.func}`),...h.map(([w,,f])=>a(`${w.name||w.variable} (${w.units} units)`,f)),...u?[a("take the hint back",p)]:[],...h.length===0?[n("span",{class:"irw-dim"},"nothing to split")]:[]),n("fieldset",{},n("legend",{},"Dim order of inputs (last: in the sticks)"),...m.map(([w,,f])=>a(w,f))),this.go,this.said)}};function Pe(o){let e=[...o].sort((t,i)=>t-i),r=t=>t.length===0?[[]]:t.flatMap((i,s)=>r([...t.slice(0,s),...t.slice(s+1)]).map(a=>[i,...a]));return r(e)}function me(o){let{rows:e,options:r,totals:t}=o.changes,i=(d,c)=>/bytes|LX/.test(d)?v(c):S(Math.round(c)),s=(d,c)=>d===c?"same":d===0?"new":`${c>d?"+":"\u2212"}${(100*Math.abs(c-d)/d).toFixed(0)} %`,a=e.filter(d=>d.changed),l=(d,c)=>d===c?n("span",{class:"irw-dim"},d??""):n("span",{},n("del",{},d??"none")," \u2192 ",n("ins",{},c??"gone"));return n("div",{},n("p",{},r.length===0?"The options are the same.":r.map(({name:d,before:c,after:u})=>`${d}: ${c} \u2192 ${u}`).join("; ")),T("Totals",["","before","now","change"],t.map(({name:d,before:c,after:u})=>[d,i(d,c),i(d,u),s(c,u)])),T("What changed by op",["op","splits","cores","lies in","moved"],a.map(({op:d,before:c,after:u})=>[d,l(c?.splits,u?.splits),l(c&&String(c.cores)||void 0,u&&String(u.cores)||void 0),l(c?.place,u?.place),l(c?v(c.moved):void 0,u?v(u.moved):void 0)]),"irw-s-left"),n("p",{class:"irw-dim"},e.length>a.length?`${e.length-a.length} ops are the same.`:""))}var Ne=["OpSpec","SuperDSC","bundle.mlir"],ze=3,U=class{constructor(e){this.asked=e;this.buttons=new Map(Ne.map(r=>[r,n("button",{type:"button",...x,click:()=>this.show(r)},r)])),this.search=n("input",{type:"search",...x,placeholder:"Search","aria-label":"Search the code",input:()=>this.find(),keydown:r=>this.next(r)}),this.element=n("div",{},n("div",{class:"irw-s-codebar"},...this.buttons.values(),this.search,this.found,n("span",{class:"irw-space"}),this.file),this.body)}asked;element;form="SuperDSC";texts=null;body=n("div",{class:"irw-s-code",role:"group","aria-label":"Code",tabindex:0,...x});buttons;search;found=n("span",{class:"irw-found",role:"status"});file=n("span",{class:"irw-dim"});hits=[];hit=-1;now=null;set(e){this.texts=e,this.draw()}select(e,r,t,i,s){this.now={op:e,kernel:r,core:t,tensor:i,iteration:s},this.draw()}show(e){this.form=e,this.draw()}draw(){if(!this.now||!this.element.closest("[open]"))return;for(let[u,h]of this.buttons)h.setAttribute("aria-pressed",String(u===this.form));if(!this.texts){this.body.replaceChildren(n("p",{class:"irw-dim"},"\u2026")),this.asked();return}let{op:e,kernel:r,core:t,tensor:i,iteration:s}=this.now,a=E(e,s).join(),l=this.texts.files.filter(u=>u.kernel===r&&u.op===e.op),d=l.find(u=>u.iteration.join()===a)??l[0];this.file.textContent=d&&this.form==="SuperDSC"?`${r}/${d.name}`:"";let c=e.tensors.findIndex(({name:u})=>u===i);e.kernel<0?this.body.replaceChildren(n("p",{class:"irw-dim"},"A host call has no SuperDSC.")):this.form==="OpSpec"?this.body.replaceChildren(we(this.texts.opspec[e.op]??"",u=>i!==""&&u.includes(`name='${i}'`))):this.form==="bundle.mlir"?this.body.replaceChildren(we(this.texts.bundle[r]??"",u=>!!d&&u.includes(`"${d.name}"`))):d?this.body.replaceChildren(fe(JSON.parse(d.text),[],u=>je(u,t,c))):this.body.replaceChildren(n("p",{class:"irw-dim"},"There is no SuperDSC for this op.")),this.find()}find(){let e=this.search.value.trim().toLowerCase();for(let r of this.body.querySelectorAll(".irw-hit"))r.classList.remove("irw-hit");if(this.hits=[],this.hit=-1,this.found.textContent="",!!e){if(this.form==="SuperDSC")for(let r=!0;r;){r=!1;for(let t of this.body.querySelectorAll("details:not([open])"))t.holds(e)&&(t.unfold(),r=!0)}for(let r of this.body.querySelectorAll(".irw-s-line"))r.textContent.toLowerCase().includes(e)&&(r.classList.add("irw-hit"),this.hits.push(r));this.found.textContent=y(this.hits.length,"line")}}next(e){e.key!=="Enter"||this.hits.length===0||(e.preventDefault(),this.hit=(this.hit+(e.shiftKey?-1:1)+this.hits.length)%this.hits.length,this.hits[this.hit].scrollIntoView({block:"nearest"}),this.found.textContent=`${this.hit+1} of ${y(this.hits.length,"line")}`)}};function we(o,e){let r=n("pre",{});for(let t of o.split(`
`))r.append(n("span",{class:e(t)?"irw-s-line irw-s-lit":"irw-s-line"},t||" "));return r}function je(o,e,r){let t=o.at(-1),i=o.at(-2);return t==="numWkSlicesPerDim_"||i==="coreIdToWkSlice_"&&t===String(e)&&!o.includes("scheduleTree_")?!0:o.includes("scheduleTree_")?Number(o[o.indexOf("scheduleTree_")+1])===r&&i==="data_"&&t===`[${e}, 0, 0]`:i==="labeledDs_"&&t===String(r)}function fe(o,e,r){let t=e.at(-1),i=t===void 0?[]:[n("span",{class:"irw-s-key"},`${t}: `)],s=t!==void 0&&r(e);if(o===null||typeof o!="object")return n("div",{class:s?"irw-s-line irw-s-lit":"irw-s-line"},...i,JSON.stringify(o));let a=Object.entries(o),l=JSON.stringify(o);if(a.every(([,p])=>p===null||typeof p!="object")&&l.length<64)return n("div",{class:s?"irw-s-line irw-s-lit":"irw-s-line"},...i,l);let d=Array.isArray(o)?`[${a.length}]`:`{${a.length}}`,c=n("div",{class:"irw-s-branch"}),u=n("summary",{...x,class:s?"irw-s-line irw-s-lit":"irw-s-line"},...i,n("span",{class:"irw-dim"},d)),h=n("details",{},u,c),m=()=>{c.childElementCount===0&&c.append(...a.map(([p,w])=>fe(w,[...e,p],r)))};return h.addEventListener("toggle",m),h.unfold=()=>{m(),h.open=!0},h.holds=p=>l.toLowerCase().includes(p),(s||e.length<ze||ge(o,e,r))&&h.unfold(),h}function ge(o,e,r){return Object.entries(o).some(([t,i])=>{let s=[...e,t];return r(s)||i!==null&&typeof i=="object"&&ge(i,s,r)})}function be(o,e,r,t){let{blocks:i,missed:s,capacity:a,peak:l}=o.lx,d=[n("p",{class:"irw-dim"},i.length===0?"Nothing of this program lies in LX.":`peak ${v(l)} of ${v(a)} (${Math.max(.1,100*l/a).toFixed(1)} %), the same addresses on every core`)],c=l>a/3?a:l||1,u=n("div",{class:"irw-s-lx",role:"group","aria-label":`LX over ${y(o.steps,"step")}`});for(let p of[.25,.5,.75,1]){let w=n("span",{class:p===1&&c===a?"irw-s-capacity":"irw-s-level"},n("span",{},p===1&&c===a?`capacity ${v(c)}`:v(Math.round(c*p))));w.style.bottom=`${100*p}%`,u.append(w)}let h=n("span",{class:"irw-s-now",title:`step ${e.step}`});K(h,e.step/o.steps,1/o.steps),u.append(h);for(let p of i){let w=n("button",{type:"button",...x,class:`irw-s-block${p.name===r?" irw-s-mine":""}${p.in_place?" irw-s-inplace":""}`,"aria-pressed":String(p.name===r),"data-key":`block ${p.name}`,title:`${p.name}: ${p.address}\u2013${p.address+p.bytes-1}, steps ${p.first}\u2013${p.last}${p.in_place?`, in place of ${p.in_place}`:""}`,click:()=>t(p.name)},p.name);K(w,p.first/o.steps,(p.last+1-p.first)/o.steps),w.style.bottom=`${100*p.address/c}%`,w.style.height=`max(4px, ${100*p.bytes/c}%)`,u.append(w)}let m=[...d];return i.length>0&&(m.push(u,n("div",{class:"irw-s-axis irw-dim","aria-hidden":"true"},n("span",{},"step 0"),n("span",{},String(o.steps-1)))),m.push(N("Table",T("LX",["buffer","addresses","bytes per core","steps",""],i.map(p=>[p.name,`${p.address}\u2013${p.address+p.bytes-1}`,v(p.bytes),`${p.first}\u2013${p.last}`,p.in_place?`in place of ${p.in_place}`:""]))))),s.length>0&&m.push(N(`${y(s.length,"buffer")} not in LX`,T("Not in LX",["buffer","why"],s.map(p=>[p.name,p.why]),"irw-s-left"))),n("div",{},...m)}function K(o,e,r){o.style.left=`${100*e}%`,o.style.width=`${100*r}%`}function N(o,...e){return n("details",{},n("summary",{...x},o),...e)}var P=512;function He(o,e,r,t,i){let s=new Uint8Array(P),a=i/P,l=(h,m)=>{let p=Math.max(0,Math.floor((h-t)/a)),w=Math.min(P-1,Math.ceil((h+m-t)/a)-1);for(let f=p;f<=Math.max(p,w);f++)s[f]=1},d=h=>h<0?e:d(h-1)+(r[h][0]-1)*r[h][1],c=(h,m)=>{if(m<0)return l(h,e);let[p,w]=r[m];if(w<a)return l(h,d(m));for(let f=0;f<p;f++)c(h+f*w,m-1)};c(o,r.length-1);let u=[];for(let h=0;h<P;h++){if(!s[h])continue;let m=h;for(;h+1<P&&s[h+1];)h++;u.push([m/P,(h+1-m)/P])}return u}function xe(o,e,r,t,i,s){let a=o.kernels[e.kernel];if(!a)return n("p",{class:"irw-dim"},"The host copies its operands from device memory and the result back.");let l=E(e,t),d=(h,m,p,w,f)=>{let g=n("span",{class:"irw-s-strip","aria-hidden":"true"});for(let k of f){let $=n("span",{class:"irw-s-live",title:`${k.name}: pool ${M(k.offset)}, ${v(k.bytes)}`},k.name);K($,k.offset/p,k.bytes/p),g.append($)}let b=0;for(let k of w){let $=A(k,r);if($){b+=$.bytes;for(let[z,O]of He(L(k,$,l).address,$.run,$.repeats,m,p)){let B=n("span",{class:k.role==="out"?"irw-s-piece irw-s-out":"irw-s-piece"});K(B,z,O),g.append(B)}}}let _=o.buffers[h]?.parameter||h;return n("button",{type:"button",...x,class:h===i?"irw-s-bar irw-s-mine":"irw-s-bar","aria-pressed":String(h===i),click:()=>s(h),"data-key":`bar ${h}`,title:`core ${r} touches ${b?v(b):"nothing"}`},n("span",{class:"irw-s-barname"},_),n("code",{},M(m)),g,n("span",{class:"irw-s-barsize"},v(p)),n("span",{class:"irw-said-only"},`core ${r} touches ${b?v(b):"nothing"}`))},c=a.arguments.map(({name:h,base:m})=>d(h,m,o.buffers[h].bytes,e.tensors.filter(p=>p.name===h&&p.place==="hbm"),[]));if(a.pool&&o.pool.bytes>0){let h=o.pool.blocks.filter(({first:m,last:p})=>m<=e.step&&e.step<=p);c.push(d("pool",0,o.pool.bytes,e.tensors.filter(({place:m})=>m==="pool"),h))}let u=`${v(e.moved.device)} between device memory and cores in this op, ${v(o.moved.device)} in all`;return n("div",{},n("p",{class:"irw-dim"},u),n("div",{class:"irw-s-bars"},...c),N("Table",T("Segments",["buffer","address","bytes","segment"],[...a.arguments.map(({name:h,base:m})=>[h,M(m),v(o.buffers[h].bytes),String(m/2**34)]),...o.pool.blocks.map(h=>[h.name,`pool ${M(h.offset)}`,v(h.bytes),`steps ${h.first}\u2013${h.last}`])])))}var V=8,F=class{element=n("div",{class:"irw-s-sticks"});first=0;key="";draw(e,r,t,i){let s=e.buffers[r];if(!s)return void this.element.replaceChildren(n("p",{class:"irw-dim"},"No device layout."));let a=s.device_size.at(-1),l=s.bytes/e.stick,d=t&&A(t,i),c=`${r} ${i}`;c!==this.key&&(this.key=c,this.first=d&&t.place!=="lx"?Math.max(0,Math.floor((d.address-t.base)/e.stick)):0),this.first=Math.max(0,Math.min(this.first,l-1));let u=Array.from({length:Math.min(V,l-this.first)},(f,g)=>this.stick(e,r,this.first+g,a,t)),h=f=>()=>{this.first=f,this.draw(e,r,t,i)},m=(f,g)=>n("button",{type:"button",...x,click:h(g),"data-key":f,disabled:g<0||g>=l},f),p=s.size.reduce((f,g)=>f*g,1),w=l*a;this.element.replaceChildren(n("p",{},n("code",{},`device_size=[${s.device_size.join(", ")}]`)," ",n("code",{},`stride_map=[${s.stride_map.join(", ")}]`),` ${s.format}`,s.tag==="STANDARD"?"":` ${s.tag}`,` \xB7 ${y(l,"stick")} of ${a} \xB7 `,w>p?`${S(w-p)} of ${S(w)} places are padding (${(100*(w-p)/w).toFixed(0)} %)`:"no padding"),n("div",{class:"irw-s-stickbar"},m("\u2039 sticks",this.first-V),m("sticks \u203A",this.first+V),n("span",{class:"irw-dim"},`from stick ${this.first} of ${S(l)}`)),T(`Sticks of ${r}`,["stick","bytes from the start","host elements",""],u))}stick(e,r,t,i,s){let a=e.buffers[r],l=Array.from({length:i},(f,g)=>ae(a,t,g)),d=l.filter(f=>f!==null),[c,u]=[d[0],d.at(-1)],h=c&&u?c.map((f,g)=>_e(f,u[g])).join(", "):"",m=n("span",{class:"irw-s-lanes","aria-hidden":"true"});for(let[f,g]of l.entries())m.append(n("span",{class:g?"":"irw-s-pad",title:g?`lane ${f}: ${r}[${g.join(", ")}]`:`lane ${f}: padding`}));let p=i-d.length,w=t*e.stick;return[String(t),s&&s.place!=="lx"?`${M(w)} \u2192 ${M(s.base+w)}`:M(w),`[${h}]${p?` + ${p} padding`:""}`,m]}};function _e(o,e){return o===e?String(o):`${o}\u2013${e}`}var Be={restickify:"\u21C4 restickify",fallback:"\u2302 host",unimplemented:"\u2717 unimplemented"},q=class{constructor(e){this.chosen=e;this.element=n("div",{role:"listbox",tabindex:0,"aria-label":"Ops",class:"irw-s-ops",...x}),this.element.addEventListener("keydown",r=>this.key(r)),this.element.addEventListener("click",r=>{let t=r.target.closest("[data-op]");t&&this.chosen(Number(t.dataset.op))})}chosen;element;rows=[];program;selected=0;draw(e){this.program=e,this.rows=[];let r=[],t=-2;for(let i of e.ops){if(i.kernel!==t||r.length===0){let a=e.kernels[i.kernel],l=j("kernel");r.push(n("div",{role:"group","aria-labelledby":l},n("div",{class:"irw-s-kernel",id:l,role:"presentation",title:a?.name??""},a?`${i.kernel} ${a.name}`:"host"))),t=i.kernel}let s=this.row(i);this.rows.push(s),r.at(-1).append(s)}this.element.replaceChildren(...r)}row(e){let r=this.program.buffers[e.buffer]?.place??"",t=Be[e.mark];return n("div",{role:"option",id:j("op"),class:`irw-s-op${e.mark?" irw-s-marked":""}`,"data-op":e.number,"aria-selected":"false"},n("span",{class:"irw-s-opname"},n("b",{},e.func),` \u2192 ${e.buffer}`),n("span",{class:"irw-s-opmeta irw-dim"},[le(e),e.cores?y(e.cores,"core"):"",e.unit,r.replace("device memory","device"),...e.loops.map(({dim:i,count:s})=>`loop ${i}\xD7${s}`),t??""].filter(i=>i&&i!=="\u2013").join(" \xB7 ")))}select(e){this.rows[this.selected]?.setAttribute("aria-selected","false"),this.selected=e;let r=this.rows[e];if(!r)return;r.setAttribute("aria-selected","true"),this.element.setAttribute("aria-activedescendant",r.id);let[t,i]=[r.offsetTop,r.offsetTop+r.offsetHeight];t<this.element.scrollTop?this.element.scrollTop=t-24:i>this.element.scrollTop+this.element.clientHeight&&(this.element.scrollTop=i-this.element.clientHeight+24)}key(e){let r=this.rows.length-1,i={ArrowUp:this.selected-1,ArrowDown:this.selected+1,Home:0,End:r,PageUp:this.selected-10,PageDown:this.selected+10}[e.key];i===void 0||e.ctrlKey||e.altKey||e.metaKey||(e.preventDefault(),e.stopPropagation(),this.chosen(Math.max(0,Math.min(r,i))))}};var ve=3,Ie=120;function ye(o,e,r){let[t,i]=e.line,s=o.sources[t];if(!s||!s.text)return n("p",{class:"irw-dim"},i?`line ${i} of a file that is not here`:"This op has no line of its own.");let a=s.text.split(`
`),l=new Map;for(let m of o.ops)m.line[0]===t&&l.set(m.line[1],[...l.get(m.line[1])??[],m.number]);let d=[...l.keys()].filter(m=>Math.abs(m-i)<Ie),c=Math.max(1,Math.min(...d)-ve),u=Math.min(a.length,Math.max(...d)+ve),h=n("div",{class:"irw-s-source",role:"group","aria-label":"Source"});for(let m=c;m<=u;m++){let p=l.get(m),w=[n("span",{class:"irw-dim"},String(m).padStart(4)),` ${a[m-1]??""}`],f=m===i?"irw-s-line irw-s-lit":"irw-s-line";p?h.append(n("button",{type:"button",...x,class:f,"aria-pressed":String(m===i),"data-key":`line ${m}`,click:()=>r(p[(p.indexOf(e.number)+1)%p.length])},...w,n("span",{class:"irw-dim"},`  ${p.length>1?`${p.length} ops`:"1 op"}`))):h.append(n("div",{class:f},...w))}return h}var ke=`.irw.irw-s { height: 52rem; --hue-a: light-dark(#0072b2, #2f9bdc); --hue-b: light-dark(#e07a1f, #c96f14); --hue-n: light-dark(#7d838b, #858d96); }
.irw-s-h { margin: 0 0 6px; font-weight: 600; }
.irw-s p { margin: 0 0 6px; }
.irw-s code { font: 11px/1.4 var(--irw-code); color: inherit; background: none; padding: 0; }
.irw-s-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 14px; padding: 6px 10px; border-bottom: 1px solid var(--irw-line); }
.irw-s-name { font-size: 13px; }
.irw-s-body { flex: 1; display: flex; min-height: 0; }
.irw-s-ops { contain: strict; position: relative; width: 15rem; flex: none; overflow-y: auto; border-right: 1px solid var(--irw-line); padding-bottom: 6px; }
.irw-s-ops:focus-visible, .irw-s-main:focus-visible { outline-offset: -2px; }
.irw-s-kernel { padding: 6px 8px 2px; color: var(--irw-dim); font-size: 11px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.irw-s-op { content-visibility: auto; contain-intrinsic-size: auto 39px; padding: 3px 8px 4px; border-left: 4px solid transparent; cursor: pointer; display: flex; flex-direction: column; }
.irw-s-op:hover { background: var(--irw-bg-quiet); }
.irw-s-op[aria-selected="true"] { border-left-color: var(--irw-blue); background: var(--irw-new); }
.irw-s-opname { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.irw-s-opmeta { font-size: 11px; }
.irw-s-marked:not([aria-selected="true"]) { border-left-color: var(--irw-orange); border-left-style: dashed; }
.irw-s-main { flex: 1; min-width: 0; overflow: auto; padding: 10px; display: flex; flex-direction: column; gap: 10px; }
.irw-s-main > * { flex: none; }
.irw-s-top { display: flex; gap: 10px; flex-wrap: wrap; }
.irw-s-left-column { display: flex; flex-direction: column; gap: 10px; flex: 0 0 25.5rem; min-width: 0; }
.irw-s-left-column .irw-s-table th, .irw-s-left-column .irw-s-table td { padding-right: 9px; }
.irw-s-box-core { overflow-x: auto; }
.irw-s-coretable th, .irw-s-coretable td { white-space: nowrap; }
.irw-s-two { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 10px; }
.irw-s-box { border: 1px solid var(--irw-line); border-radius: 4px; padding: 8px 10px; min-width: 0; background: var(--irw-bg); contain: layout style; }
.irw-s-box-tensors { flex: 1 1 26rem; }
.irw-s details > summary { cursor: pointer; color: var(--irw-dim); padding: 2px 0; }
.irw-s details > summary:hover { color: var(--irw-fg); }
.irw-s-box-code > summary { font-weight: 600; color: var(--irw-fg) !important; }

.irw-s-cores { display: grid; gap: 3px; width: max-content; }
.irw-s-row { display: grid; grid-template-columns: repeat(8, 34px); gap: 3px; }
.irw-s-core { position: relative; height: 34px; padding: 1px 3px; border: 1px solid var(--irw-line); cursor: pointer; display: flex; flex-direction: column; line-height: 1.15; font-size: 11px; overflow: hidden; }
.irw-s-core span { font-size: 10px; }
.irw-s-core b { font-weight: 600; }
.irw-s [data-hue="a"] { background-color: color-mix(in srgb, var(--hue-a) var(--depth, 40%), var(--irw-bg)); }
.irw-s [data-hue="b"] { background-color: color-mix(in srgb, var(--hue-b) var(--depth, 40%), var(--irw-bg)); }
.irw-s [data-hue="n"] { background-color: color-mix(in srgb, var(--hue-n) calc(var(--depth, 40%) * 0.7), var(--irw-bg)); }
.irw-s-idle { color: var(--irw-dim); border-style: dashed; background: none; }
.irw-s-core[aria-selected="true"] { outline: 2.5px solid var(--irw-fg); outline-offset: -1px; z-index: 1; }
.irw-s-core.irw-s-also { outline: 1.5px dashed var(--irw-fg); outline-offset: -1px; }
.irw-s .irw-s-core:focus-visible { outline: 3px solid var(--irw-blue); outline-offset: 0; }
.irw-s-lxbar { position: absolute; left: 0; right: 0; bottom: 0; height: 4px; background: var(--irw-bg-quiet); border-top: 1px solid var(--irw-line); }
.irw-s-lxbar span { display: block; height: 100%; min-width: 0; background: var(--irw-fg); }
.irw-s-loops { display: flex; align-items: center; gap: 6px; margin-top: 8px; }
.irw-s-loops input { flex: 1; padding: 0; min-width: 6rem; }

.irw-s-table { font-size: 12px; }
.irw-s-table th, .irw-s-table td { padding: 2px 14px 2px 0; }
.irw-s-table thead th:first-child { text-align: left; }
.irw-s-table tbody tr { border-top: 1px solid var(--irw-line) !important; }
.irw-s-left th, .irw-s-left td, .irw-s-coretable td:nth-child(2) { text-align: left; }
.irw-s-table del { text-decoration-color: var(--irw-orange); color: var(--irw-orange); }
.irw-s-table ins { text-decoration: none; font-weight: 600; color: var(--irw-blue); }

.irw-s-tensors { display: flex; flex-wrap: wrap; gap: 12px 22px; align-items: flex-start; }
.irw-s-tensor { width: min-content; min-width: 15.5rem; max-width: 100%; overflow-x: auto; padding: 2px; }
.irw-s-maptitle { cursor: pointer; margin-bottom: 4px; font-size: 11.5px; }
.irw-s-chosen > .irw-s-maptitle b { text-decoration: underline; text-decoration-thickness: 2px; }
.irw-s-place { border: 1px solid var(--irw-line); border-radius: 3px; padding: 0 4px; }
.irw-s-at-lx { border-color: var(--irw-blue); color: var(--irw-blue); }
.irw-s-map { position: relative; background: var(--irw-bg-quiet); }
.irw-s-tile { position: absolute; border: 0.5px solid var(--irw-line); display: flex; align-items: center; justify-content: center; font-size: 10.5px; cursor: pointer; overflow: hidden; }
.irw-s .irw-s-tile[data-hue="a"]:not(.irw-s-mine) { background-color: color-mix(in srgb, var(--hue-a) calc(var(--depth, 40%) * 0.5), var(--irw-bg)); }
.irw-s .irw-s-tile[data-hue="b"]:not(.irw-s-mine) { background-color: color-mix(in srgb, var(--hue-b) calc(var(--depth, 40%) * 0.5), var(--irw-bg)); }
.irw-s .irw-s-tile[data-hue="n"]:not(.irw-s-mine) { background-color: color-mix(in srgb, var(--hue-n) calc(var(--depth, 40%) * 0.35), var(--irw-bg)); }
.irw-s-shared { background-image: repeating-linear-gradient(135deg, light-dark(#00000030, #ffffff38) 0 1px, transparent 1px 6px); }
.irw-s-tile.irw-s-mine { outline: 2.5px solid var(--irw-fg); outline-offset: -1px; z-index: 1; font-weight: 600; }
.irw-s-legend { width: 100%; margin: 0; }
.irw-s-swatch { display: inline-block; width: 14px; height: 10px; border: 1px solid var(--irw-line); --depth: 60%; vertical-align: -1px; }

.irw-s-lx { position: relative; height: 150px; margin: 10px 0 0 4.6rem; border-left: 1px solid var(--irw-line); border-bottom: 1px solid var(--irw-line); }
.irw-s-level, .irw-s-capacity { position: absolute; left: 0; right: 0; height: 0; border-top: 1px solid var(--irw-line); }
.irw-s-capacity { border-top: 2px dashed var(--irw-orange); }
.irw-s-level span, .irw-s-capacity span { position: absolute; right: calc(100% + 4px); top: -8px; white-space: nowrap; color: var(--irw-dim); font-size: 10.5px; }
.irw-s-now { position: absolute; top: 0; bottom: 0; background: var(--irw-hit-bg); opacity: 0.5; }
.irw-s .irw-s-block { position: absolute; height: auto; padding: 0 3px; border: 1px solid var(--hue-a); border-radius: 0; background: color-mix(in srgb, var(--hue-a) 24%, var(--irw-bg)); font-size: 10.5px; line-height: 1; overflow: hidden; text-align: start; max-width: none; min-width: 3px; }
.irw-s .irw-s-inplace { border-style: dashed; background: color-mix(in srgb, var(--hue-b) 24%, var(--irw-bg)); border-color: var(--hue-b); }
.irw-s .irw-s-block.irw-s-mine { outline: 2.5px solid var(--irw-fg); outline-offset: -1px; color: var(--irw-fg); z-index: 1; }
.irw.irw-s .irw-s-block[aria-pressed="true"] { background: color-mix(in srgb, var(--hue-a) 40%, var(--irw-bg)); border-color: var(--hue-a); }
.irw-s-axis { display: flex; justify-content: space-between; margin-left: 4.6rem; font-size: 10.5px; }

.irw-s-bars { display: grid; gap: 4px; }
.irw-s .irw-s-bar { display: grid; width: 100%; grid-template-columns: 5.5rem 6.4rem minmax(6rem, 1fr) 4.4rem; align-items: center; gap: 8px; height: 26px; max-width: none; padding: 0 6px; text-align: start; border-color: transparent; background: none; }
.irw-s .irw-s-bar:hover { background: var(--irw-bg-quiet); }
.irw-s .irw-s-bar.irw-s-mine { border-color: var(--irw-fg); font-weight: 400; color: var(--irw-fg); }
.irw-s-barname { overflow: hidden; text-overflow: ellipsis; }
.irw-s-barsize { text-align: end; }
.irw-s-live { z-index: 0; }
.irw-s-piece { z-index: 1; }
.irw-s-strip { position: relative; height: 18px; background: var(--irw-bg-quiet); border: 1px solid var(--irw-line); overflow: hidden; }
.irw-s-piece { position: absolute; top: 0; bottom: 0; background: var(--hue-a); min-width: 1.5px; }
.irw-s-out { background: repeating-linear-gradient(45deg, var(--hue-b) 0 3px, color-mix(in srgb, var(--hue-b) 60%, var(--irw-bg)) 3px 5px); }
.irw-s-live { position: absolute; top: 0; bottom: 0; border: 1px solid var(--irw-dim); border-style: dotted; color: var(--irw-dim); font-size: 10px; padding: 0 3px; overflow: hidden; }

.irw-s-stickbar { display: flex; gap: 6px; align-items: center; margin-bottom: 4px; }
.irw-s-lanes { display: inline-grid; grid-auto-flow: column; grid-auto-columns: 3px; height: 12px; vertical-align: middle; }
.irw-s-lanes span { background: var(--hue-a); border-right: 1px solid var(--irw-bg); }
.irw-s-lanes .irw-s-pad { background: repeating-linear-gradient(45deg, var(--irw-line) 0 1px, transparent 1px 3px); }
.irw-s-box-sticks { overflow-x: auto; }
.irw-s button:disabled { opacity: 0.5; cursor: default; }

.irw-s-why { padding-left: 8px; border-left: 3px solid var(--irw-line); }
.irw-s-why-restickify, .irw-s-why-fallback, .irw-s-why-unimplemented { border-left-color: var(--irw-orange); }
.irw-s-why-split { border-left-color: var(--irw-blue); }
.irw-s-cost { display: inline-flex; width: 9rem; height: 10px; background: var(--irw-bg-quiet); vertical-align: middle; }
.irw-s-term-compute { background: var(--hue-a); }
.irw-s-term-memory { background: var(--hue-b); }
.irw-s-term-partial { background: repeating-linear-gradient(45deg, var(--irw-fg) 0 2px, var(--irw-bg) 2px 4px); }
.irw-s-term-tie { background: var(--hue-n); }
.irw-s-box-why { overflow-x: auto; }
.irw-s-form { display: flex; flex-wrap: wrap; gap: 8px; align-items: flex-start; padding-top: 6px; }
.irw-s-form fieldset { border: 1px solid var(--irw-line); border-radius: 4px; padding: 4px 8px 6px; margin: 0; display: grid; gap: 3px; min-width: 0; }
.irw-s-form legend { color: var(--irw-dim); padding: 0 4px; font-size: 11px; width: auto; margin: 0; border: 0; }
.irw-s-form label { display: flex; justify-content: space-between; align-items: center; gap: 10px; margin: 0; font-weight: 400; }
.irw-s-form input[type="checkbox"] { height: 14px; width: 14px; }
.irw-s-number { width: 4.5rem; }
.irw-s-error { flex-basis: 100%; color: light-dark(#b3261e, #ff9a92); white-space: pre-wrap; }
.irw-s-error:empty { display: none; }

.irw-s-source, .irw-s-code { font: 12px/1.5 var(--irw-code); overflow: auto; max-height: 18rem; }
.irw-s-source .irw-s-line { display: block; white-space: pre; width: 100%; text-align: start; }
.irw-s .irw-s-source button { height: auto; max-width: none; border: 0; border-radius: 0; padding: 0; background: none; font: inherit; }
.irw-s .irw-s-source button:hover { text-decoration: underline; }
.irw-s .irw-s-lit, .irw-s .irw-s-source button.irw-s-lit { background: light-dark(#fff3bf, #453a10); color: var(--irw-fg); box-shadow: inset 3px 0 var(--irw-orange); font-weight: 400; }
.irw-s-code { max-height: 26rem; }
.irw-s-code pre { max-height: none; overflow: visible; white-space: pre; }
.irw-s-code .irw-s-line { display: block; padding-left: 6px; }
.irw-s-code summary.irw-s-line { display: list-item; list-style-position: inside; }
.irw-s-branch { padding-left: 16px; }
.irw-s-key { color: light-dark(#00588f, #82c4f2); }
.irw-s-codebar { display: flex; gap: 6px; align-items: center; margin: 4px 0; flex-wrap: wrap; }
.irw-s-status { align-items: baseline; flex-wrap: wrap; }
.irw-s-status kbd { padding: 0 4px; border: 1px solid var(--irw-line); border-radius: 3px; background: none; color: inherit; font: 10.5px var(--irw-code); box-shadow: none; }

@media (forced-colors: active) {
  .irw-s-op { border-left-color: Canvas; }
  .irw-s [data-hue], .irw-s-piece, .irw-s-lanes span, .irw-s-lxbar span, .irw-s-cost span { forced-color-adjust: none; }
  .irw-s [data-hue] { color: light-dark(#14171b, #f2f2f2); }
  .irw-s-core[aria-selected="true"], .irw-s-tile.irw-s-mine { outline-color: Highlight; }
  .irw-s-op[aria-selected="true"] { outline: 2px solid Highlight; outline-offset: -2px; }
  .irw-s-lit { outline: 1px solid Highlight; }
}
`;var $e=8,G=3,W=class{constructor(e,r,t,i,s,a,l,d){this.op=r;this.tensor=t;this.chosen=l;this.room=d;let c=e.buffers[t.name];this.list=n("div",{role:"listbox",tabindex:0,...x,class:"irw-s-map","data-key":`map ${t.name}`,"aria-label":`Tiles of ${t.name}`}),this.list.addEventListener("keydown",h=>this.key(h));let u=n("div",{class:"irw-s-maptitle",click:()=>this.chosen(-1,t.name)});this.element=n("div",{class:"irw-s-tensor","data-tensor":t.name},u,this.list),u.append(...this.title(c)),this.draw(c,i,s,a)}op;tensor;chosen;room;element;list;options=[];title(e){let{tensor:r}=this,t=e.parameter||r.name,i=Math.max(...r.tiles.map(({cores:l})=>l.length)),s=r.role==="out"?"written":r.role==="index"?"index":"read",a=r.tiles.length===1?"whole":y(r.tiles.length,"tile");return[n("b",{},t),` ${e.size.join("\xD7")||"scalar"} ${e.dtype} \xB7 ${v(e.bytes)} \xB7 `,n("span",{class:`irw-s-place irw-s-at-${r.place}`},r.place==="hbm"?"device":r.place),` \xB7 ${a}, ${s} by ${i>1?`${i} cores each`:"one core each"}`]}draw(e,r,t,i){let s=e.size.length===0?[1]:e.size,[a,l]=[s.at(-2)??1,s.at(-1)],d=s.slice(0,-2),c=E(this.op,t),u=d.reduce((g,b)=>g*b,1),h=A(this.tensor,i)??this.tensor.tiles[0],m=u<=$e?Array.from({length:u},(g,b)=>({index:Ue(b,d),rows:a,columns:l})):h?[{index:L(this.tensor,h,c).box.slice(0,-2).map(([g])=>g),rows:a,columns:l}]:[],{width:p,height:w}=Ke(a,l,m.length,this.room);this.list.style.width=`${p}px`,this.list.style.height=`${(w+G)*m.length-G}px`;let f=0;for(let[g,b]of this.tensor.tiles.entries()){let{box:_}=L(this.tensor,b,c),k=_.length===0?[[0,0]]:_,[$,z]=[k.length>1?k.at(-2):[0,0],k.at(-1)],O=[];for(let[B,Se]of m.entries())Se.index.every((Q,ee)=>k[ee][0]<=Q&&Q<=k[ee][1])&&O.push(this.part(b,g,r,{left:z[0]/l*p,width:(z[1]-z[0]+1)/l*p,top:B*(w+G)+$[0]/a*w,height:($[1]-$[0]+1)/a*w},k,O.length>0));O.length===0?f++:(this.list.append(...O),this.options.push({tile:b,parts:O,id:O[0].id}))}if(u>$e){let g=`plane [${m[0]?.index.join(", ")}] of ${d.join("\xD7")}${f?`; ${y(f,"tile")} in others`:""}`;this.element.append(n("div",{class:"irw-dim"},g))}}part(e,r,t,i,s,a){let l=e.cores.length>1,d=ce(e,t),c=l?`\xD7${e.cores.length}`:String(e.cores[0]),u=l?`${y(e.cores.length,"core")}: ${e.cores.slice(0,8).join(", ")}${e.cores.length>8?" \u2026":""}`:`core ${e.cores[0]}`;return n("div",{...a?{"aria-hidden":"true"}:{role:"option","aria-selected":"false","aria-label":`[${s.map(C).join(", ")}] ${u}`},id:j("tile"),"data-hue":d.hue,style:`${X(d)};${De(i)}`,class:l?"irw-s-tile irw-s-shared":"irw-s-tile","data-tile":r,title:`[${s.map(C).join(", ")}] ${u}`,click:()=>this.pick(e)},i.width>15&&i.height>11?c:"")}pick(e){let r=this.list.dataset.now,t=e.cores.indexOf(Number(r));this.chosen(e.cores[(t+1)%e.cores.length],this.tensor.name)}select(e,r){this.list.dataset.now=String(e),this.element.classList.toggle("irw-s-chosen",r===this.tensor.name),this.list.removeAttribute("aria-activedescendant");for(let{tile:t,parts:i,id:s}of this.options){let a=t.cores.includes(e);for(let l of i)l.classList.toggle("irw-s-mine",a);i[0].setAttribute("aria-selected",String(a)),a&&this.list.setAttribute("aria-activedescendant",s)}}key(e){let r={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[e.key];if(e.key==="Enter"||e.key===" "){let t=this.options.find(({tile:i})=>i.cores.includes(Number(this.list.dataset.now)));t&&this.pick(t.tile)}else if(r){let t=this.options.findIndex(({tile:s})=>s.cores.includes(Number(this.list.dataset.now))),i=this.options[t+r];i&&this.chosen(i.tile.cores[0],this.tensor.name)}else return;e.preventDefault(),e.stopPropagation()}};function De(o){return Object.entries(o).map(([e,r])=>`${e}:${Math.max(r,e==="width"||e==="height"?1.5:0).toFixed(2)}px`).join(";")}function Ue(o,e){let r=[];for(let t of[...e].reverse())r.unshift(o%t),o=Math.floor(o/t);return r}function Ke(o,e,r,t){let i=Math.min(4.5,Math.max(.3,Math.sqrt(e/o)*(e>=o?1.6:1.3))),s=Math.max(24,150/Math.min(r,4)),a=Math.min(t,Math.max(96,s*i));return{width:Math.round(a),height:Math.round(o===1?24:Math.max(18,Math.min(s,a/i)))}}var Fe=["op","core","tensor","iteration"],J=["data","former","texts"],Z=class{constructor(e){this.model=e;let r=()=>n("div",{});this.panel={splits:r(),core:r(),tensors:n("div",{class:"irw-s-tensors"}),lx:r(),memory:r(),why:r(),source:r(),compared:r()},this.form=new D(e.send?s=>this.ask({kind:"recompile",change:s}):null);let t=(s,a,...l)=>n("section",{class:`irw-s-box irw-s-box-${a}`,"aria-label":s},n("div",{class:"irw-s-h","aria-hidden":"true"},s),...l),i=this.panel;this.beside=t("Beside the former program","compared",i.compared),this.codeBox=N("OpSpec, SuperDSC, bundle.mlir",this.code.element),this.codeBox.classList.add("irw-s-box","irw-s-box-code"),this.codeBox.addEventListener("toggle",()=>this.code.draw()),this.element=n("div",{class:"irw irw-s",role:"region","aria-label":"Spyre program"},this.head,n("div",{class:"irw-s-body"},this.ops.element,n("div",{class:"irw-s-main",tabindex:0,role:"group","aria-label":"Selected op",...x},this.beside,n("div",{class:"irw-s-top"},n("div",{class:"irw-s-left-column"},t("Cores","cores",this.cores.element,this.loops),t("Splits","splits",i.splits),t("This core","core",i.core)),t("Tensors","tensors",i.tensors)),n("div",{class:"irw-s-two"},t("LX of a core","lx",i.lx),t("Device memory","memory",i.memory)),t("Ask why","why",i.why,N("Change it and compile again",this.form.element)),n("div",{class:"irw-s-two"},t("Sticks","sticks",this.sticks.element),t("Source","source",i.source)),this.codeBox)),this.status),this.element.addEventListener("keydown",s=>this.key(s))}model;element;program;former=null;maps=[];shownOp=-1;shownLx="";explained=null;later=0;asked=0;ops=new q(e=>this.choose({op:e}));cores=new R(e=>this.choose({core:e}));code=new U(()=>this.ask({kind:"texts"}));sticks=new F;form;head=n("div",{class:"irw-s-head"});status=n("div",{class:"irw-status irw-s-status"},n("span",{role:"status"}),n("span",{class:"irw-space"}),n("span",{},...["\u2191\u2193\u2190\u2192","core","t","tensor","[ ]","iteration","n p","op"].map((e,r)=>r%2?` ${e}  `:n("kbd",{},e))));panel;scrub=n("input",{type:"range",min:0,value:0,step:1,...x,"aria-label":"Iteration of the loops",input:()=>this.choose({iteration:Number(this.scrub.value)})});scrubbed=n("output",{});loops=n("div",{class:"irw-s-loops"},n("b",{},"Loop "),this.scrub,this.scrubbed);beside;codeBox;stops=[];pending=new Set;async start(){this.stops.push(te(this.element));for(let r of[...Fe,...J]){let t=()=>this.note(r);this.model.on(`change:${r}`,t),this.stops.push(()=>this.model.off(`change:${r}`,t))}let e=(r=>{r?.id===this.asked&&this.form.answer(r.error??"")});this.model.on("msg:custom",e),this.stops.push(()=>this.model.off("msg:custom",e)),await this.load(new Set(J))}close(){for(let e of this.stops)e();clearTimeout(this.later),this.element.remove()}get selected(){let e=t=>this.model.get(t),r=Math.max(0,Math.min(Number(e("op")),this.program.ops.length-1));return{op:r,core:Number(e("core")),tensor:String(e("tensor")??""),iteration:Math.min(Number(e("iteration")),I(this.program.ops[r])-1)}}choose(e){e.op!==void 0&&e.op!==this.selected.op&&(e={iteration:0,...e},(this.program.ops[e.op]?.tensors??[]).some(({name:i})=>i===this.selected.tensor)||(e={tensor:"",...e})),e.core===-1&&delete e.core;let r=!1;for(let[t,i]of Object.entries(e))this.model.get(t)!==i&&(this.model.set(t,i),this.note(t),r=!0);r&&this.model.save_changes()}ask(e){this.model.send&&this.model.send({id:++this.asked,...e})}note(e){this.pending.size===0&&queueMicrotask(()=>{let r=new Set(this.pending);this.pending.clear(),J.some(t=>r.has(t))?this.load(r):this.keepingFocus(()=>this.draw())}),this.pending.add(e)}keepingFocus(e){let t=this.element.getRootNode().activeElement,i=t!==null&&this.element.contains(t),s=t?.dataset.key;if(e(),!i||t.isConnected)return;([...this.element.querySelectorAll("[data-key]")].find(l=>l.dataset.key===s)??this.ops.element).focus({preventScroll:!0})}async load(e){e.has("data")&&this.program&&!this.model.get("data").byteLength||(e.has("data")&&(this.program=await oe(this.model.get("data"))),e.has("former")&&(this.former=await H(this.model.get("former"))),(e.has("texts")||e.has("data"))&&this.code.set(await H(this.model.get("texts"))),(e.has("data")||e.has("former"))&&(this.drawProgram(),this.shownOp=-1,this.shownLx="",this.explained=null),this.draw(),this.element.dataset.ready="true")}drawProgram(){let{program:e}=this,r=(t,i)=>n("span",{class:"irw-fact"},`${t} `,n("b",{},i));this.head.replaceChildren(n("b",{class:"irw-s-name"},e.name),r("on",y(e.cores,"core")),r("in",y(e.kernels.length,"kernel")),r("moved",v(e.moved.device)),r("LX peak",v(e.lx.peak)),r("pool",v(e.pool.bytes)),n("span",{class:"irw-dim"},e.semantics),...e.diagnostics.length>0?[N(y(e.diagnostics.length,"diagnostic"),n("pre",{},e.diagnostics.join(`
`)))]:[]),this.ops.draw(e),this.beside.hidden=!this.former}draw(){let{op:e,core:r,tensor:t,iteration:i}=this.selected,s=this.program.ops[e];if(!s)return;(e!==this.shownOp||this.loopsMove(s))&&this.drawOp(s,r,i),this.shownOp=e;let a=new Set(s.tensors.filter(({name:m})=>m===t).flatMap(({tiles:m})=>m.find(({cores:p})=>p.includes(r))?.cores??[]));this.cores.select(r,a);for(let m of this.maps)m.select(r,t);let l=t||s.tensors.at(-1)?.name||s.buffer,d=m=>this.choose({tensor:m});this.panel.core.replaceChildren(n("p",{},n("b",{},`Core ${r}`),` ${de(s,r)}`),ue(s,r,i)),this.shownLx!==`${e} ${l}`&&this.panel.lx.replaceChildren(be(this.program,s,l,d)),this.shownLx=`${e} ${l}`,this.panel.memory.replaceChildren(xe(this.program,s,r,i,l,d)),this.scrub.value=String(i),this.scrubbed.textContent=s.loops.map(({dim:m,count:p},w)=>`${m} ${E(s,i)[w]+1} of ${p}`).join(", ");let c=`${s.func} \u2192 ${s.buffer}, core ${r}${r<s.cores?"":" idle"}${t?`, tensor ${t}`:""}${s.loops.length>0?`, iteration ${i+1}`:""}`,u=this.status.firstElementChild;u.textContent!==c&&(u.textContent=c);let h=this.element.dataset.shown=`${e} ${r} ${t} ${i}`;clearTimeout(this.later),this.later=setTimeout(()=>this.keepingFocus(()=>{this.drawBelow(s,r,l,i),this.element.dataset.settled=h}),60)}drawBelow(e,r,t,i){this.sticks.draw(this.program,t,e.tensors.find(s=>s.name===t),r),this.code.select(e,this.program.kernels[e.kernel]?.name??"",r,t,i),this.explained!==e&&(this.explained=e,this.panel.why.replaceChildren(he(e)),this.form.draw(this.program,e),this.panel.source.replaceChildren(ye(this.program,e,s=>this.choose({op:s}))))}loopsMove(e){return e.loops.length>0}drawOp(e,r,t){let i=Y(e);this.ops.select(e.number),this.cores.draw(this.program,e,i),this.loops.hidden=e.loops.length===0,this.scrub.max=String(I(e)-1),this.panel.splits.replaceChildren(pe(e)),this.maps=this.mapsOf(this.program,e,r,t,320),this.panel.tensors.replaceChildren(...this.maps.map(({element:s})=>s),...e.tensors.length===0?[n("p",{class:"irw-dim"},e.kernel<0?"A host call works on whole tensors.":"This kernel is a stub.")]:[this.legend(e)]),this.former&&this.panel.compared.replaceChildren(me(this.former),this.sideBySide(this.former,e,r,t))}mapsOf(e,r,t,i,s){let a=Y(r);return r.tensors.map(l=>new W(e,r,l,a,i,t,(d,c)=>this.choose({core:d,tensor:c}),s))}sideBySide(e,r,t,i){let s=e.picture.ops.find(u=>u.buffer===r.buffer&&u.func===r.func),a=(u,h)=>n("div",{class:"irw-s-side"},n("div",{class:"irw-s-h"},u),...h.map(({element:m})=>m));if(!s)return n("p",{class:"irw-dim"},`The former program has no ${r.buffer} = ${r.func}.`);let l=this.mapsOf(e.picture,s,t,0,320),d=this.mapsOf(this.program,r,t,i,320);this.maps.push(...l,...d);let c=(u,h)=>`${u.options.cores} cores: ${h.dims.filter(({split:m})=>m>1).map(({label:m,split:p})=>`${m}/${p}`).join(" ")||"one core"}`;return n("div",{class:"irw-s-two"},a(`Before, ${c(e.picture,s)}`,l),a(`Now, ${c(this.program,r)}`,d))}legend(e){let r=e.dims.filter(({split:l})=>l>1).sort((l,d)=>l.split-d.split),t=l=>n("span",{class:"irw-s-swatch","data-hue":l,"aria-hidden":"true"}),[i,...s]=r,a=[];return i&&s.length>0?a.push(t("a"),` ${i.label} even `,t("b"),` ${i.label} odd, light to dark by ${s.map(({label:l})=>l).join(", ")}`):i&&a.push(t("a"),` first half of ${i.label} `,t("b")," second half, light to dark"),a.push(" ",n("span",{class:"irw-s-swatch irw-s-shared","data-hue":"n","aria-hidden":"true"})," shared by several cores"),n("p",{class:"irw-dim irw-s-legend"},...a)}key(e){if(e.ctrlKey||e.altKey||e.metaKey||/INPUT|SELECT|TEXTAREA/.test(e.target.tagName))return;let{op:r,tensor:t,iteration:i}=this.selected,s=this.program.ops[r],a=s.tensors.map(({name:c})=>c),d={t:()=>this.choose({tensor:a[(a.indexOf(t)+1)%Math.max(1,a.length)]??""}),T:()=>this.choose({tensor:a.at((a.indexOf(t)||a.length)-1)??""}),"[":()=>this.choose({iteration:Math.max(0,i-1)}),"]":()=>this.choose({iteration:Math.min(I(s)-1,i+1)}),n:()=>this.choose({op:Math.min(this.program.ops.length-1,r+1)}),p:()=>this.choose({op:Math.max(0,r-1)}),c:()=>this.cores.focus(this.selected.core),o:()=>this.ops.element.focus(),Escape:()=>document.activeElement===this.ops.element?this.ops.element.blur():this.ops.element.focus()}[e.key];d&&(e.preventDefault(),e.stopPropagation(),d())}};async function et({model:o,el:e}){let r=new Z(o);e.append(n("style",{},re,ke),r.element);try{await r.start()}catch(t){throw r.element.replaceChildren(n("pre",{role:"alert"},`irwidget could not show this program.
${String(t)}`)),t}return()=>r.close()}export{et as render};
