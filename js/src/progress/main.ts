/** Where a long lowering is: its phases, the pass under way, how long it took the time before; and a stop button. */

import { Asker } from "../ask";
import { h, OWN_KEYS } from "../dom";
import { type Model, Watch } from "../model";
import { mounted, type View } from "../mount";
import { asked, INTERRUPT } from "../outside";
import type { Progress } from "../schema";
import { clock, doing } from "./doing";
import style from "./style.css?inline";

/** Milliseconds between two looks at the clock. */
const TICK = 200;
/** Milliseconds that Python has to take up a wish to stop, before the notebook's own interrupt is asked. */
const PATIENCE = 800;

class ProgressView implements View {
  readonly element: HTMLElement;
  private readonly phases = h("ol", { class: "irw-phases" });
  private readonly bar = h("progress", { "aria-label": "Progress, by the time it took last time" });
  private readonly running = h("div", { class: "irw-running" });
  private readonly clock = h("span", { class: "irw-clock", "aria-hidden": "true" });
  private readonly said = h("span", { class: "irw-dim", role: "status" });
  private readonly halt: HTMLButtonElement;
  private readonly state: Watch<"state">;
  private readonly asker: Asker;
  /** When the state came, by the clock of the page. */
  private since = performance.now();
  private ticking = 0;

  constructor(private readonly model: Model) {
    this.state = new Watch(model, ["state"], () => this.take());
    this.asker = new Asker(model, () => undefined);
    this.halt = h(
      "button",
      { type: "button", title: "Interrupt the lowering; what has come stays", ...OWN_KEYS, click: () => this.stop() },
      "Stop",
    );
    this.element = h(
      "div",
      { class: "irw irw-progress", role: "group", "aria-label": "A lowering goes on" },
      h("div", { class: "irw-progress-top" }, this.halt, this.bar, this.clock, this.said),
      this.phases,
      this.running,
    );
  }

  start(): void {
    this.take();
    this.ticking = window.setInterval(() => this.tick(), TICK);
    this.element.dataset["ready"] = "true";
  }

  private get progress(): Progress {
    return this.model.get("state") as Progress;
  }

  private take(): void {
    this.since = performance.now();
    this.tick();
  }

  private tick(): void {
    const { name, seconds, phases, passes, running, last } = this.progress;
    if (!phases) return;
    const more = (performance.now() - this.since) / 1000;
    const all = seconds + more;
    this.clock.textContent = `${name ? `${name}: ` : ""}${clock(all)}${last ? `, last time ${clock(last.seconds)}` : ""}`;
    if (last && all < last.seconds) this.bar.value = all / last.seconds;
    else this.bar.removeAttribute("value");
    const drawn = phases.map((phase) => {
      const what =
        phase.name === "passes"
          ? `${passes}${last && last.passes >= passes ? ` of ${last.passes}` : ""} passes`
          : phase.name;
      const time = clock(phase.over ? phase.seconds : phase.seconds + more);
      return h(
        "li",
        { "data-over": phase.over, "aria-current": phase.over ? undefined : "step" },
        `${phase.over ? "✓" : "●"} ${what} `,
        h("span", { class: "irw-dim" }, time),
      );
    });
    this.phases.replaceChildren(...drawn);
    this.running.textContent = running ? doing(running, more) : "";
  }

  /** Python is asked first; a kernel that hears nothing while it runs is interrupted as the notebook does it. */
  private stop(): void {
    this.halt.disabled = true;
    this.said.textContent = "Stopping";
    let heard = false;
    void this.asker.ask({ kind: "stop" }).then((error) => {
      heard = true;
      if (error) this.said.textContent = error;
    });
    setTimeout(() => {
      if (heard || !this.element.isConnected) return;
      if (asked(this.element, INTERRUPT)) return;
      this.halt.disabled = false;
      this.said.textContent = "The kernel does not listen while it runs: interrupt it from the notebook";
    }, PATIENCE);
  }

  close(): void {
    clearInterval(this.ticking);
    this.state.close();
    this.asker.close();
  }
}

export const render = mounted(style, "the progress", ({ model }) => new ProgressView(model));
