/** What leads out of a view, and into it from elsewhere: links, a page of its own, full screen, the run before. */

import type { Analysis } from "./analysis";
import type { Asker } from "./ask";
import { type Choice, uncover } from "./choice";
import type { Compare } from "./compare";
import { besideOf, missing, type Stage, type Trace } from "./dumps";
import { copyText } from "./export";
import { ARRIVED, fragmentOf, type LinkedPlace, placeOf } from "./links";
import type { Store } from "./model";
import type { Reader } from "./searching";

/** What is asked of the view. */
export interface BeyondView {
  readonly element: HTMLElement;
  readonly store: Store;
  readonly compare: Compare;
  readonly traces: readonly Trace[];
  readonly reader: Reader;
  readonly lines: Analysis;
  readonly choice: Pick<Choice, "pair">;
  say(text: string): void;
}

export class Beyond {
  /** `asker`: null where there is no kernel. */
  constructor(
    private readonly view: BeyondView,
    private readonly asker: Asker | null,
  ) {}

  /** Go where the address of the page leads, now and whenever it changes; the function ends that. */
  followLinks(): () => void {
    const follow = (): void => void this.go(placeOf(location.hash));
    // A link in the text around the view: the page it is in may have its own way with fragments.
    const click = (event: MouseEvent): void => {
      const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href*='#']") : null;
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const { hash } = new URL(link.href, location.href);
      const here = link.getAttribute("href")!.startsWith("#") || link.href === location.href.replace(/#.*$/, "") + hash;
      if (!here || !this.go(placeOf(hash))) return;
      event.preventDefault();
      event.stopPropagation();
      this.view.element.scrollIntoView({ block: "nearest" });
    };
    window.addEventListener("hashchange", follow);
    document.addEventListener("click", click, true);
    const arrived = (globalThis as Record<symbol, unknown>)[ARRIVED];
    if (!this.go(placeOf(location.hash)) && typeof arrived === "string") this.go(placeOf(arrived));
    return () => {
      window.removeEventListener("hashchange", follow);
      document.removeEventListener("click", click, true);
    };
  }

  /** The place that the reader is at. */
  private get place(): LinkedPlace {
    const { trace, stage, line } = this.view.reader;
    const left = this.view.store.get("left");
    const beside = trace.stages[stage] && besideOf(trace, stage);
    const elsewhere = [...document.querySelectorAll(".irw-facts")].filter((one) => !this.view.element.contains(one));
    const alone =
      this.view.traces.every((one) => one === trace || one.name !== trace.name) &&
      !elsewhere.some(({ textContent }) => textContent?.startsWith(`${trace.name} → `));
    return {
      lowering: alone ? trace.name : trace.title,
      pass: stage,
      left: left === beside ? -1 : left,
      line: line + 1,
    };
  }

  /** To a place that a link names; whether it is one of this view's lowerings. */
  private go(place: LinkedPlace | null): boolean {
    if (!place) return false;
    const { traces, store } = this.view;
    const trace = place.lowering ? traces.findIndex(({ name, title }) => [name, title].includes(place.lowering)) : 0;
    const found = traces[trace];
    const stage = found?.stages[place.pass];
    const none = [place.pass, place.left].find((one) => one >= (found?.stages.length ?? Infinity));
    if (found && none !== undefined) this.view.say(`${found.title} has no dump ${none}`);
    if (!found || !stage || none !== undefined) return false;
    const left = place.left < 0 ? besideOf(found, place.pass) : place.left;
    this.view.choice.pair(trace, -1, left, place.pass, trace === store.get("trace") ? store.get("symbol") : "");
    if (place.line > 0) this.reveal(place.pass, stage, place.line);
    return true;
  }

  /** `line` is from 1. */
  private reveal(pass: number, stage: Stage, line: number): void {
    if (line <= stage.lines.length) uncover(this.view.store, this.view.lines, stage, line - 1);
    queueMicrotask(() => {
      if (this.view.compare.reveal({ side: "right", line: line - 1 }, "cursor")) return;
      this.view.say(`${pass} ${stage.label} ${missing(stage) ? `is ${missing(stage)}` : `has no line ${line}`}`);
    });
  }

  async copyLink(): Promise<void> {
    const fragment = fragmentOf(this.place);
    // The address of a frame that an editor shows a notebook in leads nowhere.
    const address = /^(https?|file):$/.test(location.protocol) ? location.href.replace(/#.*$/, "") : "";
    const link = address + fragment;
    this.view.say((await copyText(link)) ? `Copied ${fragment}` : link);
  }

  async compareWithLast(): Promise<void> {
    if (this.asker) this.view.say(await this.asker.ask({ kind: "last" }));
  }

  /** Have Python make a page of this view, and open it. */
  async openTab(): Promise<void> {
    const tab = window.open("", "_blank"); // now, while the click allows it
    const { error, buffers } = await this.asker!.request({ kind: "page" });
    if (error || !tab || !buffers[0]) {
      tab?.close();
      return this.view.say(error || "The browser did not allow a new tab");
    }
    const { buffer, byteOffset, byteLength } = buffers[0];
    const page = new Blob([new Uint8Array(buffer, byteOffset, byteLength)], { type: "text/html" });
    tab.location.href = URL.createObjectURL(page) + fragmentOf(this.place);
  }

  async fullScreen(): Promise<void> {
    try {
      if (document.fullscreenElement) await document.exitFullscreen();
      else await this.view.element.requestFullscreen();
    } catch (error) {
      this.view.say(`No full screen: ${String(error)}`);
    }
  }
}
