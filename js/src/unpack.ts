/** Reads what `irwidget.views.packing` writes; the layout is described there. */

import { Breath, lines, sequence, shapesOf, unzigzag, varints } from "./codec";
import { factsOf } from "./columns";
import { gunzip } from "./gzip";
import type { Shape } from "./shape";
import type { ViewedStage, ViewedTrace } from "./schema";
import type { Attachment, Dumps, Place, Source, Stage, Trace } from "./dumps";

const VERSION = 2;
const NO_LINES = new Int32Array(0);

interface PackedTrace extends Omit<ViewedTrace, "stages"> {
  name: string;
  target: string;
  stages: (ViewedStage & Pick<Stage, "name" | "language" | "options" | "seconds">)[];
  attachments: { name: string; bytes: number; sent: boolean }[];
}

interface Meta {
  traces?: PackedTrace[];
  sources?: Source[];
  columns: string[];
  dumps: { at: [number, number]; lines: number; like: [number, number] | null; places: boolean }[];
  lost?: [number, number][];
  places: [file: number, line: number, column: number][];
}

interface Text {
  lines: Int32Array;
  places: Int32Array | null;
}

/** The sections of a block: each a length and its bytes. */
function* sections(bytes: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at, true);
    yield bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
}

/** Takes up packed dumps; of bytes that begin with those taken before, only what is new. */
export class Unpacker {
  private taken = new Uint8Array(0);
  private table: string[] = [];
  private blanked = new Int32Array(0);
  private blankIds = new Map<string, number>();
  private shapes: Shape[] = [];
  private shapeOf = new Int32Array(0);
  private places: Place[] = [];
  private traces: PackedTrace[] = [];
  private sources: readonly Source[] = [];
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
    const version = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
    if (version !== VERSION) {
      throw new Error(`These dumps have format ${version} and this viewer reads ${VERSION}: run the cell again.`);
    }
    const known = this.continues(data) ? this.taken.length : 4;
    if (known === 4) this.clear();
    let end = known;
    const breath = new Breath();
    for (const chunk of sections(data.subarray(known))) {
      await this.chunk(new Uint8Array(await gunzip(chunk)), breath);
      end += 4 + chunk.length;
      this.taken = data.slice(0, end);
      yield this.dumps();
    }
  }

  private clear(): void {
    const [blanked, shapeOf] = [new Int32Array(0), new Int32Array(0)];
    Object.assign(this, { table: [], blanked, blankIds: new Map(), shapes: [], shapeOf, places: [] });
  }

  private async chunk(bytes: Uint8Array<ArrayBuffer>, breath: Breath): Promise<void> {
    const [json, shapes, shapeOf, numbers, sequences, placed, attached, ...columns] = [...sections(bytes)] as [
      Uint8Array<ArrayBuffer>,
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array<ArrayBuffer>,
      ...Uint8Array[],
    ];
    const meta = JSON.parse(new TextDecoder().decode(json)) as Meta;
    const found = factsOf(new Map(meta.columns.map((name, i) => [name, columns[i]!])));
    if (meta.traces) this.begin(meta.traces, meta.sources ?? [], attached);
    for (const [file, line, column] of meta.places) this.places.push({ file, line, column });
    const known = this.table.length;
    for (const [trace, stage] of meta.lost ?? []) this.lost[trace]!.add(stage);
    const [shaped, which] = [shapeOf.length > 0 ? shapesOf(shapes, found) : [], varints(shapeOf)];
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
    const coded = varints(sequences);
    await breath.take();
    const all = sequence(coded, known, this.table.length);
    await breath.take();
    const where = varints(placed);
    await breath.take();
    let [line, place] = [0, 0];
    for (const dump of meta.dumps) {
      const [trace, stage] = dump.at;
      const text = dump.like
        ? this.texts[dump.like[0]]!.get(dump.like[1])!.lines
        : all.slice(line, (line += dump.lines));
      let places: Int32Array | null = null;
      if (dump.places) {
        places = new Int32Array(dump.lines);
        for (let i = 0, value = 0; i < dump.lines; i++) places[i] = value += unzigzag(where[place++]!);
      }
      this.texts[trace]!.set(stage, { lines: text, places });
    }
  }

  private begin(traces: PackedTrace[], sources: readonly Source[], attached: Uint8Array<ArrayBuffer>): void {
    this.traces = traces;
    this.sources = sources;
    this.texts = traces.map(() => new Map<number, Text>());
    this.lost = traces.map(() => new Set<number>());
    let at = 0;
    this.attachments = traces.map(({ attachments }) =>
      attachments.map(({ name, bytes, sent }) => ({
        name,
        size: bytes,
        data: sent ? attached.slice(at, (at += bytes)) : null,
      })),
    );
  }

  private dumps(): Dumps {
    const traces = this.traces.map((trace, t): Trace => {
      const texts = this.texts[t]!;
      const stages = trace.stages.map((stage, i): Stage => {
        const [text, before] = [texts.get(i), texts.get(stage.before)];
        const changed = text && stage.before < 0 ? true : text && before ? text.lines !== before.lines : null;
        const [ready, lost] = [text !== undefined, this.lost[t]!.has(i)];
        return {
          ...stage,
          ready,
          lost,
          lines: text?.lines ?? NO_LINES,
          places: text?.places ?? null,
          changed,
        };
      });
      return { ...trace, stages, attachments: this.attachments[t]! };
    });
    const { table, blanked, shapes, shapeOf, sources, places } = this;
    return { table, blanked, blanks: this.blankIds.size, shapes, shapeOf, traces, sources, places };
  }
}

function joined(known: Int32Array, more: ArrayLike<number>): Int32Array<ArrayBuffer> {
  const all = new Int32Array(known.length + more.length);
  all.set(known);
  all.set(more, known.length);
  return all;
}
