/** Where things lie: the scratchpad over the program, device memory, and the sticks of one tensor. */

import { h, OWN_KEYS, plural, thousands } from "../dom";
import { table } from "./cores";
import { at, bytes, elementAt, hex, iterationOf, tileOf } from "./data";
import type { SpyreOp, SpyreProgram, SpyreTensor } from "../schema";

/** Steps of a program that are drawn at once. */
const WINDOW = 64;
/** About how large the picture is, in pixels: for which names there is room. */
const WIDTH = 420;
const HEIGHT = 150;

/** Address by step: what lives in every core's LX, and the peak. */
export function scratchpad(
  program: SpyreProgram,
  op: SpyreOp,
  tensor: string,
  chosen: (name: string) => void,
): HTMLElement {
  const { blocks, missed, capacity, peak } = program.lx;
  const room = [
    h(
      "p",
      { class: "irw-dim" },
      blocks.length === 0
        ? "Nothing of this program lies in LX."
        : `peak ${bytes(peak)} of ${bytes(capacity)} (${Math.max(0.1, (100 * peak) / capacity).toFixed(1)} %), the same addresses on every core`,
    ),
  ];
  // Of a long program, what is around the selected op: more could not be told apart.
  const span = Math.min(program.steps, WINDOW);
  const from = Math.max(0, Math.min(program.steps - span, Math.round(op.step - span / 2)));
  const near = blocks.filter(({ first, last }) => last >= from && first < from + span);
  const top = peak > capacity / 3 ? capacity : peak || 1;
  const picture = h("div", {
    class: "irw-s-lx",
    role: "group",
    "aria-label": `LX over ${plural(program.steps, "step")}`,
  });
  for (const share of [0.25, 0.5, 0.75, 1]) {
    const line = h(
      "span",
      { class: share === 1 && top === capacity ? "irw-s-capacity" : "irw-s-level" },
      h("span", {}, share === 1 && top === capacity ? `capacity ${bytes(top)}` : bytes(Math.round(top * share))),
    );
    line.style.bottom = `${100 * share}%`;
    picture.append(line);
  }
  const now = h("span", { class: "irw-s-now", title: `step ${op.step}` });
  place(now, (op.step - from) / span, 1 / span);
  picture.append(now);
  for (const block of near) {
    const first = Math.max(block.first, from);
    const wide = (Math.min(block.last + 1, from + span) - first) / span;
    const high = Math.max(block.bytes / top, 4 / HEIGHT);
    // A name that does not fit is in the title and in the table.
    const named = wide * WIDTH > 6 + 6 * block.name.length && high * HEIGHT > 11;
    const element = h(
      "button",
      {
        type: "button",
        ...OWN_KEYS,
        class: `irw-s-block${block.name === tensor ? " irw-s-mine" : ""}${block.in_place ? " irw-s-inplace" : ""}`,
        "aria-pressed": String(block.name === tensor),
        "data-key": `block ${block.name}`,
        title: `${block.name}: ${block.address}–${block.address + block.bytes - 1}, steps ${block.first}–${block.last}${block.in_place ? `, in place of ${block.in_place}` : ""}`,
        click: () => chosen(block.name),
      },
      named ? block.name : h("span", { class: "irw-said-only" }, block.name),
    );
    place(element, (first - from) / span, wide);
    element.style.bottom = `${(100 * block.address) / top}%`;
    element.style.height = `max(4px, ${(100 * block.bytes) / top}%)`;
    picture.append(element);
  }
  const out: Node[] = [...room];
  if (blocks.length > 0) {
    out.push(
      picture,
      h(
        "div",
        { class: "irw-s-axis irw-dim", "aria-hidden": "true" },
        h("span", {}, `step ${from}`),
        h("span", {}, span < program.steps ? `${from + span - 1} of ${program.steps}` : String(program.steps - 1)),
      ),
    );
    out.push(
      folded(
        "Table",
        table(
          "LX",
          ["buffer", "addresses", "bytes per core", "steps", ""],
          blocks.map((b) => [
            b.name,
            `${b.address}–${b.address + b.bytes - 1}`,
            bytes(b.bytes),
            `${b.first}–${b.last}`,
            b.in_place ? `in place of ${b.in_place}` : "",
          ]),
        ),
      ),
    );
  }
  if (missed.length > 0) {
    out.push(
      folded(
        `${plural(missed.length, "buffer")} not in LX`,
        table(
          "Not in LX",
          ["buffer", "why"],
          missed.map((m) => [m.name, m.why]),
          "irw-s-left",
        ),
      ),
    );
  }
  return h("div", {}, ...out);
}

function place(element: HTMLElement, left: number, width: number): void {
  element.style.left = `${100 * left}%`;
  element.style.width = `${100 * width}%`;
}

export function folded(title: string, ...body: Node[]): HTMLDetailsElement {
  return h("details", {}, h("summary", { ...OWN_KEYS }, title), ...body);
}

const BINS = 512;

/** Which of 512 parts of `size` bytes from `base` a tile touches, as stretches. */
export function touched(
  start: number,
  run: number,
  repeats: readonly (readonly [number, number])[],
  base: number,
  size: number,
): [number, number][] {
  const seen = new Uint8Array(BINS);
  const bin = size / BINS;
  const fill = (from: number, length: number): void => {
    const first = Math.max(0, Math.floor((from - base) / bin));
    const last = Math.min(BINS - 1, Math.ceil((from + length - base) / bin) - 1);
    for (let i = first; i <= Math.max(first, last); i++) seen[i] = 1;
  };
  const extent = (level: number): number =>
    level < 0 ? run : extent(level - 1) + (repeats[level]![0] - 1) * repeats[level]![1];
  const walk = (from: number, level: number): void => {
    if (level < 0) return fill(from, run);
    const [count, distance] = repeats[level]!;
    // Finer than what can be seen: one stretch.
    if (distance < bin) return fill(from, extent(level));
    for (let i = 0; i < count; i++) walk(from + i * distance, level - 1);
  };
  walk(start, repeats.length - 1);
  const found: [number, number][] = [];
  for (let i = 0; i < BINS; i++) {
    if (!seen[i]) continue;
    const first = i;
    while (i + 1 < BINS && seen[i + 1]) i++;
    found.push([first / BINS, (i + 1 - first) / BINS]);
  }
  return found;
}

/** The kernel's tensors as bars of addresses, with the selected core's bytes. */
export function deviceMemory(
  program: SpyreProgram,
  op: SpyreOp,
  core: number,
  iteration: number,
  tensor: string,
  chosen: (name: string) => void,
): HTMLElement {
  const kernel = program.kernels[op.kernel];
  if (!kernel)
    return h("p", { class: "irw-dim" }, "The host copies its operands from device memory and the result back.");
  const step = iterationOf(op, iteration);
  const bar = (
    name: string,
    base: number,
    size: number,
    tensors: readonly SpyreTensor[],
    live: readonly { name: string; offset: number; bytes: number }[],
  ): HTMLElement => {
    const strip = h("span", { class: "irw-s-strip", "aria-hidden": "true" });
    for (const block of live) {
      const part = h(
        "span",
        { class: "irw-s-live", title: `${block.name}: pool ${hex(block.offset)}, ${bytes(block.bytes)}` },
        block.name,
      );
      place(part, block.offset / size, block.bytes / size);
      strip.append(part);
    }
    let count = 0;
    for (const one of tensors) {
      const tile = tileOf(one, core);
      if (!tile) continue;
      count += tile.bytes;
      for (const [left, width] of touched(at(one, tile, step).address, tile.run, tile.repeats, base, size)) {
        const part = h("span", { class: one.role === "out" ? "irw-s-piece irw-s-out" : "irw-s-piece" });
        place(part, left, width);
        strip.append(part);
      }
    }
    const label = program.buffers[name]?.parameter || name;
    return h(
      "button",
      {
        type: "button",
        ...OWN_KEYS,
        class: name === tensor ? "irw-s-bar irw-s-mine" : "irw-s-bar",
        "aria-pressed": String(name === tensor),
        click: () => chosen(name),
        "data-key": `bar ${name}`,
        title: `core ${core} touches ${count ? bytes(count) : "nothing"}`,
      },
      h("span", { class: "irw-s-barname" }, label),
      h("code", {}, hex(base)),
      strip,
      h("span", { class: "irw-s-barsize" }, bytes(size)),
      h("span", { class: "irw-said-only" }, `core ${core} touches ${count ? bytes(count) : "nothing"}`),
    );
  };
  const rows = kernel.arguments.map(({ name, base }) =>
    bar(
      name,
      base,
      program.buffers[name]!.bytes,
      op.tensors.filter((t) => t.name === name && t.place === "hbm"),
      [],
    ),
  );
  if (kernel.pool && program.pool.bytes > 0) {
    const live = program.pool.blocks.filter(({ first, last }) => first <= op.step && op.step <= last);
    rows.push(
      bar(
        "pool",
        0,
        program.pool.bytes,
        op.tensors.filter(({ place }) => place === "pool"),
        live,
      ),
    );
  }
  const moved = `This op touches ${bytes(op.moved.unique)} of device memory, each byte once; its cores take and give ${bytes(op.moved.device)}, each for itself.`;
  return h(
    "div",
    {},
    h("p", { class: "irw-dim" }, moved),
    h("div", { class: "irw-s-bars" }, ...rows),
    folded(
      "Table",
      table(
        "Segments",
        ["buffer", "address", "bytes", "segment"],
        [
          ...kernel.arguments.map(({ name, base }) => [
            name,
            hex(base),
            bytes(program.buffers[name]!.bytes),
            String(base / 2 ** 34),
          ]),
          ...program.pool.blocks.map((b) => [
            b.name,
            `pool ${hex(b.offset)}`,
            bytes(b.bytes),
            `steps ${b.first}–${b.last}`,
          ]),
        ],
      ),
    ),
  );
}

const SHOWN = 8;

/** The sticks of one tensor: which host element sits where, and what is padding. */
export class Sticks {
  readonly element = h("div", { class: "irw-s-sticks" });
  private first = 0;
  private key = "";

  draw(program: SpyreProgram, name: string, tensor: SpyreTensor | undefined, core: number): void {
    const buffer = program.buffers[name];
    if (!buffer) return void this.element.replaceChildren(h("p", { class: "irw-dim" }, "No device layout."));
    const eps = buffer.device_size.at(-1)!;
    const count = buffer.bytes / program.stick;
    const own = tensor && tileOf(tensor, core);
    const key = `${name} ${core}`;
    if (key !== this.key) {
      this.key = key;
      this.first =
        own && tensor.place !== "lx" ? Math.max(0, Math.floor((own.address - tensor.base) / program.stick)) : 0;
    }
    this.first = Math.max(0, Math.min(this.first, count - 1));
    const rows = Array.from({ length: Math.min(SHOWN, count - this.first) }, (_, i) =>
      this.stick(program, name, this.first + i, eps, tensor),
    );
    const go = (to: number) => () => {
      this.first = to;
      this.draw(program, name, tensor, core);
    };
    const move = (label: string, to: number) =>
      h(
        "button",
        { type: "button", ...OWN_KEYS, click: go(to), "data-key": label, disabled: to < 0 || to >= count },
        label,
      );
    const real = buffer.size.reduce((all, n) => all * n, 1);
    const slots = count * eps;
    this.element.replaceChildren(
      h(
        "p",
        {},
        h("code", {}, `device_size=[${buffer.device_size.join(", ")}]`),
        " ",
        h("code", {}, `stride_map=[${buffer.stride_map.join(", ")}]`),
        ` ${buffer.format}`,
        buffer.tag === "STANDARD" ? "" : ` ${buffer.tag}`,
        ` · ${plural(count, "stick")} of ${eps} · `,
        slots > real
          ? `${thousands(slots - real)} of ${thousands(slots)} places are padding (${((100 * (slots - real)) / slots).toFixed(0)} %)`
          : "no padding",
      ),
      h(
        "div",
        { class: "irw-s-stickbar" },
        move("‹ sticks", this.first - SHOWN),
        move("sticks ›", this.first + SHOWN),
        h("span", { class: "irw-dim" }, `from stick ${this.first} of ${thousands(count)}`),
      ),
      table(`Sticks of ${name}`, ["stick", "bytes from the start", "host elements", ""], rows),
    );
  }

  private stick(
    program: SpyreProgram,
    name: string,
    stick: number,
    eps: number,
    tensor: SpyreTensor | undefined,
  ): (string | Node)[] {
    const buffer = program.buffers[name]!;
    const lanes = Array.from({ length: eps }, (_, lane) => elementAt(buffer, stick, lane));
    const real = lanes.filter((lane) => lane !== null);
    const [first, last] = [real[0], real.at(-1)];
    const said = first && last ? first.map((n, dim) => span2(n, last[dim]!)).join(", ") : "";
    const strip = h("span", { class: "irw-s-lanes", "aria-hidden": "true" });
    for (const [lane, element] of lanes.entries()) {
      strip.append(
        h("span", {
          class: element ? "" : "irw-s-pad",
          title: element ? `lane ${lane}: ${name}[${element.join(", ")}]` : `lane ${lane}: padding`,
        }),
      );
    }
    const padding = eps - real.length;
    const offset = stick * program.stick;
    return [
      String(stick),
      tensor && tensor.place !== "lx" ? `${hex(offset)} → ${hex(tensor.base + offset)}` : hex(offset),
      `[${said}]${padding ? ` + ${padding} padding` : ""}`,
      strip,
    ];
  }
}

function span2(low: number, high: number): string {
  return low === high ? String(low) : `${low}–${high}`;
}
