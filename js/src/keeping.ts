/** What a notebook keeps of the experiments of a view. */

import type { Experiment } from "./schema";

export interface Kept {
  readonly experiments: readonly Experiment[];
  /** The dumps of all of the view. */
  readonly data: Uint8Array;
}

interface Saved {
  readonly views?: readonly {
    readonly bundle: string;
    readonly state: Readonly<Record<string, unknown>>;
    readonly data: string;
  }[];
  readonly experiments?: readonly Experiment[];
}

/** Bytes that a notebook keeps of a view, as irwidget/views/base.py has it; of more, only how to run it again. */
const MOST = 2_000_000;

/** What is kept of views, with other experiments; `number` says which view they are of. */
export function withExperiments<S extends Saved>(saved: S, number: number, { experiments, data }: Kept): S {
  const without = experiments.map((one) => ({ ...one, trace: -1 }));
  if (!saved.views?.[number]) return { ...saved, experiments: without };
  const fits = data.length <= MOST;
  const views = saved.views.map((view, i) =>
    i !== number
      ? view
      : fits
        ? { ...view, state: { ...view.state, experiments }, data: base64(data) }
        : { ...view, state: { ...view.state, experiments: without } },
  );
  return { ...saved, views };
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
