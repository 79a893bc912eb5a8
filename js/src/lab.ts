/**
 * A prebuilt extension of JupyterLab and Notebook 7: a saved view comes back without its kernel.
 *
 * It draws `application/vnd.irwidget+json`, which a view has beside the widget. Where the widget's model is there, it
 * shows that; where it is not, the view from what the notebook holds, and where that is too much to be kept, the HTML.
 * JupyterLab loads it as the remote of a webpack module federation, which is an object with two functions.
 */

import type { Host, Render } from "./mount";
import { INTERRUPT, KEEP, KEEP_EXPERIMENTS, RECALL, RECALL_EXPERIMENTS } from "./outside";
import { ARRIVED } from "./links";
import { type Kept, withExperiments } from "./keeping";
import type { Experiment, Note } from "./schema";
import { PageModel } from "./pagemodel";

const OURS = "application/vnd.irwidget+json";
const WIDGET = "application/vnd.jupyter.widget-view+json";
/** Milliseconds that a widget has to come to life. */
const PATIENCE = 1500;

/** What a view keeps in the notebook; `irwidget.views.base` writes it. */
interface Saved {
  readonly views?: readonly {
    readonly bundle: string;
    readonly state: Readonly<Record<string, unknown>>;
    readonly data: string;
  }[];
  /** Why there are no views. */
  readonly omitted?: string;
  /** What was written on a view that is not kept. */
  readonly notes?: readonly Note[];
  /** What was tried in it. */
  readonly experiments?: readonly Experiment[];
}

// Of JupyterLab, only what is used here.
interface MimeModel {
  readonly data: Readonly<Record<string, unknown>>;
  setData(options: { data: Readonly<Record<string, unknown>> }): void;
}
interface LuminoWidget {
  readonly node: HTMLElement;
  readonly isDisposed: boolean;
  addWidget(widget: LuminoWidget): void;
  dispose(): void;
  renderModel?(model: MimeModel): Promise<void>;
}
interface Rendermime {
  readonly mimeTypes: readonly string[];
  createRenderer(type: string): LuminoWidget;
  getFactory(type: string): object | undefined;
  addFactory(factory: object, rank: number): void;
}
interface Tracker {
  readonly widgetAdded: { connect(slot: (sender: unknown, panel: Panel) => void): void };
  forEach(each: (panel: Panel) => void): void;
}
interface Panel {
  readonly node: HTMLElement;
  readonly content: { readonly rendermime: Rendermime };
  readonly sessionContext: { readonly session: { readonly kernel: { interrupt(): Promise<void> } | null } | null };
}
type Scope = Readonly<Record<string, Readonly<Record<string, { get(): Promise<() => unknown> }>>>>;

// JupyterLab writes the address anew while it starts; the views that open then go where it led.
(globalThis as Record<symbol, unknown>)[ARRIVED] = location.hash;
const base = new URL(".", (document.currentScript as HTMLScriptElement).src);
const bundles = new Map<string, Promise<{ render: Render }>>();

function bundle(name: string): Promise<{ render: Render }> {
  let code = bundles.get(name);
  if (!code)
    bundles.set(
      name,
      (code = import(/* @vite-ignore */ new URL(`${name}.js`, base).href) as Promise<{ render: Render }>),
    );
  return code;
}

const host: Host = { getModel: () => Promise.reject(new Error("There is no kernel.")) };

/** Draw what the notebook holds; resolves to what takes it away. */
async function drawn(saved: Saved, place: HTMLElement): Promise<() => void> {
  const stops: (() => void)[] = [];
  for (const { bundle: name, state, data } of saved.views ?? []) {
    const el = document.createElement("div");
    place.append(el);
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const { render } = await bundle(name);
    stops.push(await render({ model: new PageModel({ ...state, data: bytes }), el, host }));
  }
  return () => {
    for (const stop of stops) stop();
    place.replaceChildren();
  };
}

/** Notes by the cell whose views they are on: when it runs again, its new view takes them up. */
const notesOf = new WeakMap<Element, readonly Note[]>();

/** Experiments by the cell whose views they are of. */
const experimentsOf = new WeakMap<Element, readonly Experiment[]>();

/** What a notebook keeps of views, with other notes; `number` says on which view they are. */
function withNotes(saved: Saved, number: number, notes: readonly Note[]): Saved {
  if (!saved.views?.[number]) return { ...saved, notes };
  return {
    ...saved,
    views: saved.views.map((view, i) => (i === number ? { ...view, state: { ...view.state, notes } } : view)),
  };
}

function note(text: string): HTMLElement {
  const element = document.createElement("p");
  element.textContent = text;
  element.style.cssText = "margin: 4px 0; opacity: 0.75";
  return element;
}

/** The class of what shows an output, made from JupyterLab's own panel. */
function renderer(LuminoPanel: new () => LuminoWidget) {
  return class SavedView extends LuminoPanel {
    private live: LuminoWidget | null = null;
    private stop: (() => void) | null = null;
    private readonly place = document.createElement("div");
    private readonly observer = new MutationObserver(() => this.look());
    private model: MimeModel | null = null;
    private drawing = false;
    private timer = 0;

    constructor(private readonly rendermime: Rendermime) {
      super();
      this.node.append(this.place);
      this.node.addEventListener(KEEP, (event) => {
        this.keep(event.target, (event as CustomEvent<readonly Note[]>).detail);
        event.preventDefault();
      });
      this.node.addEventListener(KEEP_EXPERIMENTS, (event) => {
        const { detail } = event as CustomEvent<Kept>;
        experimentsOf.set(this.cell, detail.experiments);
        this.set(withExperiments(this.saved, this.numberOf(event.target), detail));
        event.preventDefault();
      });
      this.node.addEventListener(RECALL_EXPERIMENTS, (event) => {
        const known = experimentsOf.get(this.cell);
        if (!known?.length) return;
        event.preventDefault();
        (event as CustomEvent<(experiments: readonly Experiment[]) => void>).detail(known);
      });
      this.node.addEventListener(RECALL, (event) => {
        const known = notesOf.get(this.cell);
        if (!known?.length) return;
        event.preventDefault();
        (event as CustomEvent<(notes: readonly Note[]) => void>).detail(known);
        this.keep(event.target, known);
      });
    }

    private get cell(): Element {
      return this.node.closest(".jp-Cell") ?? this.node;
    }

    /** Write notes into the notebook, beside the view that they are on. */
    private keep(view: EventTarget | null, notes: readonly Note[]): void {
      notesOf.set(this.cell, notes);
      this.set(withNotes(this.saved, this.numberOf(view), notes));
    }

    private get saved(): Saved {
      return (this.model?.data[OURS] ?? {}) as Saved;
    }

    private numberOf(view: EventTarget | null): number {
      return [...this.node.querySelectorAll(".irw")].indexOf(view as Element);
    }

    private set(saved: Saved): void {
      this.model?.setData({ data: { ...this.model.data, [OURS]: saved } });
    }

    async renderModel(model: MimeModel): Promise<void> {
      const [known, now] = [this.model, model];
      this.model = model;
      if (known && JSON.stringify(known.data[WIDGET]) === JSON.stringify(now.data[WIDGET])) return;
      this.connect(model);
    }

    private connect(model: MimeModel): void {
      this.observer.disconnect();
      this.live?.dispose();
      this.live = null;
      clearInterval(this.timer);
      if (model.data[WIDGET] && this.rendermime.mimeTypes.includes(WIDGET)) {
        // When a kernel is there, the manager of its widgets brings another factory; who asked the first waits for ever.
        const factory = this.rendermime.getFactory(WIDGET);
        this.timer = window.setInterval(() => {
          if (!this.alive && this.rendermime.getFactory(WIDGET) !== factory) this.connect(model);
        }, 500);
        this.live = this.rendermime.createRenderer(WIDGET);
        this.addWidget(this.live);
        this.observer.observe(this.live.node, { childList: true, subtree: true, characterData: true });
        void this.live.renderModel!(model).catch(() => this.look());
        setTimeout(() => this.look(true), PATIENCE);
      } else this.look(true);
    }

    /** Whether the widget has drawn itself; until it has, it says in words that it is loading, or what is wrong. */
    private get alive(): boolean {
      return this.live !== null && this.live.node.childElementCount > 0;
    }

    private look(late = false): void {
      if (this.isDisposed) return; // its cell has run again meanwhile
      const { live } = this;
      if (this.alive) {
        live!.node.style.display = "";
        this.clear();
      } else if (late || live === null || /error/i.test(live.node.textContent ?? "")) {
        if (live) live.node.style.display = "none";
        void this.draw();
      }
    }

    private async draw(): Promise<void> {
      if (this.drawing || !this.model) return;
      this.drawing = true;
      const saved = this.model.data[OURS] as Saved;
      try {
        if (saved.views?.length) {
          const notes = saved.views.flatMap(({ state }) => (state["notes"] as Note[] | undefined) ?? []);
          if (notes.length > 0) notesOf.set(this.cell, notes);
          const tried = saved.views.flatMap(({ state }) => (state["experiments"] as Experiment[] | undefined) ?? []);
          if (tried.length > 0) experimentsOf.set(this.cell, tried);
          const stop = await drawn(saved, this.place);
          if (this.drawing) this.stop = stop;
          else stop();
          return;
        }
      } catch (error) {
        console.error(error);
      }
      if (!this.drawing) return;
      this.place.replaceChildren(
        note(`${saved.omitted ?? "The view cannot be drawn"}. Run the cell for all of it.`),
        ...(saved.notes ?? []).map((one) => note(`✎ ${one.pass}:${one.line}  ${one.text.trim()}  ${one.note}`)),
        ...(saved.experiments ?? []).map((one) =>
          note(`Experiment “${one.name}”, from dump ${one.stage} ${one.after}`),
        ),
      );
      if (saved.notes) notesOf.set(this.cell, saved.notes);
      if (saved.experiments) experimentsOf.set(this.cell, saved.experiments);
      const fallback = this.rendermime.createRenderer("text/html");
      this.addWidget(fallback);
      this.stop = () => {
        fallback.dispose();
        this.place.replaceChildren();
      };
      await fallback.renderModel!(this.model);
    }

    private clear(): void {
      this.drawing = false;
      this.stop?.();
      this.stop = null;
    }

    override dispose(): void {
      this.observer.disconnect();
      clearInterval(this.timer);
      this.clear();
      super.dispose();
    }
  };
}

/** A view in a notebook can have its kernel interrupted. */
function interruptible({ node, sessionContext }: Panel): void {
  node.addEventListener(INTERRUPT, (event) => {
    const kernel = sessionContext.session?.kernel;
    if (!kernel) return;
    event.preventDefault();
    void kernel.interrupt();
  });
}

async function shared<T>(scope: Scope, name: string): Promise<T> {
  const versions = Object.values(scope[name] ?? {});
  if (versions.length === 0) throw new Error(`JupyterLab shares no ${name}`);
  return (await versions[0]!.get())() as T;
}

let scope: Scope = {};

async function plugin(): Promise<object> {
  const { INotebookTracker } = await shared<{ INotebookTracker: object }>(scope, "@jupyterlab/notebook");
  const { Panel: LuminoPanel } = await shared<{ Panel: new () => LuminoWidget }>(scope, "@lumino/widgets");
  const SavedView = renderer(LuminoPanel);
  return {
    id: "irwidget:saved-views",
    description: "Shows saved views of irwidget without their kernel.",
    autoStart: true,
    requires: [INotebookTracker],
    activate: (_: unknown, tracker: Tracker): void => {
      const add = (panel: Panel): void => {
        const { rendermime } = panel.content;
        const createRenderer = (): LuminoWidget => new SavedView(rendermime);
        // Before the widget's own, which has -10.
        rendermime.addFactory({ safe: false, mimeTypes: [OURS], createRenderer }, -20);
        interruptible(panel);
      };
      tracker.forEach(add);
      tracker.widgetAdded.connect((_sender, panel) => add(panel));
    },
  };
}

const remotes = ((globalThis as unknown as { _JUPYTERLAB?: Record<string, object> })._JUPYTERLAB ??= {});
remotes["irwidget"] = {
  init: (given: Scope): void => void (scope = given),
  get: async (): Promise<() => object> => {
    const made = { __esModule: true, default: await plugin() };
    return () => made;
  },
};
