/** Copying and downloading a dump. */

import { h } from "./dom";

const ENDINGS: Readonly<Record<string, string>> = {
  mlir: "mlir",
  llvm: "ll",
  ptx: "ptx",
  amdgcn: "s",
  sass: "sass",
  x86asm: "s",
  spirv: "spvasm",
  python: "py",
  json: "json",
};

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages without permission still may copy what is selected.
    const area = h("textarea", { readonly: true, "aria-hidden": "true" });
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function saveText(name: string, language: string, text: string): void {
  save(`${name}.${ENDINGS[language] ?? "txt"}`, new Blob([text], { type: "text/plain" }));
}

export function saveFile(name: string, data: Uint8Array<ArrayBuffer>): void {
  save(name, new Blob([data], { type: "application/octet-stream" }));
}

function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = h("a", { href: url, download: name.replace(/[^\w.-]+/g, "_") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
