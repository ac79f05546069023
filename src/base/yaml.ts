// YAML, as kubectl reads it: 1.2 core schema, bounded aliases, duplicate keys refused, work bounded before it is done.
import { isMap, isScalar, Lexer, LineCounter, parseAllDocuments, stringify, visit } from 'yaml';

/**
 * What one text may consist of. A manifest of a megabyte has fewer; a reader that builds a node for each of millions
 * would hold its process for many seconds.
 */
const maxTokens = 250_000;
const maxDepth = 500;

/** All documents of a text. Throws Error with line and column; bombs are refused. */
export function parseYamlDocuments(text: string): unknown[] {
  assertBounded(text);
  const lines = new LineCounter();
  // The library compares every key of a map with every other one; a set does it in one pass.
  const options = { maxAliasCount: 100, uniqueKeys: false, lineCounter: lines, logLevel: 'error' };
  return parseAllDocuments(text, options as object).map((document) => {
    const error = 'errors' in document ? document.errors[0] : undefined;
    if (error) throw error;
    if ('contents' in document) assertUniqueKeys(document, lines);
    return document.toJS({ maxAliasCount: 100 });
  });
}

function assertBounded(text: string): void {
  let tokens = 0;
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (++tokens > maxTokens) throw new Error('the document is too complex');
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    if (depth > maxDepth) throw new Error('exceeded max depth');
  }
}

function assertUniqueKeys(document: Parameters<typeof visit>[0], lines: LineCounter): void {
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const value: unknown = isScalar(key) ? key.value : key;
        if (!seen.has(value)) {
          seen.add(value);
          continue;
        }
        const at = isScalar(key) || isMap(key) ? (key.range?.[0] ?? 0) : 0;
        throw new Error(
          `unmarshal errors:\n  line ${lines.linePos(at).line}: key ${JSON.stringify(value)} already set in map`,
        );
      }
    },
  });
}

export function parseYaml(text: string): unknown {
  const [first] = parseYamlDocuments(text);
  return first;
}

export const toYaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
