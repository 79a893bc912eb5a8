/** The program beside the former one, down to the fields of the selected op's SuperDSC. */

import { h, plural, thousands } from "../dom";
import { table } from "./cores";
import { folded } from "./memory";
import { bytes } from "./data";
import type { SpyreFormer, SpyreOp } from "../schema";

export function compared(former: SpyreFormer): HTMLElement {
  const { rows, options, totals } = former.changes;
  const amount = (name: string, n: number): string => (/bytes|LX/.test(name) ? bytes(n) : thousands(Math.round(n)));
  const sign = (x: number, y: number): string =>
    x === y ? "same" : x === 0 ? "new" : `${y > x ? "+" : "−"}${((100 * Math.abs(y - x)) / x).toFixed(0)} %`;
  const changed = rows.filter((row) => row.changed);
  const pair = (a: string | undefined, b: string | undefined): Node =>
    a === b
      ? h("span", { class: "irw-dim" }, a ?? "")
      : h("span", {}, h("del", {}, a ?? "none"), " → ", h("ins", {}, b ?? "gone"));
  const time = (one: { us: number | null } | null): string | undefined =>
    one === null ? undefined : one.us === null ? "not estimated" : String(Number(one.us.toPrecision(4)));
  return h(
    "div",
    {},
    h(
      "p",
      {},
      options.length === 0
        ? "The options are the same."
        : options.map(({ name, before, after }) => `${name}: ${before} → ${after}`).join("; "),
    ),
    table(
      "Totals",
      ["", "before", "now", "change"],
      totals.map(({ name, before, after }) => [name, amount(name, before), amount(name, after), sign(before, after)]),
    ),
    table(
      "What changed by op",
      ["op", "splits", "cores", "lies in", "bytes, each once", "µs, estimated"],
      changed.map(({ op, before, after }) => [
        op,
        pair(before?.splits, after?.splits),
        pair((before && String(before.cores)) || undefined, (after && String(after.cores)) || undefined),
        pair(before?.place, after?.place),
        pair(before ? bytes(before.unique) : undefined, after ? bytes(after.unique) : undefined),
        pair(time(before), time(after)),
      ]),
      "irw-s-left",
    ),
    h(
      "p",
      { class: "irw-dim" },
      rows.length > changed.length ? `${rows.length - changed.length} ops are the same.` : "",
    ),
  );
}

/** The fields of an op's SuperDSC that differ from those of the former program. */
export function fields(former: SpyreFormer, op: SpyreOp): HTMLElement {
  const found = former.fields[`${op.buffer} = ${op.func}`] ?? [];
  const title = `SuperDSC of ${op.buffer}: ${found.length === 0 ? "no field differs" : plural(found.length, "field")}`;
  return folded(
    title,
    table(
      "SuperDSC fields that differ",
      ["field", "before", "now", ""],
      found.map(({ path, before, after, cores }) => [
        path,
        before,
        after,
        cores > 1 ? `core 0; ${cores} cores differ` : "",
      ]),
      "irw-s-left",
    ),
  );
}
