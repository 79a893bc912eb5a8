import { describe, expect, it } from "vitest";
import { Linear, told } from "../src/layouts/linear";
import type { TensorLayout } from "../src/schema";

const registers: TensorLayout = {
  type: "tensor<4x4xf16, #b>",
  encoding: "#b",
  memory: "",
  bits: 16,
  banks: 32,
  shape: [4, 4],
  bases: {
    register: [[0, 1]],
    lane: [
      [0, 2],
      [1, 0],
    ],
    warp: [
      [2, 1],
      [0, 0],
    ],
    block: [],
  },
  padding: [],
  why: "",
};
const shared: TensorLayout = {
  ...registers,
  memory: "shared",
  shape: [2, 4],
  banks: 2,
  bases: {
    offset: [
      [0, 1],
      [0, 2],
      [1, 1],
    ],
    block: [],
  },
  padding: [
    [2, 1],
    [4, 3],
  ],
};

describe("who owns an element", () => {
  it("is what the bits lead to by xor, for each place that holds it", () => {
    const linear = new Linear(registers);
    expect(linear.names).toEqual(["register", "lane", "warp", "block"]);
    expect(linear.index([2, 3])).toBe(11);
    expect(linear.at([0, 0])).toEqual([
      { register: 0, lane: 0, warp: 0, block: 0, thread: 0 },
      { register: 0, lane: 0, warp: 2, block: 0, thread: 8 },
    ]);
    expect(linear.at([3, 2])).toEqual([
      { register: 1, lane: 3, warp: 1, block: 0, thread: 7 },
      { register: 1, lane: 3, warp: 3, block: 0, thread: 15 },
    ]);
    expect(linear.at([4, 0])).toEqual([]);
    for (const row of [0, 1, 2, 3]) for (const col of [0, 1, 2, 3]) expect(linear.at([row, col])).toHaveLength(2);
  });

  it("of shared memory has its offset with what is left out, its byte and its bank", () => {
    const linear = new Linear(shared);
    const one = (row: number, col: number) => linear.at([row, col]);
    expect(one(0, 0)).toEqual([{ offset: 0, block: 0, byte: 0, bank: 0 }]);
    expect(one(0, 3)).toEqual([{ offset: 4, block: 0, byte: 8, bank: 0 }]);
    expect(one(1, 1)).toEqual([{ offset: 9, block: 0, byte: 18, bank: 0 }]);
    expect(one(1, 2)).toEqual([{ offset: 13, block: 0, byte: 26, bank: 0 }]);
    expect(new Linear({ ...shared, bits: 4, padding: [] }).at([1, 2])).toEqual([
      { offset: 7, block: 0, byte: 3, bank: 0 },
    ]);
    expect(new Linear({ ...shared, bits: 32, banks: 0, padding: [] }).at([1, 1])).toEqual([
      { offset: 4, block: 0, byte: 16 },
    ]);
    expect(new Linear({ ...shared, bits: 32, padding: [] }).at([0, 3])[0]!["bank"]).toBe(1);
  });

  it("without lanes or warps has no thread", () => {
    const { lane, ...bases } = registers.bases;
    const linear = new Linear({ ...registers, bases });
    expect(lane).toHaveLength(2);
    expect(linear.at([2, 1])[0]).toEqual({ register: 0, warp: 1, block: 0 });
  });
});

describe("what an element is coloured by, and told with", () => {
  const place = { register: 1, lane: 2, warp: 3, block: 1, offset: 4, byte: 5, bank: 6, row: 7, col: 8 };
  const tensor = { ...registers, memory: "tensor" };
  it.each([
    [registers, ["warp", "thread", "lane", "register", "block"], "warp 3, lane 2, register 1"],
    [shared, ["bank", "offset"], "offset 4, byte 5, bank 6"],
    [{ ...shared, banks: 0 }, ["offset"], "offset 4, byte 5"],
    [tensor, ["row", "col"], "row 7, col 8"],
    [{ ...tensor, bases: { block: [[1, 0]] } }, ["row", "col"], "block 1, row 7, col 8"],
  ])("%#", (layout: TensorLayout, colours: string[], words: string) => {
    expect(new Linear(layout).colours).toEqual(colours);
    expect(told(layout, place)).toBe(words);
  });
});
