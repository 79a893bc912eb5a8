/** Python's strings of several lines: which is open where a line begins. */

const NEXT = /#|"""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

/** The quotes of the string that is open where each line begins, "" where none is. */
export function openings(lines: Iterable<string>): string[] {
  let quotes = "";
  const found: string[] = [];
  for (const line of lines) {
    found.push(quotes);
    quotes = after(line, quotes);
  }
  return found;
}

/** The quotes that are open after a line that begins inside of `quotes`. */
function after(line: string, quotes: string): string {
  let at = 0;
  for (;;) {
    if (quotes) {
      at = closing(line, quotes);
      if (at < 0) return quotes;
      [line, quotes, at] = [line.slice(at), "", 0];
    }
    NEXT.lastIndex = at;
    const [token] = NEXT.exec(line) ?? [];
    if (token === undefined || token === "#") return "";
    at = NEXT.lastIndex;
    if (token === '"""' || token === "'''") [line, quotes] = [line.slice(at), token];
  }
}

/** Where the string ends that is open at the beginning of a line; -1 where it goes on. */
export function closing(line: string, quotes: string): number {
  for (let at = 0; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (line.startsWith(quotes, at)) return at + quotes.length;
  }
  return -1;
}
