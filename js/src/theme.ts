/** Light or dark: what the page around the widget is, whoever made it. */

/** Keep `element.dataset.theme` in step with the background behind it. Returns the cleanup. */
export function followTheme(element: HTMLElement): () => void {
  const look = (): void => {
    element.dataset["theme"] = isDark(element) ? "dark" : "light";
  };
  look();
  const observer = new MutationObserver(look);
  const attributes = { attributes: true, attributeFilter: ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-theme"] };
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
    const rgb = getComputedStyle(at).backgroundColor.match(/[\d.]+/g)?.map(Number);
    if (!rgb || rgb.length < 3 || (rgb.length > 3 && rgb[3]! < 0.5)) continue;
    return 0.299 * rgb[0]! + 0.587 * rgb[1]! + 0.114 * rgb[2]! < 128;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function parent(element: Element): Element | null {
  if (element.parentElement) return element.parentElement;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}
