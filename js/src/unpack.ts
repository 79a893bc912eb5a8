/** Reads .irtrace files as they grow: see docs/format.md. Passes over the sections that it does not know. */

import { Breath, columns, lines, sequence, shapesOf, unzigzag, varints, visible } from "./codec";
import { factsOf } from "./columns";
import { gunzip } from "./gzip";
import type { Shape } from "./shape";
import type { ViewedTrace } from "./schema";
import { type Attachment, type Dumps, type Place, type Source, type Stage, titled, type Trace } from "./dumps";

const MAGIC = [0x89, 0x49, 0x52, 0x54, 0x0d, 0x0a, 0x1a, 0x0a];
const VERSION = 3;
const HEAD = MAGIC.length + 4;
const NO_LINES = new Int32Array(0);
const NOTHING = new Uint8Array(0);

type Sections = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** What a file says of a trace. */
interface PackedTrace {
  name: string;
  target: string;
  dumps: Pick<Stage, "name" | "language" | "options" | "seconds">[];
  /** Name and bytes. */
  attachments: [string, number][];
}

interface Meta {
  traces?: PackedTrace[];
  sources?: [string, string][];
  view?: { traces: ViewedTrace[] };
  files?: string[];
  dumps?: { at: [number, number]; lines: number; like: [number, number] | null; places: number }[];
  pieces?: [trace: number, attachment: number, bytes: number][];
  lost?: [trace: number, stage: number, ...string[]][];
}

interface Text {
  lines: Int32Array;
  places: Int32Array | null;
}

/** The chunks of a file: each a length and its bytes. */
function* chunks(bytes: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at, true);
    yield bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
}

/** The sections of a chunk by name. */
function sections(bytes: Uint8Array<ArrayBuffer>): Sections {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = new Map<string, Uint8Array<ArrayBuffer>>();
  for (let at = 0; at < bytes.length;) {
    const name = String.fromCharCode(...bytes.subarray(at + 1, at + 1 + bytes[at]!));
    at += 1 + name.length;
    const length = view.getUint32(at, true);
    found.set(name, bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return found;
}

/** Takes up packed dumps; of bytes that begin with those taken before, only what is new. */
export class Unpacker {
  private taken = new Uint8Array(0);
  private table: string[] = [];
  private blanked = new Int32Array(0);
  private blankIds = new Map<string, number>();
  private shapes: Shape[] = [];
  private shapeOf = new Int32Array(0);
  /** For each file that places name, its number among the sources. */
  private files: number[] = [];
  private places: Place[] = [];
  private traces: PackedTrace[] = [];
  private views: ViewedTrace[] = [];
  private sources: Source[] = [];
  private attachments: Attachment[][] = [];
  private texts: Map<number, Text>[] = [];
  private lost: Set<number>[] = [];

  /** Whether these bytes go on from those taken. */
  continues(data: Uint8Array): boolean {
    const { taken } = this;
    if (taken.length === 0 || data.length < taken.length) return false;
    for (let i = 0; i < taken.length; i++) if (taken[i] !== data[i]) return false;
    return true;
  }

  /** The dumps after each chunk that is new, so that the first can be shown while the others are read. */
  async *take(data: Uint8Array<ArrayBuffer>): AsyncGenerator<Dumps> {
    const version = new DataView(data.buffer, data.byteOffset).getUint32(MAGIC.length, true);
    if (version !== VERSION || MAGIC.some((byte, i) => data[i] !== byte)) {
      throw new Error(`These dumps have format ${version} and this viewer reads ${VERSION}: run the cell again.`);
    }
    const known = this.continues(data) ? this.taken.length : HEAD;
    if (known === HEAD) this.clear();
    let end = known;
    const breath = new Breath();
    for (const chunk of chunks(data.subarray(known))) {
      await this.chunk(sections(new Uint8Array(await gunzip(chunk))), breath);
      end += 4 + chunk.length;
      this.taken = data.slice(0, end);
      yield this.dumps();
    }
  }

  private clear(): void {
    const [blanked, shapeOf] = [new Int32Array(0), new Int32Array(0)];
    const fresh = { table: [], blanked, blankIds: new Map(), shapes: [], shapeOf, files: [], places: [] };
    Object.assign(this, fresh);
  }

  private async chunk(found: Sections, breath: Breath): Promise<void> {
    const section = (name: string): Uint8Array<ArrayBuffer> => found.get(name) ?? NOTHING;
    const meta = JSON.parse(new TextDecoder().decode(section("meta"))) as Meta;
    if (meta.traces) this.begin(meta.traces, meta.view?.traces ?? [], meta.sources ?? []);
    this.addPlaces(meta.files ?? [], section("places"));
    this.addPieces(meta.pieces ?? [], section("attachments"));
    for (const [trace, stage] of meta.lost ?? []) this.lost[trace]!.add(stage);
    const known = this.table.length;
    await this.addLines(found, visible(section("shapes")), section("shape-of"), section("numbers"), breath);
    const coded = varints(section("sequence"));
    await breath.take();
    const all = sequence(coded, known, this.table.length);
    await breath.take();
    const where = varints(section("place-of"));
    await breath.take();
    let [line, place] = [0, 0];
    for (const dump of meta.dumps ?? []) {
      const [trace, stage] = dump.at;
      const text = dump.like
        ? this.texts[dump.like[0]]!.get(dump.like[1])!.lines
        : all.slice(line, (line += dump.lines));
      const places = this.placesOf(where.subarray(place, (place += dump.places)), dump.lines);
      this.texts[trace]!.set(stage, { lines: text, places });
    }
  }

  private async addLines(
    found: Sections,
    shapes: Uint8Array,
    shapeOf: Uint8Array,
    numbers: Uint8Array,
    breath: Breath,
  ): Promise<void> {
    const [shaped, which] = [shapeOf.length > 0 ? shapesOf(shapes, factsOf(found)) : [], varints(shapeOf)];
    await breath.take();
    const values = varints(numbers);
    await breath.take();
    const blanked = await lines(shapes, shaped, which, values, this.blankIds, breath, (more) => {
      for (const line of more) this.table.push(line);
    });
    this.blanked = joined(this.blanked, blanked);
    this.shapeOf = joined(
      this.shapeOf,
      which.map((shape) => shape + this.shapes.length),
    );
    this.shapes = [...this.shapes, ...shaped];
    await breath.take();
  }

  private addPlaces(files: readonly string[], bytes: Uint8Array): void {
    for (const name of files) this.files.push(this.sourceOf(name));
    const [file, line, column] = columns(bytes, 5);
    for (const [i, number] of file!.entries())
      this.places.push({ file: this.files[number]!, line: line![i]!, column: column![i]! });
  }

  /**
   * The number of a file among the sources. LLVM's machine IR leaves out the folder that its IR and assembly name: such
   * names are one file in the log of one compilation, where no other file is called so.
   */
  private sourceOf(name: string): number {
    const known = this.sources.findIndex(({ file }) => file === name);
    if (known >= 0) return known;
    const same = ({ file, text }: Source): boolean =>
      this.traces.length === 1 && text === null && (file.endsWith(`/${name}`) || name.endsWith(`/${file}`));
    const [alike, ...others] = this.sources.filter(same);
    if (!alike || others.length > 0) return this.sources.push({ file: name, text: null }) - 1;
    const number = this.sources.indexOf(alike);
    if (name.length > alike.file.length) this.sources[number] = { ...alike, file: name };
    return number;
  }

  /** The place of each line; null when no line has one. */
  private placesOf(coded: Uint32Array, count: number): Int32Array | null {
    const places = new Int32Array(count).fill(-1);
    let [value, any] = [0, false];
    for (let i = 0; i < Math.min(count, coded.length); i++) {
      value += unzigzag(coded[i]!);
      if (value < 0) continue;
      places[i] = value;
      any = true;
    }
    return any ? places : null;
  }

  private addPieces(pieces: readonly [number, number, number][], bytes: Uint8Array<ArrayBuffer>): void {
    let at = 0;
    for (const [trace, number, size] of pieces) {
      const file = this.attachments[trace]![number]!;
      const data = new Uint8Array((file.data?.length ?? 0) + size);
      if (file.data) data.set(file.data);
      data.set(bytes.subarray(at, (at += size)), data.length - size);
      this.attachments[trace]![number] = { ...file, data };
    }
  }

  private begin(traces: PackedTrace[], views: ViewedTrace[], sources: readonly (readonly [string, string])[]): void {
    this.traces = traces;
    this.views = views;
    this.sources = sources.map(([file, text]) => ({ file, text }));
    this.texts = traces.map(() => new Map<number, Text>());
    this.lost = traces.map(() => new Set<number>());
    this.attachments = traces.map(({ attachments }) =>
      attachments.map(([name, size]) => ({ name, size, data: size > 0 ? null : NOTHING })),
    );
  }

  private dumps(): Dumps {
    const titles = titled(this.traces);
    const traces = this.traces.map((trace, t): Trace => {
      const [texts, view] = [this.texts[t]!, this.views[t]!];
      const stages = trace.dumps.map(({ name, language, options, seconds }, i): Stage => {
        const stage = view.stages[i]!;
        const [text, before] = [texts.get(i), texts.get(stage.before)];
        const changed = text && stage.before < 0 ? true : text && before ? text.lines !== before.lines : null;
        const [ready, lost] = [text !== undefined, this.lost[t]!.has(i)];
        return {
          ...stage,
          name,
          language,
          options,
          seconds,
          ready,
          lost,
          lines: text?.lines ?? NO_LINES,
          places: text?.places ?? null,
          changed,
        };
      });
      const { name, target } = trace;
      return { ...view, name, target, title: titles[t]!, stages, attachments: [...this.attachments[t]!] };
    });
    const { table, blanked, shapes, shapeOf, sources, places } = this;
    return { table, blanked, shapes, shapeOf, traces, sources, places };
  }
}

function joined(known: Int32Array, more: ArrayLike<number>): Int32Array<ArrayBuffer> {
  const all = new Int32Array(known.length + more.length);
  all.set(known);
  all.set(more, known.length);
  return all;
}
