/** Layouts as linear maps over bits; the same as irwidget/layouts/linear.py and placement.py. */

import type { TensorLayout } from "../schema";

/** Of shared memory. */
const BANK_BYTES = 4;

/** A place of the hardware: `register`, `lane`, `warp`, `block`; `offset` and what follows from it; `row`, `col`. */
export type ElementPlace = Readonly<Record<string, number>>;

export class Linear {
  readonly names: readonly string[];
  /** For each element, row-major, the places that hold it. */
  private readonly owners: ElementPlace[][];

  constructor(readonly layout: TensorLayout) {
    this.names = Object.keys(layout.bases);
    const { shape } = layout;
    this.owners = Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => []);
    const bits = this.names.map((name) => layout.bases[name]!.length);
    const places = 2 ** bits.reduce((a, b) => a + b, 0);
    for (let number = 0; number < places; number++) {
      const place: Record<string, number> = {};
      const at = shape.map(() => 0);
      let rest = number;
      for (const name of this.names) {
        const bases = layout.bases[name]!;
        place[name] = rest % 2 ** bases.length;
        rest = Math.floor(rest / 2 ** bases.length);
        bases.forEach((basis, bit) => {
          if ((place[name]! >> bit) & 1) basis.forEach((step, axis) => (at[axis]! ^= step));
        });
      }
      this.owners[this.index(at)]!.push(this.placed(place));
    }
  }

  index(element: readonly number[]): number {
    return element.reduce((sum, at, axis) => sum * this.layout.shape[axis]! + at, 0);
  }

  /** Every place that holds an element; the lowest block, warp, lane and register first. */
  at(element: readonly number[]): readonly ElementPlace[] {
    return this.owners[this.index(element)] ?? [];
  }

  /** What an element can be coloured by, the most telling first. */
  get colours(): readonly string[] {
    if (this.layout.memory === "shared") return this.layout.banks ? ["bank", "offset"] : ["offset"];
    return this.layout.memory ? ["row", "col"] : ["warp", "thread", "lane", "register", "block"];
  }

  private placed(place: Record<string, number>): ElementPlace {
    if (this.layout.memory === "shared") {
      const linear = place["offset"]!;
      let offset = linear;
      for (const [every, left] of this.layout.padding) offset += Math.floor(linear / every!) * left!;
      const byte = Math.floor((offset * this.layout.bits) / 8);
      const { banks } = this.layout;
      return { ...place, offset, byte, ...(banks ? { bank: Math.floor(byte / BANK_BYTES) % banks } : {}) };
    }
    const { lane, warp } = place;
    if (lane === undefined || warp === undefined) return place;
    return { ...place, thread: warp * 2 ** this.layout.bases["lane"]!.length + lane };
  }
}

/** A place in words. */
export function told(layout: TensorLayout, place: ElementPlace): string {
  const words =
    layout.memory === "shared"
      ? ["offset", "byte", ...(layout.banks ? ["bank"] : [])]
      : layout.memory
        ? ["row", "col"]
        : ["warp", "lane", "register"];
  const block = layout.bases["block"]?.length ? ["block"] : [];
  return [...block, ...words].map((word) => `${word} ${place[word]}`).join(", ");
}
