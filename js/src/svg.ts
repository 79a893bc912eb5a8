/** A drawing from outside as elements of our own: nothing of it can run, link or load. */

const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set([
  "svg",
  "g",
  "title",
  "desc",
  "path",
  "polygon",
  "polyline",
  "line",
  "rect",
  "circle",
  "ellipse",
  "text",
  "tspan",
]);
/** Elements whose content stays while they themselves go. */
const OPENED = new Set(["a"]);
const ATTRIBUTES = new Set([
  "viewBox",
  "width",
  "height",
  "transform",
  "d",
  "points",
  "x",
  "y",
  "x1",
  "y1",
  "x2",
  "y2",
  "cx",
  "cy",
  "r",
  "rx",
  "ry",
  "dx",
  "dy",
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "opacity",
  "text-anchor",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
]);
/** Numbers, names and lists of them; no url(...), no javascript:, no escapes. */
const VALUE = /^(?!.*url)[\w\s#.,+\-%()]*$/i;

/** The drawing in the text of an SVG file, or null when it is none. */
export function drawing(text: string): SVGSVGElement | null {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = parsed.documentElement;
  if (root.localName !== "svg" || root.querySelector("parsererror")) return null;
  const [clean] = copied(root);
  return clean instanceof SVGSVGElement ? clean : null;
}

function copied(element: Element): Element[] {
  const children = (): Element[] => [...element.children].flatMap(copied);
  if (element.namespaceURI !== SVG) return [];
  if (OPENED.has(element.localName)) return children();
  if (!ELEMENTS.has(element.localName)) return [];
  const made = document.createElementNS(SVG, element.localName);
  for (const { name, value } of element.attributes) {
    if (ATTRIBUTES.has(name) && VALUE.test(value)) made.setAttribute(name, value);
  }
  if (element.children.length > 0) made.append(...children());
  else if (["text", "tspan", "title", "desc"].includes(element.localName)) made.textContent = element.textContent;
  return [made];
}
