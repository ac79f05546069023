// What types and fields are for, as it is written: a type's names and what it is, below them its fields, one a line.

/** What a type is for, or one of its fields; undefined when nothing is known. */
export type Describe = (type: string, field?: string) => string | undefined;

/** A line that says nothing of any type: the check of the repository reads it, documents must not. */
interface Line {
  /** All types that it is written for: those that differ in nothing share their lines. */
  readonly types: readonly string[];
  /** Undefined in the line of the types themselves. */
  readonly field: string | undefined;
  readonly text: string;
}

const lineOf = /^(?<indent> *)(?<names>[\w$-]+(?: [\w$-]+)*): (?<text>.+)$/;

export function parseDescriptionText(content: string): Line[] {
  const lines: Line[] = [];
  let types: readonly string[] = [];
  for (const line of content.split('\n')) {
    if (line === '') continue;
    const found = lineOf.exec(line)?.groups;
    if (!found) throw new Error(`neither a type nor a field: ${line}`);
    const isField = found['indent'] !== '';
    if (!isField) types = found['names']!.split(' ');
    lines.push({ types, field: isField ? found['names'] : undefined, text: found['text']! });
  }
  return lines;
}
