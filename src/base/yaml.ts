// YAML, as kubectl reads it: 1.2 core schema, bounded aliases, duplicate keys refused, work bounded before it is done.
import { isAlias, isMap, isScalar, LineCounter, parseAllDocuments, stringify, visit } from 'yaml';
import { assertBounded } from './yaml-bounds.ts';

/** All documents of a text. Throws Error with line and column; bombs are refused. */
export function parseYamlDocuments(text: string, intAsBigInt = false): unknown[] {
  assertBounded(text);
  const lines = new LineCounter();
  // The library compares every key of a map with every other one; a set does it in one pass.
  const options = {
    maxAliasCount: 100,
    uniqueKeys: false,
    lineCounter: lines,
    logLevel: 'error',
    intAsBigInt,
    // Whatever a %YAML directive says: the numbers of 1.1 are read in quadratic time.
    schema: 'core',
  };
  return parseAllDocuments(text, options as object).map((document) => {
    const error = 'errors' in document ? document.errors[0] : undefined;
    if (error) throw error;
    if ('contents' in document) assertKeys(document, lines);
    return document.toJS({ maxAliasCount: 100 });
  });
}

/** A key is a scalar: the library would write one that is a map as a text, and its keys, in exponential time. */
function assertKeys(document: Parameters<typeof visit>[0], lines: LineCounter): void {
  const anchors = new Map<string, unknown>();
  visit(document, {
    Value(_, node) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const node = isAlias(key) ? (anchors.get(key.source) ?? key) : key;
        if (node !== null && !isScalar(node))
          throw new Error(
            `invalid map key: ${isMap(node) ? 'map[interface {}]interface {}' : '[]interface {}'}`,
          );
        const value: unknown = isScalar(node) ? node.value : node;
        if (!seen.has(value)) {
          seen.add(value);
          continue;
        }
        const at = isScalar(key) ? (key.range?.[0] ?? 0) : 0;
        throw new Error(
          `unmarshal errors:\n  line ${lines.linePos(at).line}: key ${JSON.stringify(value)} already set in map`,
        );
      }
    },
  });
}

/** The first document as JSON, with all the digits of its numbers. */
export function yamlToJson(text: string): string {
  const [first] = parseYamlDocuments(text, true);
  return JSON.stringify(first ?? null, written);
}
function written(_: string, value: unknown): unknown {
  if (typeof value === 'bigint')
    return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(value.toString());
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new Error(`json: unsupported value: ${value < 0 ? '-Inf' : value > 0 ? '+Inf' : 'NaN'}`);
  return value;
}

export function parseYaml(text: string): unknown {
  const [first] = parseYamlDocuments(text);
  return first;
}

export const toYaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
