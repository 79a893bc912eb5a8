/** Ask Python for something, and hear how it went. */

import type { Model } from "./model";

interface Reply {
  readonly id?: number;
  readonly error?: string;
}

/** What Python says: what is wrong, or nothing, and what it has made. */
export interface Heard {
  readonly error: string;
  readonly buffers: readonly DataView<ArrayBuffer>[];
}

const PATIENCE = 5000;

export class Asker {
  private last = Math.floor(Math.random() * 1e9);
  private readonly open = new Map<number, (heard: Heard) => void>();

  /** `late` is told when Python has not answered for five seconds. */
  constructor(
    private readonly model: Model,
    private readonly late: () => void,
  ) {
    model.on("msg:custom", this.heard);
  }

  private readonly heard = (answer: Reply, buffers: readonly DataView<ArrayBuffer>[] = []): void => {
    const done = this.open.get(answer?.id ?? -1);
    if (!done) return;
    this.open.delete(answer.id!);
    done({ error: answer.error ?? "", buffers });
  };

  /** Send a request; resolves to what is wrong with it, or to nothing. */
  async ask(request: Readonly<Record<string, unknown>>): Promise<string> {
    return (await this.request(request)).error;
  }

  /** Send a request; resolves to all of the answer. */
  request(request: Readonly<Record<string, unknown>>): Promise<Heard> {
    const id = ++this.last;
    return new Promise((resolve) => {
      this.open.set(id, resolve);
      setTimeout(() => {
        if (this.open.has(id)) this.late();
      }, PATIENCE);
      try {
        this.model.send!({ id, ...request });
      } catch (error) {
        this.open.delete(id);
        resolve({
          error: `The kernel that made this view is gone (${String(error)}): run its cell again`,
          buffers: [],
        });
      }
    });
  }

  close(): void {
    this.model.off("msg:custom", this.heard);
    this.open.clear();
  }
}
