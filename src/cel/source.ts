// The text of an expression, and its faults as cel-go prints them: place, line and a mark below.

export interface Issue {
  /** Offset in the text, in UTF-16 units; -1 for what has no place. */
  readonly at: number;
  readonly message: string;
}

/** More are counted, not kept. */
const mostIssues = 100;
const longestSnippet = 16_384;

interface Place {
  /** From 1. */
  readonly line: number;
  /** Code points before it on its line. */
  readonly column: number;
}

export class Issues {
  readonly text: string;
  private readonly found: Issue[] = [];
  private count = 0;

  constructor(text: string) {
    this.text = text;
  }
  report(at: number, message: string): void {
    this.count++;
    if (this.count <= mostIssues) this.found.push({ at, message });
  }
  get isEmpty(): boolean {
    return this.count === 0;
  }
  get list(): readonly Issue[] {
    return this.found;
  }

  /** As `cel.Issues.String()`. */
  toString(): string {
    const lines = this.text.split('\n');
    const shown = this.found
      .map((issue) => ({ issue, place: placeOf(this.text, issue.at) }))
      .sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
      .map(({ issue, place }) => display(issue.message, place, lines));
    if (this.count > mostIssues) shown.push(`${this.count - mostIssues} more errors were truncated`);
    return shown.join('\n');
  }
}

function placeOf(text: string, at: number): Place {
  if (at < 0) return { line: -1, column: -1 };
  const before = text.slice(0, at);
  const start = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: [...before.slice(start)].length };
}

function display(message: string, { line, column }: Place, lines: readonly string[]): string {
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
  const snippet = lines[line - 1]?.replaceAll('\t', ' ');
  if (snippet === undefined || snippet.length > longestSnippet) return head;
  const characters = [...snippet];
  // Characters of several bytes are taken to be wide.
  const isWide = (index: number): boolean => (characters[index] ?? '') > '\u007f';
  let mark = '';
  for (let i = 0; i < column && i < characters.length; i++) mark += isWide(i) ? '\uff0e' : '.';
  return `${head}\n | ${snippet}\n | ${mark}${isWide(column) ? '\uff3e' : '^'}`;
}
