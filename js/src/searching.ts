/** The search through all passes: what was found, and the way from one line to the next. */

import type { Analysis } from "./analysis";
import type { Trace } from "./dumps";
import { Hits } from "./hits";
import type { Store } from "./model";
import { patternOf, type Query } from "./query";

/** Where the reader is. */
export interface Reader {
  readonly trace: Trace;
  /** The stage on the right, and the line of it that has the cursor; -1 for none. */
  readonly stage: number;
  readonly line: number;
}

export class Search {
  private hits: Hits | null = null;

  constructor(private readonly store: Store) {}

  get query(): Query {
    const { store } = this;
    return {
      text: store.get("query"),
      regex: store.get("search_regex"),
      exact: store.get("search_case"),
      word: store.get("search_word"),
    };
  }

  /** For each stage, on how many lines the query occurs. */
  get counts(): readonly number[] {
    return this.hits?.counts ?? [];
  }

  /** Look through the texts that are here. */
  update(analysis: Analysis, trace: Trace): void {
    const { query } = this;
    const wanted = query.text && typeof patternOf(query) !== "string";
    this.hits = wanted ? new Hits(trace, analysis.matching(query)) : null;
  }

  /** What there is to say of it. */
  said({ stage, line }: Reader): string {
    if (!this.query.text) return "";
    if (this.hits) return this.hits.said({ stage, line });
    return `no regular expression: ${String(patternOf(this.query))}`;
  }

  /** The line that comes next, or before. */
  next({ trace, stage, line }: Reader, step: 1 | -1): { stage: number; line: number } | null {
    const from = line < 0 && step < 0 ? trace.stages[stage]!.lines.length : line;
    return this.hits?.next({ stage, line: from }, step) ?? null;
  }
}
