// The peer: a Monaco diff editor with nothing around it, as Compiler Explorer's pipeline viewer has one.
import * as monaco from "monaco-editor/editor/editor.api.js";

const worker = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
self.MonacoEnvironment = { getWorker: () => new Worker(worker) };

const editor = monaco.editor.createDiffEditor(document.getElementById("peer"), {
  readOnly: true, automaticLayout: true, minimap: { enabled: false }, maxFileSize: 0,
});

/** Milliseconds until Monaco has shown the diff of two texts. */
window.show = async (left, right) => {
  const started = performance.now();
  const before = editor.getModel();
  const done = new Promise((resolve) => {
    const listener = editor.onDidUpdateDiff(() => (listener.dispose(), resolve()));
  });
  editor.setModel({ original: monaco.editor.createModel(left, "plaintext"), modified: monaco.editor.createModel(right, "plaintext") });
  before?.original.dispose();
  before?.modified.dispose();
  await done;
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - started;
};
window.peerReady = true;
