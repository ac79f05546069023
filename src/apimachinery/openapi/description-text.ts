// What types and fields are for, as it is written: a type's names and what it is, below them its fields, one a line.

/** What a type is for, or one of its fields; undefined when nothing is known. */
export type Describe = (type: string, field?: string) => string | undefined;

interface DescriptionLine {
  /** All types that it is written for: those that differ in nothing share their lines. */
  readonly types: readonly string[];
  /** Undefined in the line of the types themselves. */
  readonly field: string | undefined;
  readonly text: string;
}

const lineOf = /^(?:(?<types>[\w-]+(?: [\w-]+)*)| {2}(?<field>[^\s:]+)): (?<text>.+)$/;

export function parseDescriptionText(content: string): DescriptionLine[] {
  const lines: DescriptionLine[] = [];
  let types: readonly string[] = [];
  for (const line of content.split('\n')) {
    if (line === '') continue;
    const found = lineOf.exec(line)?.groups;
    if (!found) throw new Error(`neither a type nor a field: ${line}`);
    types = found['types']?.split(' ') ?? types;
    lines.push({ types, field: found['field'], text: found['text']! });
  }
  return lines;
}
