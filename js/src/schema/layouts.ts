/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** The layout of one type of a dump. */
export interface TensorLayout {
  readonly type: string;
  /** The layout's attribute, written out. */
  readonly encoding: string;
  /** `shared` or `tensor` for memory; "" for registers. */
  readonly memory: string;
  /** Of an element. */
  readonly bits: number;
  /** Of the GPU's shared memory, of 32 bits; 0 where that is not known. */
  readonly banks: number;
  /** What is laid out, in elements. */
  readonly shape: readonly number[];
  /** By the name of an input (`register`, `lane`, `offset` ...): the element that each bit leads to, by xor. */
  readonly bases: Readonly<Record<string, readonly (readonly number[])[]>>;
  /** Of shared memory: after each interval of so many elements, so many are left out. */
  readonly padding: readonly (readonly number[])[];
  /** Why there are no bases; "" where there are. */
  readonly why: string;
}

/** A value with a layout at a line. */
export interface LayoutValue {
  /** "" where a line names a type without a value. */
  readonly name: string;
  readonly layout: number;
}

/** An operation that takes a tensor from one layout to another. */
export interface LayoutMove {
  readonly line: number;
  readonly source: number;
  readonly result: number;
  readonly summary: string;
}

/** A line of the dump. */
export interface LayoutLine {
  readonly text: string;
  readonly values: readonly LayoutValue[];
  /** The number of the move that the line is; -1 for none. */
  readonly move: number;
}

/** A dump with the layouts of its tensors. */
export interface LayoutsData {
  readonly title: string;
  readonly lines: readonly LayoutLine[];
  readonly layouts: readonly TensorLayout[];
  readonly moves: readonly LayoutMove[];
}
