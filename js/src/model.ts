/** The state that the page and Python share. */

import type { Experiment, Note } from "./schema";

/** What every host of widgets offers (the anywidget front-end module interface). */
export interface Model {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
  save_changes(): void;
  /** Absent in an offline page, which has nobody to send to. */
  send?(content: unknown): void;
  on(event: string, callback: (content: never) => void): void;
  off(event: string, callback: (content: never) => void): void;
}

export interface State {
  /** Which of several lowerings is shown. */
  trace: number;
  /** The lowering that the left side is of; -1 for the same one. */
  against: number;
  /** The stages compared; the same stage twice shows it alone. */
  left: number;
  right: number;
  /** Text looked for in all stages. */
  query: string;
  /** How it is looked for. */
  search_regex: boolean;
  search_case: boolean;
  search_word: boolean;
  /** Whether lines that differ in renumbered names only count as equal. */
  ignore_renumbering: boolean;
  /** `auto`: two panes where there is room for them. */
  layout_mode: "auto" | "split" | "unified";
  wrap: boolean;
  fold: boolean;
  blame: boolean;
  /** Show only the function with this name. */
  symbol: string;
  /** List only the passes with this in their name. */
  passes: string;
  /** List the slowest passes first. */
  by_time: boolean;
  /** Show the list of passes as a narrow rail; null: where there is little room. */
  rail: boolean | null;
  /** Dumps shown side by side instead of the diff, linked by source line; -1: the source. Absent or empty: the diff. */
  columns?: readonly number[];
  /** Whether the operations are shown beside the panes. */
  ops: boolean;
  /** What the reader has written on lines. */
  notes: readonly Note[];
  /** Lowerings that go on from edited dumps; Python says which there are. */
  experiments: readonly Experiment[];
}

const KEYS: readonly (keyof State)[] = [
  "trace",
  "against",
  "left",
  "right",
  "query",
  "search_regex",
  "search_case",
  "search_word",
  "ignore_renumbering",
  "layout_mode",
  "wrap",
  "fold",
  "blame",
  "symbol",
  "passes",
  "by_time",
  "rail",
  "columns",
  "ops",
  "notes",
  "experiments",
];

/** Sets keys of a model, and tells of changes once per turn, whoever made them. */
export class Watch<K extends string> {
  private readonly pending = new Set<K>();
  private readonly stops: (() => void)[] = [];

  constructor(
    protected readonly model: Model,
    keys: readonly K[],
    private readonly changed: (keys: ReadonlySet<K>) => void,
  ) {
    for (const key of keys) {
      const note = (): void => this.note(key);
      model.on(`change:${key}`, note);
      this.stops.push(() => model.off(`change:${key}`, note));
    }
  }

  set(values: Partial<Record<K, unknown>>): void {
    let any = false;
    for (const key in values) {
      if (this.model.get(key) === values[key]) continue;
      this.model.set(key, values[key]);
      this.note(key);
      any = true;
    }
    if (any) this.model.save_changes();
  }

  close(): void {
    for (const stop of this.stops) stop();
    this.pending.clear();
  }

  private note(key: K): void {
    if (this.pending.size === 0) {
      queueMicrotask(() => {
        const keys = new Set(this.pending);
        this.pending.clear();
        if (keys.size > 0) this.changed(keys);
      });
    }
    this.pending.add(key);
  }
}

export type Changes = ReadonlySet<keyof State | "data">;

/** The state of the pass diff. */
export class Store extends Watch<keyof State | "data"> {
  constructor(model: Model, changed: (keys: Changes) => void) {
    super(model, [...KEYS, "data"], changed);
  }

  get<K extends keyof State>(key: K): State[K] {
    return this.model.get(key) as State[K];
  }

  get data(): Uint8Array<ArrayBuffer> {
    const { buffer, byteOffset, byteLength } = this.model.get("data") as DataView<ArrayBuffer>;
    return new Uint8Array(buffer, byteOffset, byteLength);
  }

  override set(values: Partial<State>): void {
    super.set(values);
  }
}
