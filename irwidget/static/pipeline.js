function o(a,e={},...t){let r=document.createElement(a);for(let[i,s]of Object.entries(e))typeof s=="function"?r.addEventListener(i,s):s===!0?r.setAttribute(i,""):s!==void 0&&s!==!1&&r.setAttribute(i,String(s));return r.append(...t),r}var d={"data-lm-suppress-shortcuts":"true"},$=0;function h(a){return`irw-${a}-${++$}`}var x=globalThis[Symbol.for("irwidget")]??=new Map;async function H(a){let e=new Blob([a.get("code")]),t=await new Response(e.stream().pipeThrough(new DecompressionStream("gzip"))).blob(),r=URL.createObjectURL(new Blob([t],{type:"text/javascript"}));try{return await import(r)}finally{URL.revokeObjectURL(r)}}var y={async render(a){let e=await a.host.getModel(a.model.get("bundle")),t=e.get("version"),r=x.get(t);return r||x.set(t,r=H(e)),(await r).render(a)}};var k=`.irw {
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
`;async function E(a){try{return await navigator.clipboard.writeText(a),!0}catch{let e=o("textarea",{readonly:!0,"aria-hidden":"true"});e.value=a,e.style.position="fixed",e.style.opacity="0",document.body.append(e),e.select();let t=document.execCommand("copy");return e.remove(),t}}function M(a){let e=()=>{a.dataset.theme=A(a)?"dark":"light"};e();let t=new MutationObserver(e),r={attributes:!0,attributeFilter:["class","style","data-jp-theme-light","data-jp-theme-name","data-theme"]};t.observe(document.body,r),t.observe(document.documentElement,r);let i=matchMedia("(prefers-color-scheme: dark)");return i.addEventListener("change",e),()=>{t.disconnect(),i.removeEventListener("change",e)}}function A(a){for(let e=a.parentElement;e;e=j(e)){let[t,r,i,s]=I(getComputedStyle(e).backgroundColor);if(!(s<128))return .299*t+.587*r+.114*i<128}return matchMedia("(prefers-color-scheme: dark)").matches}function I(a){let e=document.createElement("canvas");e.width=e.height=1;let t=e.getContext("2d");if(!t)return[0,0,0,0];t.fillStyle=a,t.fillRect(0,0,1,1);let[r,i,s,l]=t.getImageData(0,0,1,1).data;return[r,i,s,l]}function j(a){if(a.parentElement)return a.parentElement;let e=a.getRootNode();return e instanceof ShadowRoot?e.host:null}var u=class{constructor(e,t){this.model=e;this.late=t;e.on("msg:custom",this.heard)}model;late;last=Math.floor(Math.random()*1e9);open=new Map;heard=e=>{let t=this.open.get(e?.id??-1);t&&(this.open.delete(e.id),t(e.error??""))};ask(e){let t=++this.last;return new Promise(r=>{this.open.set(t,r),setTimeout(()=>{this.open.has(t)&&this.late()},5e3);try{this.model.send({id:t,...e})}catch(i){this.open.delete(t),r(`There is no kernel to ask: ${String(i)}`)}})}close(){this.model.off("msg:custom",this.heard),this.open.clear()}};async function S(a){if(!a||a.byteLength===0)return new Map;let e=new Blob([a]).stream().pipeThrough(new DecompressionStream("gzip")),t=JSON.parse(await new Response(e).text());return new Map(Object.entries(t).map(([r,i])=>[r,new Map(i.map(s=>[s.name,s]))]))}function T(a,e){let t=e.toLowerCase().split(/\s+/).filter(Boolean),r=({name:i})=>{let s=t[0]??"";return i.startsWith(s)?0:i.includes(s)?1:2};return[...a.values()].filter(({name:i,help:s})=>t.every(l=>i.includes(l)||s.toLowerCase().includes(l))).sort((i,s)=>r(i)-r(s)||(i.name<s.name?-1:1))}function w(a){if(a>=1)return`${a.toFixed(1)} s`;let e=a*1e3;return e<.05?"<0.1 ms":e>=10?`${e.toFixed(0)} ms`:`${e.toFixed(1)} ms`}var O={"":"",waiting:"waiting",running:"running",done:"done",failed:"failed",stopped:"stopped"},K={"":"",waiting:"\u25CB",running:"\u25CF",done:"\u2713",failed:"\u2717",stopped:"\u25A0"};function P(a){return a.enabled?K[a.state]:"\u2013"}function L(a,e,t){let r=Object.entries(a.options).map(([n,p])=>`${n} ${p}`),i=a.enabled?O[a.state]:"disabled",s=a.state==="done"||a.seconds>0?w(a.seconds):"",l=[`${a.tool} ${a.label}`,...r,...a.id?[]:["part of the IR type"],i,s];return`Step ${e+1} of ${t}: ${l.filter(Boolean).join(", ")}`}var g=class{constructor(e){this.on=e;this.element=o("div",{role:"listbox",class:"irw-pl-chips",tabindex:0,"aria-label":"Steps of the pipeline","aria-orientation":"horizontal",...d,keydown:t=>this.on.key(t)})}on;element;id=h("steps");dragged=0;draw(e,t){let r=e.findIndex(i=>i.id>0);this.element.replaceChildren(...e.map((i,s)=>{let l=i.state==="done"||i.seconds>0?w(i.seconds):"",n=Object.entries(i.options).map(([c,v])=>`${c}=${v}`).join(" ");return o("div",{role:"option",id:`${this.id}-${s}`,"aria-selected":String(s===t),"aria-label":L(i,s,e.length),class:"irw-pl-chip","data-state":i.enabled?i.state:"off","data-step":i.id||void 0,"data-route":i.id===0,title:`${i.tool} ${i.text||i.label}`.trim(),draggable:i.id?"true":void 0,click:()=>this.on.choose(s),dragstart:()=>this.dragged=i.id,dragend:()=>this.dragged=0,dragover:c=>this.dragged&&i.id&&c.preventDefault(),drop:c=>{c.preventDefault(),this.dragged&&i.id&&this.on.move(this.dragged,s-r)}},o("span",{class:"irw-pl-tool"},i.tool),o("span",{class:"irw-pl-name"},i.label,...n?[o("span",{class:"irw-pl-given"},` ${n}`)]:[]),o("span",{class:"irw-pl-state"},[P(i),l].filter(Boolean).join(" ")))})),e[t]&&this.element.setAttribute("aria-activedescendant",`${this.id}-${t}`),this.element.children[t]?.scrollIntoView({block:"nearest",inline:"nearest"})}};var z=80,f=class{constructor(e,t){this.chosen=t;let r=h("passes");this.list=o("div",{role:"listbox",id:r,class:"irw-pl-passes","aria-label":"Passes",hidden:!0}),this.input=o("input",{type:"text",class:"irw-pl-pass",role:"combobox","aria-label":e,"aria-expanded":"false","aria-controls":r,"aria-autocomplete":"list",autocomplete:"off",spellcheck:"false",placeholder:"Type a pass",...d,input:()=>this.open(),keydown:i=>this.key(i),blur:()=>this.close(),click:()=>this.open()}),this.element=o("div",{class:"irw-pl-combobox"},this.input,this.list)}chosen;input;element;list;passes=new Map;shown=[];at=-1;offer(e){this.passes=e}get pass(){return this.passes.get(this.input.value.trim())}get isOpen(){return!this.list.hidden}open(){let e=this.pass,t=T(this.passes,e?"":this.input.value);this.shown=t.slice(0,z),this.at=e?this.shown.indexOf(e):-1;let r=t.length-this.shown.length;this.list.replaceChildren(...this.shown.map((i,s)=>o("div",{role:"option",id:`${this.list.id}-${s}`,"aria-selected":"false",mousedown:l=>this.choose(l,i)},o("b",{},i.name)," ",o("span",{class:"irw-dim"},i.help))),...r>0?[o("div",{class:"irw-dim irw-pl-more",role:"option","aria-disabled":"true","aria-selected":"false"},`${r} more: type to narrow`)]:[]),this.list.hidden=this.shown.length===0,this.input.setAttribute("aria-expanded",String(!this.list.hidden)),this.mark(),this.chosen(e)}close(){this.list.hidden=!0,this.input.setAttribute("aria-expanded","false"),this.input.removeAttribute("aria-activedescendant")}choose(e,t){e.preventDefault(),this.input.value=t.name,this.close(),this.chosen(t)}mark(){for(let[t,r]of[...this.list.children].entries())r.setAttribute("aria-selected",String(t===this.at));let e=this.list.children[this.at];e?this.input.setAttribute("aria-activedescendant",e.id):this.input.removeAttribute("aria-activedescendant"),e?.scrollIntoView({block:"nearest"})}key(e){let t={ArrowDown:1,ArrowUp:-1,PageDown:8,PageUp:-8}[e.key];if(t!==void 0)this.isOpen||this.open(),this.at=Math.max(0,Math.min(this.shown.length-1,this.at+t)),this.mark();else if(e.key==="Enter"&&this.isOpen&&(this.at>=0||!this.pass)){let r=this.shown[Math.max(0,this.at)];r&&this.choose(e,r)}else if(e.key==="Escape"&&this.isOpen)this.close();else return;e.preventDefault(),e.stopPropagation()}};var m=class{constructor(e,t,r,i){this.passes=e;let s=[...e.keys()],l=t?.tool??(s.includes(r)?r:s[0]??"");this.values=t?.options??{},this.tools=o("select",{"aria-label":"Tool",...d,change:()=>this.newTool()},...s.map(n=>o("option",{value:n,selected:n===l},n))),this.pass=new f("Pass",n=>this.show(n)),this.element=o("form",{class:"irw-pl-form","aria-label":t?"Edit the step":"Add a step",submit:n=>{n.preventDefault();let p=this.filled();p?i.submit(p):i.problem(`${this.tools.value} has no pass ${JSON.stringify(this.pass.input.value)}`)}},o("div",{class:"irw-pl-row"},this.tools,this.pass.element,o("button",{type:"submit",class:"irw-pl-main",...d},t?"Apply":"Add"),o("button",{type:"button",...d,click:()=>i.cancel()},"Cancel")),this.about,this.options),this.element.addEventListener("keydown",n=>{n.key!=="Enter"||!(n.target instanceof HTMLInputElement)||n.defaultPrevented||(n.preventDefault(),n.stopPropagation(),this.element.requestSubmit())}),this.pass.offer(e.get(this.tools.value)??new Map),t&&(this.pass.input.value=t.pass||t.text),this.show(this.pass.pass),this.single()}passes;element;tools;pass;about=o("p",{class:"irw-pl-about"});options=o("div",{class:"irw-pl-options"});fields=new Map;shownPass;values;focus(){this.pass.input.focus()}newTool(){this.pass.offer(this.passes.get(this.tools.value)??new Map),this.pass.input.value="",this.show(void 0),this.single()}single(){let e=this.passes.get(this.tools.value);if(e?.size!==1||this.pass.input.value)return;let[t]=e.values();this.pass.input.value=t.name,this.show(t)}filled(){let e=this.pass.pass;if(!e)return null;let t=[...this.fields].map(([r,i])=>[r,i.value.trim()]).filter(([,r])=>r!=="");return{tool:this.tools.value,pass:e.name,options:Object.fromEntries(t)}}show(e){e===this.shownPass&&e||(this.shownPass=e,this.about.textContent=e?.help??"",this.fields.clear(),this.options.replaceChildren(...(e?.options??[]).map(t=>this.row(t))),this.options.hidden=!e?.options.length)}row(e){let[t,r]=[h("option"),h("about")],i=this.values[e.name]??"",s={id:t,"aria-describedby":r,...d},l=e.default?`default: ${e.default}`:"default",n;if(e.kind==="flag"||e.kind==="choice"){let p=e.kind==="flag"?["true","false"]:e.choices;n=o("select",s,o("option",{value:""},l),...p.map(c=>o("option",{value:c,selected:c===i},c)))}else n=o("input",{...s,type:"text",value:i,placeholder:e.default,autocomplete:"off",spellcheck:"false",...e.kind==="text"?{}:{inputmode:"decimal"}});return this.fields.set(e.name,n),o("div",{class:"irw-pl-option"},o("label",{for:t},e.name),n,o("span",{id:r,class:"irw-dim"},e.help))}};var R=`.irw-pl-all { display: flex; flex-direction: column; gap: 8px; }
.irw.irw-pl { height: auto; min-height: 0; resize: none; overflow: visible; }
.irw-pl .irw-pl-main { border-color: var(--irw-blue); color: var(--irw-blue); font-weight: 600; }
.irw-pl button:disabled { color: var(--irw-dim); border-color: var(--irw-line); cursor: default; opacity: 1; font-weight: 400; }
.irw-pl label.irw-pl-to { display: flex; align-items: center; gap: 6px; color: var(--irw-dim); margin-left: 8px; }
.irw-pl .irw-pl-to select { max-width: 22rem; }
.irw-pl-status { color: var(--irw-dim); padding: 0 4px; }
.irw-pl-clock { min-width: 4em; color: var(--irw-dim); font-variant-numeric: tabular-nums; }
.irw-pl-chips { display: flex; flex-wrap: wrap; gap: 8px 20px; padding: 10px; }
.irw-pl-chips:focus-visible { outline-offset: -2px; }
.irw-pl-chip {
  position: relative; display: grid; grid-template-columns: auto auto; column-gap: 8px; padding: 3px 8px 4px; max-width: 22rem;
  border: 1px solid var(--irw-line); border-left-width: 4px; border-radius: 6px; background: var(--irw-bg-raised); cursor: pointer;
}
.irw-pl-chip:not(:last-child)::after { content: "\u2192"; position: absolute; right: -18px; top: 50%; transform: translateY(-50%); color: var(--irw-dim); }
.irw-pl-chip[data-route] { background: var(--irw-bg-quiet); }
.irw-pl-chip[data-state="done"] { border-left-color: var(--irw-blue); }
.irw-pl-chip[data-state="running"] { border-left-color: light-dark(#8a6a00, #f0d264); }
.irw-pl-chip[data-state="failed"] { border-color: light-dark(#b3261e, #f2877f); }
.irw-pl-chip[data-state="failed"] .irw-pl-state { color: light-dark(#b3261e, #ff9a92); font-weight: 600; }
.irw-pl-chip[data-state="stopped"] { border-left-color: var(--irw-orange); }
.irw-pl-chip[data-state="off"] { border-style: dashed; }
.irw-pl-chip[data-state="off"] .irw-pl-name { text-decoration: line-through; color: var(--irw-dim); }
.irw-pl-chip[aria-selected="true"] { box-shadow: 0 0 0 2px var(--irw-blue); }
.irw-pl-tool { color: var(--irw-dim); font-size: 11px; }
.irw-pl-state { color: var(--irw-dim); font-size: 11px; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.irw-pl-name { grid-row: 2; grid-column: 1 / -1; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-family: var(--irw-code); }
.irw-pl-given { color: var(--irw-dim); }
.irw-pl-panel { border-top: 1px solid var(--irw-line); padding: 8px 10px; display: flex; flex-direction: column; gap: 8px; }
.irw-pl-row { display: flex; flex-wrap: wrap; align-items: center; gap: 4px; }
.irw-pl-row > b { margin-right: 8px; font-family: var(--irw-code); }
.irw-pl-combobox { position: relative; flex: 1 1 20rem; max-width: 32rem; }
.irw .irw-pl-combobox input { width: 100%; max-width: none; font-family: var(--irw-code); }
.irw-pl-passes {
  position: absolute; z-index: 5; top: 26px; left: 0; width: max(100%, 30rem); max-width: 80vw; max-height: 18rem; overflow-y: auto;
  border: 1px solid var(--irw-line); border-radius: 4px; background: var(--irw-bg); box-shadow: 0 4px 14px #0004;
}
.irw-pl-passes > div { padding: 3px 8px; cursor: pointer; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.irw-pl-passes > div:hover { background: var(--irw-bg-quiet); }
.irw-pl-passes > [aria-selected="true"] { background: var(--irw-new); box-shadow: inset 3px 0 var(--irw-blue); }
.irw-pl-passes b { font-family: var(--irw-code); }
.irw-pl-more { cursor: default; }
.irw-pl-about { margin: 6px 0 0; color: var(--irw-fg); }
.irw-pl-about:empty { display: none; }
.irw-pl-options { margin-top: 6px; max-height: 15rem; overflow-y: auto; display: grid; grid-template-columns: max-content 12rem minmax(0, 1fr); gap: 3px 10px; align-items: center; }
.irw-pl-option { display: contents; }
.irw-pl-option label { font-family: var(--irw-code); }
.irw .irw-pl-option select, .irw .irw-pl-option input { width: 100%; }
.irw-pl-problem { margin: 0 10px 8px; padding: 6px 10px; border: 1px solid light-dark(#b3261e, #f2877f); border-left-width: 4px; border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 12em; overflow-y: auto; }
.irw-pl-lines { border-top: 1px solid var(--irw-line); padding: 6px 10px; display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content; gap: 4px 10px; align-items: center; }
.irw-pl-lines code { font: 12px/1.5 var(--irw-code); color: inherit; background: none; padding: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.irw-pl-lines > span { color: var(--irw-dim); }
.irw-pl dialog td, .irw-pl dialog th { padding: 1px 14px 1px 0; }
@media (forced-colors: active) {
  .irw-pl-chip[aria-selected="true"], .irw-pl-passes > [aria-selected="true"] { outline: 2px solid Highlight; outline-offset: -2px; }
}
`;var N=["name","target","targets","steps","route","status","message","magic","call"],q=[["\u2190 \u2192","step"],["Shift+\u2190 Shift+\u2192","move the step"],["a","add a step after this one"],["Enter","edit the step"],["Space","disable or enable"],["Delete","remove"],["r","run all"],["t","run to this step"],["x","stop"],["v","show what the step did"],["Esc","back to the steps, then to the notebook"],["?","these keys"]],b=class{constructor(e,t){this.model=e;this.host=t;this.asker=new u(e,()=>this.say("Python has not answered yet: the kernel is busy or gone.")),this.chips=new g({choose:i=>{this.choose(i),this.chips.element.focus()},move:(i,s)=>{this.ask({do:"move",step:i,to:s})},key:i=>this.chipKey(i)}),this.targets=o("select",{...d,change:()=>{this.ask({do:"target",name:this.targets.value})}});let r=(i,s,l="")=>o("button",{type:"button",class:l||void 0,...d,click:s},i);this.add=r("Add step",()=>this.open("add")),this.run=r("Run",()=>this.start(0),"irw-pl-main"),this.halt=r("Stop",()=>{this.ask({do:"stop"})}),this.ui=o("div",{class:"irw irw-pl",role:"region","aria-label":"Pipeline"},o("div",{class:"irw-bar"},this.name,o("label",{class:"irw-pl-to"},"IR type",this.targets),this.add,o("span",{class:"irw-space"}),this.status,this.clock,this.run,this.halt,o("button",{type:"button","aria-label":"Keys",...d,click:()=>this.help()},"?")),this.chips.element,this.problem,this.panel,this.lines),this.ui.addEventListener("keydown",i=>this.key(i)),this.element=o("div",{class:"irw-pl-all"},this.ui,this.below)}model;host;element;ui;below=o("div",{class:"irw-pl-diff"});chips;asker;name=o("b",{});targets;add;run;halt;status=o("span",{class:"irw-pl-status",role:"status"});clock=o("span",{class:"irw-pl-clock","aria-hidden":"true"});problem=o("div",{class:"irw-pl-problem",role:"alert",hidden:!0});panel=o("div",{class:"irw-pl-panel"});lines=o("div",{class:"irw-pl-lines"});stops=[];passes=new Map;form=null;mode="look";selected=-1;selectedId=0;known=null;since=0;ticking=0;asked="";drawing=!1;closed=!1;diff=null;closeDiff=null;start(e){this.ask({do:"run",step:e})}mount(){this.stops.push(M(this.ui));for(let e of N)this.watch(e,()=>this.later());this.watch("passes",()=>{this.takePasses()}),this.watch("diff",()=>{this.showDiff()}),this.draw(),this.takePasses(),this.showDiff(),this.ui.dataset.ready="true"}watch(e,t){this.model.on(`change:${e}`,t),this.stops.push(()=>this.model.off(`change:${e}`,t))}get(e){return this.model.get(e)}get steps(){return[...this.get("route"),...this.get("steps")]}get step(){return this.steps[this.selected]}async ask(e){this.asked="";let t=await this.asker.ask(e);return this.closed?!1:(this.asked=t,this.drawStatus(),t&&(this.targets.value=this.get("target")),!t)}say(e){this.asked=e,this.drawStatus()}async takePasses(){this.passes=await S(this.get("passes")),!this.closed&&(this.ui.dataset.passes=this.passes.size>0?"true":"false",this.draw())}later(){this.drawing||(this.drawing=!0,queueMicrotask(()=>{this.drawing=!1,this.closed||this.draw()}))}draw(){let{steps:e}=this;if(this.known){let i=e.findIndex(({id:s})=>s>0&&!this.known.has(s));i>=0&&([this.selected,this.selectedId,this.known]=[i,e[i].id,null],this.mode==="look"&&this.chips.element.focus())}let t=this.selectedId?e.findIndex(({id:i})=>i===this.selectedId):this.selected;this.selected=Math.min(t>=0?t:this.selected,e.length-1),this.selected<0&&(this.selected=e.length-1),this.selectedId=e[this.selected]?.id??0,this.name.textContent=this.get("name");let r=this.get("targets");this.targets.options.length!==r.length&&this.targets.replaceChildren(...r.map(({name:i,summary:s})=>o("option",{value:i,title:s},i))),this.targets.value=this.get("target"),this.chips.draw(e,this.selected),this.drawStatus(),this.drawLines(),this.form||this.drawPanel()}drawStatus(){let e=this.get("status"),t=e==="running";this.run.disabled=t,this.halt.disabled=!t,this.targets.disabled=t,this.add.disabled=this.passes.size===0;let r=this.get("message"),i={ready:"",running:r||"Starting",done:"Done",failed:"Failed",stopped:"Stopped"}[e]??"";this.status.textContent!==i&&(this.status.textContent=i);let s=this.asked||(e==="failed"||r&&e==="ready"?r:"");if(this.problem.textContent!==s&&(this.problem.textContent=s),this.problem.hidden=!s,this.ui.dataset.status!==e&&(t&&(this.since=performance.now()),this.ui.dataset.status=e),t&&!this.ticking&&(this.ticking=setInterval(()=>this.tick(),200)),!t){clearInterval(this.ticking),this.ticking=0;let l=this.steps.reduce((n,{seconds:p})=>n+p,0);this.clock.textContent=l>0?w(l):""}}tick(){this.clock.textContent=`${((performance.now()-this.since)/1e3).toFixed(1)} s`}drawLines(){let e=(i,s)=>[o("span",{},i),o("code",{},s),o("button",{type:"button","aria-label":`Copy the ${i} line`,...d,click:()=>{E(s).then(l=>this.status.textContent=l?"Copied":"The browser did not allow copying")}},"Copy")],[t,r]=[this.get("magic"),this.get("call")];this.lines.dataset.of!==t+r&&(this.lines.dataset.of=t+r,this.lines.replaceChildren(...e("Cell",t),...e("Python",r)))}drawPanel(){let{step:e}=this,t=this.get("status")==="running",r=JSON.stringify([e&&{...e,seconds:0},this.selected,t,this.passes.size>0]);if(this.panel.dataset.of===r)return;let i=this.panel.contains(document.activeElement)||this.panel.matches(":focus-within");if(this.panel.dataset.of=r,!e)return this.panel.replaceChildren(o("span",{class:"irw-dim"},"No steps yet."));let s=(c,v,C=!1)=>o("button",{type:"button",disabled:C,...d,click:v},c),l=e.id>0,n=this.selected-this.get("route").length,p=this.get("steps").length-1;this.panel.replaceChildren(o("div",{class:"irw-pl-row"},o("b",{},e.label),...l?[s("Edit",()=>this.open("edit"),!this.editable(e)),s(e.enabled?"Disable":"Enable",()=>this.toggle()),s("Move left",()=>this.move(-1),n===0),s("Move right",()=>this.move(1),n===p),s("Remove",()=>this.remove()),s("Run to here",()=>this.start(e.id),t||!e.enabled)]:[o("span",{class:"irw-dim"},`leads to ${this.get("target")}`),s("Run only this far",()=>this.start(-1),t)],s("Show what it did",()=>this.show(),e.stage<0),...l&&e.text?[o("span",{class:"irw-dim"},`${e.tool} ${e.text}`)]:[])),i&&this.chips.element.focus()}editable(e){return e.id>0&&this.passes.get(e.tool)?.has(e.pass||e.text)===!0}choose(e){this.form&&this.cancel(),this.selected=Math.max(0,Math.min(e,this.steps.length-1)),this.selectedId=this.step?.id??0,this.draw()}open(e){let{step:t}=this;if(this.passes.size===0)return this.say("The passes are still being listed.");if(e==="edit"&&(!t||!this.editable(t)))return this.say("This step was given in Python: the page cannot edit it.");this.asked="",this.mode=e;let r=t&&this.passes.has(t.tool)?t.tool:"mlir-opt";this.form=new m(this.passes,e==="edit"?t:null,r,{submit:i=>{this.submit(e,i)},cancel:()=>this.cancel(),problem:i=>this.say(i)}),this.panel.dataset.of="form",this.panel.replaceChildren(this.form.element),this.form.focus()}async submit(e,t){let{step:r}=this;e==="add"&&(this.known=new Set(this.steps.map(({id:s})=>s)));let i=e==="add"?{do:"add",after:r?.id??0}:{do:"edit",step:r.id};await this.ask({...i,...t})?this.cancel():this.known=null}cancel(){this.form=null,this.mode="look",this.chips.element.focus(),this.draw()}toggle(){let{step:e}=this;e?.id&&this.ask({do:"enable",step:e.id,on:!e.enabled})}remove(){let{step:e}=this;e?.id&&(this.selectedId=0,this.ask({do:"remove",step:e.id}))}move(e){let{step:t}=this,r=this.selected-this.get("route").length+e;t?.id&&r>=0&&this.ask({do:"move",step:t.id,to:r})}show(){let{step:e,steps:t}=this;if(!e||e.stage<0||!this.diff)return;let r=t.slice(0,this.selected).reverse().find(({stage:i})=>i>=0&&i<e.stage);this.diff.set("right",e.stage),this.diff.set("left",r?.stage??0),this.diff.save_changes(),this.below.querySelector(".irw-list")?.focus()}chipKey(e){if(e.ctrlKey||e.metaKey||e.altKey)return;let t={ArrowLeft:-1,ArrowUp:-1,ArrowRight:1,ArrowDown:1}[e.key],i=t===void 0?{Home:()=>this.choose(0),End:()=>this.choose(1e6),Enter:()=>this.open("edit")," ":()=>this.toggle(),Delete:()=>this.remove(),Backspace:()=>this.remove(),a:()=>this.open("add"),r:()=>this.start(0),t:()=>this.start(this.step?.id||-1),x:()=>{this.ask({do:"stop"})},v:()=>this.show()}[e.key]:()=>e.shiftKey?this.move(t):this.choose(this.selected+t);i&&(i(),e.preventDefault(),e.stopPropagation())}key(e){if(!(e.ctrlKey||e.metaKey||e.altKey||e.target.closest("dialog"))){if(e.key==="Escape"){let t=e.target===this.chips.element;this.form?this.cancel():t?(this.chips.element.blur(),this.element.closest(".jp-Notebook")?.focus()):this.chips.element.focus()}else if(e.key==="?"&&!(e.target instanceof HTMLInputElement))this.help();else return;e.preventDefault(),e.stopPropagation()}}help(){this.ui.querySelector("dialog")?.remove();let e=q.map(([r,i])=>o("tr",{},o("th",{scope:"row"},...r.split(" ").flatMap(s=>[o("kbd",{},s)," "])),o("td",{},i))),t=o("dialog",{class:"irw-help","aria-label":"Keys of the steps",...d},o("table",{},o("tbody",{},...e)),o("button",{type:"button",...d,click:()=>t.close()},"Close"));t.addEventListener("close",()=>{t.remove(),this.chips.element.focus()}),this.ui.append(t),t.showModal()}async showDiff(){let e=this.get("diff"),t=o("div",{});if(e){let r=await this.host.getModel(e).catch(()=>null);if(!r||this.closed||e!==this.get("diff"))return;this.closeDiff?.(),this.closeDiff=null,this.diff=r,this.below.replaceChildren(t);let i=await y.render({model:r,el:t,host:this.host});this.closed||this.diff!==r?i():this.closeDiff=i}else this.closeDiff?.(),this.closeDiff=this.diff=null,this.below.replaceChildren()}close(){this.closed=!0,clearInterval(this.ticking);for(let e of this.stops)e();this.asker.close(),this.closeDiff?.(),this.element.remove()}};async function me({model:a,el:e,host:t}){e.append(o("style",{},k),o("style",{},R));let r=new b(a,t);for(e.append(r.element);!e.isConnected;)await new Promise(i=>requestAnimationFrame(i));return r.mount(),()=>{r.close(),e.replaceChildren()}}export{b as PipelineEditor,me as render};
