/** What a long lowering is at, in words. */

import { milliseconds } from "../list";
import type { ProgressPass } from "../schema";

/** Seconds as they are read while they pass. */
export function clock(seconds: number): string {
  return seconds < 0.001 ? "0 s" : seconds < 1 ? milliseconds(seconds) : `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}

/** The pass under way, or the last where only those that have ended are told of; `more`: seconds since that was sent. */
export function doing({ pass, step, seconds, over }: ProgressPass, more: number): string {
  const since = clock(seconds + more);
  return `${step ? `${step} · ` : ""}${pass} ${over ? `ended ${since} ago` : `for ${since}`}`;
}
