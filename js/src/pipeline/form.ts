/** The form of one step: tool, pass, and the options that the pass has. */

import { freshId, h, OWN_KEYS } from "../dom";
import { Combobox } from "./combobox";
import type { OfferedPasses } from "./data";
import type { OfferedPass, PassOption, PipelineStep } from "../schema";

export interface Filled {
  readonly tool: string;
  readonly pass: string;
  readonly options: Readonly<Record<string, string>>;
}

export class StepForm {
  readonly element: HTMLFormElement;
  private readonly tools: HTMLSelectElement;
  private readonly pass: Combobox;
  private readonly about = h("p", { class: "irw-pl-about" });
  private readonly options = h("div", { class: "irw-pl-options" });
  private readonly fields = new Map<string, HTMLInputElement | HTMLSelectElement>();
  private shownPass: OfferedPass | undefined;
  private values: Readonly<Record<string, string>>;

  constructor(
    private readonly passes: OfferedPasses,
    step: PipelineStep | null,
    tool: string,
    done: { submit: (filled: Filled) => void; cancel: () => void; problem: (text: string) => void },
  ) {
    const tools = [...passes.keys()];
    const chosen = step?.tool ?? (tools.includes(tool) ? tool : (tools[0] ?? ""));
    this.values = step?.options ?? {};
    this.tools = h(
      "select",
      { "aria-label": "Tool", ...OWN_KEYS, change: () => this.newTool() },
      ...tools.map((name) => h("option", { value: name, selected: name === chosen }, name)),
    );
    this.pass = new Combobox("Pass", (pass) => this.show(pass));
    this.element = h(
      "form",
      {
        class: "irw-pl-form",
        "aria-label": step ? "Edit the step" : "Add a step",
        submit: (event: Event) => {
          event.preventDefault();
          const filled = this.filled();
          if (filled) done.submit(filled);
          else done.problem(`${this.tools.value} has no pass ${JSON.stringify(this.pass.input.value)}`);
        },
      },
      h(
        "div",
        { class: "irw-pl-row" },
        this.tools,
        this.pass.element,
        h("button", { type: "submit", class: "irw-pl-main", ...OWN_KEYS }, step ? "Apply" : "Add"),
        h("button", { type: "button", ...OWN_KEYS, click: () => done.cancel() }, "Cancel"),
      ),
      this.about,
      this.options,
    );
    this.element.addEventListener("keydown", (event) => {
      // Notebooks take Enter for themselves and leave nothing for the browser to submit.
      if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement) || event.defaultPrevented) return;
      event.preventDefault();
      event.stopPropagation();
      this.element.requestSubmit();
    });
    this.pass.offer(passes.get(this.tools.value) ?? new Map());
    if (step) this.pass.input.value = step.pass || step.text;
    this.show(this.pass.pass);
    this.single();
  }

  focus(): void {
    this.pass.input.focus();
  }

  private newTool(): void {
    this.pass.offer(this.passes.get(this.tools.value) ?? new Map());
    this.pass.input.value = "";
    this.show(undefined);
    this.single();
  }

  /** A tool with one thing to do needs no search. */
  private single(): void {
    const passes = this.passes.get(this.tools.value);
    if (passes?.size !== 1 || this.pass.input.value) return;
    const [only] = passes.values();
    this.pass.input.value = only!.name;
    this.show(only);
  }

  private filled(): Filled | null {
    const pass = this.pass.pass;
    if (!pass) return null;
    const options = [...this.fields]
      .map(([name, field]) => [name, field.value.trim()] as const)
      .filter(([, value]) => value !== "");
    return { tool: this.tools.value, pass: pass.name, options: Object.fromEntries(options) };
  }

  private show(pass: OfferedPass | undefined): void {
    if (pass === this.shownPass && pass) return;
    this.shownPass = pass;
    this.about.textContent = pass?.help ?? "";
    this.fields.clear();
    this.options.replaceChildren(...(pass?.options ?? []).map((option) => this.row(option)));
    this.options.hidden = !pass?.options.length;
  }

  private row(option: PassOption): HTMLElement {
    const [id, about] = [freshId("option"), freshId("about")];
    const value = this.values[option.name] ?? "";
    const common = { id, "aria-describedby": about, ...OWN_KEYS };
    const unset = option.default ? `default: ${option.default}` : "default";
    let field: HTMLInputElement | HTMLSelectElement;
    if (option.kind === "flag" || option.kind === "choice") {
      const choices = option.kind === "flag" ? ["true", "false"] : option.choices;
      field = h(
        "select",
        common,
        h("option", { value: "" }, unset),
        ...choices.map((choice) => h("option", { value: choice, selected: choice === value }, choice)),
      );
    } else {
      field = h("input", {
        ...common,
        type: "text",
        value,
        placeholder: option.default,
        autocomplete: "off",
        spellcheck: "false",
        ...(option.kind === "text" ? {} : { inputmode: "decimal" }),
      });
    }
    this.fields.set(option.name, field);
    return h(
      "div",
      { class: "irw-pl-option" },
      h("label", { for: id }, option.name),
      field,
      h("span", { id: about, class: "irw-dim" }, option.help),
    );
  }
}
