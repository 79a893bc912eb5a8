/** What Python sends gzipped: data, JSON, code. */

function unzipped(bytes: BufferSource): Response {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

export function gunzip(bytes: BufferSource): Promise<ArrayBuffer> {
  return unzipped(bytes).arrayBuffer();
}

export function readJson<T>(bytes: BufferSource): Promise<T> {
  return unzipped(bytes).json() as Promise<T>;
}

export async function readCode(bytes: BufferSource): Promise<Blob> {
  return new Blob([await unzipped(bytes).blob()], { type: "text/javascript" });
}

export async function importCode<T>(bytes: BufferSource): Promise<T> {
  const url = URL.createObjectURL(await readCode(bytes));
  try {
    return (await import(/* @vite-ignore */ url)) as T;
  } finally {
    URL.revokeObjectURL(url);
  }
}
