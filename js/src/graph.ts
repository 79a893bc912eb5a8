/**
 * Draws DOT with Graphviz, in a worker: a large graph takes it seconds, and the page must not wait. This module is a
 * bundle of its own that is only sent with lowerings that left graphs.
 */

import { instance } from "@viz-js/viz";

export type Drawn = { svg: string } | { error: string };

const scope = self as unknown as { onmessage: unknown; postMessage(answer: Drawn): void };
const graphviz = instance();

scope.onmessage = async ({ data }: MessageEvent<string>): Promise<void> => {
  try {
    const viz = await graphviz;
    const result = viz.render(data, { format: "svg", engine: "dot" });
    if (result.status === "success") scope.postMessage({ svg: result.output });
    else scope.postMessage({ error: result.errors.map(({ message }) => message).join("\n") || "This is no graph." });
  } catch (error) {
    scope.postMessage({ error: String(error) });
  }
};
