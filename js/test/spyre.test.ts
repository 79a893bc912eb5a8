import { layersOf, listed } from "../src/spyre/listing";
import { describe, expect, test } from "vitest";
import { depth } from "../src/spyre/cores";
import {
  at,
  bytes,
  coreColours,
  elementAt,
  iterationOf,
  iterations,
  slicesOf,
  splitsOf,
  span,
  stickDim,
  tileColour,
} from "../src/spyre/data";
import type { SpyreBuffer, SpyreOp, SpyreProgram, SpyreTensor, SpyreTile } from "../src/schema";
import { touched } from "../src/spyre/memory";

const tile = (cores: number[], more: Partial<SpyreTile> = {}): SpyreTile => ({
  box: [],
  address: 0,
  bytes: 0,
  run: 0,
  repeats: [],
  cores,
  ...more,
});

/** An op whose dims are split as given, the last dim fastest over the cores. */
function op(splits: Record<string, number>, loops: SpyreOp["loops"] = []): SpyreOp {
  const dims = Object.entries(splits).map(([label, split]) => ({ label, split }) as SpyreOp["dims"][number]);
  const cores = dims.reduce((all, { split }) => all * split, 1);
  const slices = Array.from({ length: cores }, (_, core) => {
    const found: number[] = [];
    for (const { split } of [...dims].reverse()) {
      found.unshift(core % split);
      core = Math.floor(core / split);
    }
    return found;
  });
  return { dims, cores, slices, loops } as unknown as SpyreOp;
}

describe("loops", () => {
  const looped = op({}, [
    { dim: "M", count: 2 },
    { dim: "N", count: 3 },
  ]);

  test("each number is an iteration of its own, the innermost loop first", () => {
    const all = Array.from({ length: iterations(looped) }, (_, i) => iterationOf(looped, i));
    expect(all).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [1, 0],
      [1, 1],
      [1, 2],
    ]);
  });
  test("an op without loops has one", () => {
    expect([iterations(op({ M: 4 })), iterationOf(op({ M: 4 }), 0)]).toEqual([1, []]);
  });
  test("a tile moves by the shifts and advances of all loops", () => {
    const tensor = {
      advances: [1000, 10],
      shifts: [
        [32, 0],
        [0, 64],
      ],
    } as unknown as SpyreTensor;
    const moved = at(
      tensor,
      tile([0], {
        box: [
          [0, 31],
          [0, 63],
        ],
        address: 5,
      }),
      [1, 2],
    );
    expect(moved).toEqual({
      box: [
        [32, 63],
        [128, 191],
      ],
      address: 1025,
    });
  });
});

describe("sticks", () => {
  const layout = (size: number[], stride: number[], device: number[], map: number[]): SpyreBuffer =>
    ({ size, stride, device_size: device, stride_map: map }) as unknown as SpyreBuffer;
  /** How often each host element lies in a lane, and how many lanes are padding. */
  const places = (buffer: SpyreBuffer): { found: Map<string, number>; padding: number } => {
    const lanes = buffer.device_size.at(-1)!;
    const sticks = buffer.device_size.slice(0, -1).reduce((all, n) => all * n, 1);
    const found = new Map<string, number>();
    let padding = 0;
    for (let stick = 0; stick < sticks; stick++) {
      for (let lane = 0; lane < lanes; lane++) {
        const element = elementAt(buffer, stick, lane);
        if (element) found.set(element.join(), (found.get(element.join()) ?? 0) + 1);
        else padding++;
      }
    }
    return { found, padding };
  };

  test.each([
    ["rows in sticks", layout([6, 100], [100, 1], [2, 6, 64], [64, 100, 1]), 1],
    ["columns in sticks", layout([100, 6], [6, 1], [2, 6, 64], [384, 1, 6]), 0],
    ["three dims", layout([2, 3, 70], [210, 70, 1], [3, 2, 2, 64], [70, 64, 210, 1]), 2],
    ["a dim of one", layout([1, 64], [64, 1], [1, 1, 64], [64, 64, 1]), 1],
    ["one element a stick", layout([5], [1], [5, 64], [1, -1]), -1],
  ])("every element lies in one lane, the rest is padding: %s", (_, buffer, inner) => {
    const { found, padding } = places(buffer);
    const elements = buffer.size.reduce((all, n) => all * n, 1);
    expect(found.size).toBe(elements);
    expect([...found.values()].every((times) => times === 1)).toBe(true);
    expect(padding).toBe(buffer.device_size.reduce((all, n) => all * n, 1) - elements);
    expect(stickDim(buffer)).toBe(inner);
  });
});

describe("colours", () => {
  test.each([[{ M: 4, N: 8 }], [{ M: 2, N: 4, K: 2 }], [{ M: 32 }], [{ M: 1, N: 3 }]])(
    "cores with neighbouring slices look different: %j",
    (splits) => {
      const divided = op(splits);
      const looks = coreColours(divided).map((colour) => colour.hue + depth(colour));
      const apart = (a: readonly number[], b: readonly number[]): number =>
        a.reduce((sum, slice, dim) => sum + Math.abs(slice - b[dim]!), 0);
      for (const [i, mine] of divided.slices.entries()) {
        for (const [j, other] of divided.slices.entries())
          if (apart(mine, other) === 1) expect(looks[i]).not.toBe(looks[j]);
      }
    },
  );
  test("an op on one core has a colour", () => expect(coreColours(op({ M: 1 }))).toEqual([{ hue: "a", depth: 0.5 }]));
  test("a tile of several cores has their hue only when they have one", () => {
    const colours = coreColours(op({ M: 2, N: 2 }));
    expect(tileColour(tile([0, 1]), colours)).toEqual({ hue: "a", depth: 0.5 });
    expect(tileColour(tile([0, 2]), colours).hue).toBe("n");
    expect(tileColour(tile([]), colours).hue).toBe("n");
  });
});

describe("the bytes of a core on a bar of addresses", () => {
  test.each([
    ["one stretch", 1000, 256, [], [[0, 0.25]]],
    [
      "apart",
      1000,
      2,
      [[2, 512]],
      [
        [0, 1 / 512],
        [0.5, 1 / 512],
      ],
    ],
    ["too fine to be seen apart", 1000, 1, [[256, 1.5]], [[0, 0.375]]],
    [
      "two levels",
      1000,
      2,
      [
        [2, 4],
        [2, 512],
      ],
      [
        [0, 1 / 512],
        [2 / 512, 1 / 512],
        [0.5, 1 / 512],
        [0.5 + 2 / 512, 1 / 512],
      ],
    ],
    ["less than a part", 1001, 1, [], [[0, 1 / 512]]],
  ] as const)("%s", (_, start, run, repeats, stretches) => {
    expect(touched(start, run, repeats, 1000, 1024)).toEqual(stretches);
  });
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.5 KiB"],
  [2 ** 21, "2 MiB"],
  [1.6 * 2 ** 30, "1.6 GiB"],
])("%d bytes", (n, text) => {
  expect(bytes(n)).toBe(text);
});

test("splits and slices in words", () => {
  const divided = op({ M: 4, N: 1, K: 2 });
  expect([splitsOf(divided), slicesOf(divided, 3), slicesOf(divided, 8)]).toEqual([
    "M/4 K/2",
    "M 1 of 4, K 1 of 2",
    "idle",
  ]);
  expect([splitsOf(op({ M: 1 })), span([3, 3]), span([3, 9])]).toEqual(["–", "3", "3–9"]);
});

describe("the list of ops", () => {
  const op = (number: number, func: string, us: number): SpyreOp =>
    ({
      number,
      func,
      buffer: `buf${number}`,
      module: `layers.${number}`,
      aten: func,
      mark: "",
      unit: "sfp",
      kernel: 0,
      time: { us, idle: number, read: us, written: 0, again: 0, binds: "memory" },
    }) as unknown as SpyreOp;
  const ops = [op(0, "exp", 1), ...[1, 2, 3].flatMap((i) => [op(2 * i - 1, "add", 3), op(2 * i, "mul", 2)])];
  const program = {
    ops,
    buffers: {},
    kernels: [{ name: "k" }],
    estimate: { repeats: [{ first: 1, length: 2, count: 3 }] },
  } as unknown as SpyreProgram;
  const numbers = (order: string, search = "", open: number[] = []): (number | string)[] =>
    listed(program, order, search, new Set(open)).map(({ op, times, layers }) =>
      layers === undefined ? (times > 1 ? `${op.number}x${times}` : op.number) : `layers ${layers}`,
    );

  test("folds equal layers, and opens them", () => {
    expect(numbers("launch")).toEqual([0, 1, 2, "layers 0"]);
    expect(numbers("launch", "", [0])).toEqual([0, 1, 2, "layers 0", 3, 4, 5, 6]);
    expect(layersOf(program, 2)).toBe(-1);
    expect(layersOf(program, 3)).toBe(0);
  });

  test("sorts by cost, equal layers counted as often as they are", () => {
    expect(numbers("us")).toEqual(["1x3", "2x3", 0]);
    expect(numbers("idle")).toEqual(["2x3", "1x3", 0]);
  });

  test("finds every op that has all the words, in every layer", () => {
    expect(numbers("launch", "mul")).toEqual([2, 4, 6]);
    expect(numbers("us", "MUL layers.6")).toEqual([6]);
    expect(numbers("launch", "nothing")).toEqual([]);
  });
});

describe("numbers and colours", () => {
  test.each([
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [1234567, "1.177 MiB"],
    [2 ** 30, "1 GiB"],
  ])("%i bytes", (count, text) => expect(bytes(count)).toBe(text));

  const split = (...splits: number[]): SpyreOp => {
    const slices: number[][] = [[]];
    for (const count of splits)
      slices.splice(0, slices.length, ...slices.flatMap((one) => Array.from({ length: count }, (_, i) => [...one, i])));
    return { dims: splits.map((split, i) => ({ label: `d${i}`, split })), slices } as unknown as SpyreOp;
  };
  const said = (op: SpyreOp): string[] => coreColours(op).map(({ hue, depth }) => `${hue}${depth.toFixed(2)}`);

  test("are two hues for the axis with fewer slices, and lightness", () => {
    expect(said(split(1))).toEqual(["a0.50"]);
    expect(said(split(2))).toEqual(["a0.50", "b0.50"]);
    expect(said(split(4))).toEqual(["a0.00", "a1.00", "b0.00", "b1.00"]);
    expect(said(split(5))).toEqual(["a0.00", "a0.50", "a1.00", "b0.00", "b0.50"]);
    expect(said(split(3, 2))).toEqual(["a0.00", "b0.00", "a0.50", "b0.50", "a1.00", "b1.00"]);
    expect(said(split(2, 2, 3)).slice(0, 6)).toEqual(["a0.00", "a0.20", "a0.40", "a0.60", "a0.80", "a1.00"]);
  });

  test("of a tile are those of its cores", () => {
    const colours = coreColours(split(4));
    const of = (...cores: number[]) => tileColour({ cores } as unknown as SpyreTile, colours);
    expect([of(1), of(0, 1), of(1, 3), of(), of(9)]).toEqual([
      { hue: "a", depth: 1 },
      { hue: "a", depth: 0.5 },
      { hue: "n", depth: 1 },
      { hue: "n", depth: 0 },
      { hue: "n", depth: 0 },
    ]);
  });
});

test("a step leads along the outermost dim that it divides and that has room", () => {
  const of = (size: number[], stride: number[], step: number) =>
    ({ size, stride, stride_map: [step, 1], device_size: [8, 1] }) as unknown as SpyreBuffer;
  expect(elementAt(of([2, 3], [3, 1], 4), 1, 0)).toBeNull();
  expect(elementAt(of([4, 1, 4], [4, 8, 1], 8), 1, 0)).toEqual([2, 0, 0]);
  expect(elementAt(of([4, 4], [4, 1], 8), 1, 0)).toEqual([2, 0]);
  expect(stickDim({ ...of([4, 2], [0, 1], 1), stride_map: [1, 0] })).toBe(-1);
  expect(stickDim(of([4, 2], [2, 1], 2))).toBe(1);
});
