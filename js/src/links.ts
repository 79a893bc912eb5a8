/** A place in a lowering as the fragment of an address: `#lowering=net&pass=13&line=83&left=9`. */

/** Under which name the page keeps the fragment that it was opened with, where its address has lost it since. */
export const ARRIVED = Symbol.for("irwidget.arrived");

export interface LinkedPlace {
  /** The name of the lowering, or its title where another of the page has the same name; "" for the first. */
  readonly lowering: string;
  readonly pass: number;
  /** The left side of the comparison; -1: the pass before. */
  readonly left: number;
  /** The line on the right, from 1; 0 for none. */
  readonly line: number;
}

export function fragmentOf({ lowering, pass, left, line }: LinkedPlace): string {
  const given = new URLSearchParams();
  if (lowering) given.set("lowering", lowering);
  given.set("pass", String(pass));
  if (line > 0) given.set("line", String(line));
  if (left >= 0) given.set("left", String(left));
  return `#${given}`;
}

/** The place that a fragment names; null when it names none. */
export function placeOf(fragment: string): LinkedPlace | null {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const number = (name: string, none: number): number => {
    const text = given.get(name);
    return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : none;
  };
  const pass = number("pass", -1);
  return pass < 0
    ? null
    : { lowering: given.get("lowering") ?? "", pass, left: number("left", -1), line: number("line", 0) };
}
