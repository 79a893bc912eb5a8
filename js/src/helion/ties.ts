/** Ribbons between the columns, from what is in one to what belongs to it in the next; what is lit stands out. */

const SVG = "http://www.w3.org/2000/svg";

/** Adjoining rows, from top to bottom in pixels of the page. */
export interface Band {
  readonly top: number;
  readonly bottom: number;
}

export interface Tie {
  readonly left: Band;
  readonly right: Band;
  readonly kind: "lit" | "kept" | "faint";
}

/** Drawn between two neighbours. */
interface TieGap {
  readonly left: Element;
  readonly right: Element;
  readonly ties: readonly Tie[];
}

/** More ties than this say nothing. */
const MANY = 80;

export class Ties {
  readonly element = document.createElementNS(SVG, "svg");
  private readonly size = new ResizeObserver(() => this.later());
  private frame = 0;

  /** `gaps` says what to draw, in the page's pixels; asked again whenever something moves in `body`. */
  constructor(
    private readonly body: HTMLElement,
    private readonly gaps: () => readonly TieGap[],
  ) {
    this.element.classList.add("irw-k-ties");
    this.element.setAttribute("aria-hidden", "true");
    body.addEventListener("scroll", () => this.later(), { capture: true, passive: true });
    this.size.observe(body);
  }

  /** Draw before the next frame. */
  later(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.element.isConnected) this.draw();
    });
  }

  private draw(): void {
    const from = this.body.getBoundingClientRect();
    const paths: SVGPathElement[] = [];
    for (const { left, right, ties } of this.gaps()) {
      const start = left.getBoundingClientRect().right - from.left;
      const end = right.getBoundingClientRect().left - from.left;
      if (end <= start) continue; // one above the other
      const seen = ({ top, bottom }: Band): boolean => bottom > top && bottom > from.top && top < from.bottom;
      const shown = ties.filter(({ kind, left, right }) => kind !== "faint" || (seen(left) && seen(right)));
      for (const tie of shown.slice(0, MANY)) paths.push(ribbon(start, end, tie, from.top));
    }
    this.element.replaceChildren(...paths);
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.size.disconnect();
  }
}

function ribbon(start: number, end: number, { left, right, kind }: Tie, above: number): SVGPathElement {
  const path = document.createElementNS(SVG, "path");
  const middle = (start + end) / 2;
  const [a, b, c, d] = [left.top - above, right.top - above, right.bottom - above, left.bottom - above];
  path.setAttribute(
    "d",
    `M${start} ${a}C${middle} ${a} ${middle} ${b} ${end} ${b}V${c}C${middle} ${c} ${middle} ${d} ${start} ${d}Z`,
  );
  if (kind !== "lit") path.classList.add(`irw-k-${kind}`);
  return path;
}
