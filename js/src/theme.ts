/** Light or dark: what the page around the widget is, whoever made it. */

/** Keep `element.dataset.theme` in step with the background behind it. Returns the cleanup. */
export function followTheme(element: HTMLElement): () => void {
  const look = (): void => {
    element.dataset["theme"] = isDark(element) ? "dark" : "light";
  };
  look();
  const observer = new MutationObserver(look);
  const attributes = {
    attributes: true,
    attributeFilter: ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-theme"],
  };
  observer.observe(document.body, attributes);
  observer.observe(document.documentElement, attributes);
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", look);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", look);
  };
}

function isDark(element: HTMLElement): boolean {
  for (let at: Element | null = element.parentElement; at; at = parent(at)) {
    const [red, green, blue, alpha] = pixel(getComputedStyle(at).backgroundColor);
    if (alpha < 128) continue;
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** A colour as red, green, blue and alpha from 0 to 255, in whatever notation the page has it. */
function pixel(colour: string): [number, number, number, number] {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d");
  if (!context) return [0, 0, 0, 0];
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
  return [red!, green!, blue!, alpha!];
}

function parent(element: Element): Element | null {
  if (element.parentElement) return element.parentElement;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}
