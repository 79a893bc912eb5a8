/** Makes elements. Text from dumps only ever becomes text nodes; nothing here takes HTML. */

type Attributes = Readonly<Record<string, string | number | boolean | ((event: never) => void) | undefined>>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/** What keeps Jupyter from taking the letters typed here for its own shortcuts; it looks at the focused element only. */
export const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" } as const;

let last = 0;
/** An id that no other element of the page has. */
export function freshId(what: string): string {
  return `irw-${what}-${++last}`;
}

export function thousands(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${thousands(n)} ${n === 1 ? one : many}`;
}
