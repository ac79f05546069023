// YAML, as kubectl reads it: 1.2 core schema, bounded aliases, duplicate keys told, work bounded before it is done.
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  type ParsedNode,
  Parser,
  stringify,
  visit,
} from 'yaml';
import { shownPath } from './shown-path.ts';
import { boundedTokens } from './yaml-bounds.ts';
import { upstreamTags } from './yaml-tags.ts';

/** In upstream's words. */
const tooManyAliases = 'document contains excessive aliasing';

/** What is after the first document is not read, as upstream. */
function* firstDocument(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const token of boundedTokens(text))
    for (const part of parser.next(token)) {
      yield part;
      if (part.type === 'document') return;
    }
  yield* parser.end();
}

/** A key that came again, in upstream's words; where its value ends is where upstream comes upon it. */
interface RepeatedKey {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The first document of a text. Throws Error with line and column; bombs are refused. */
function parseFirst(text: string, intAsBigInt: boolean, onRepeated: (key: RepeatedKey) => void): unknown {
  const lines = new LineCounter();
  const composer = new Composer({
    // The library compares every key of a map with every other one; a set does it in one pass.
    uniqueKeys: false,
    logLevel: 'error',
    intAsBigInt,
    // Whatever a %YAML directive says: the numbers of 1.1 are read in quadratic time.
    schema: 'core',
    customTags: (tags) => [...tags, ...upstreamTags],
  });
  const [document] = composer.compose(firstDocument(text, lines), true, text.length);
  if (document === undefined) return null;
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new Error(`line ${line}, column ${col}: ${error.message}`);
  }
  assertKeys(document, lines, onRepeated);
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    if (error instanceof ReferenceError) throw new Error(tooManyAliases);
    throw error;
  }
}

/** A key is a scalar: the library would write one that is a map as a text, and its keys, in exponential time. */
function assertKeys(
  document: Document.Parsed<ParsedNode>,
  lines: LineCounter,
  onRepeated: (key: RepeatedKey) => void,
): void {
  const anchors = new Map<string, unknown>();
  visit(document, {
    Value(_, node) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key, value: held } of map.items) {
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
        const ranged = isNode(held) ? held : isScalar(key) ? key : undefined;
        const [start = 0, end = start] = ranged?.range ?? [];
        const { line } = lines.linePos(start);
        onRepeated({
          text: `line ${line}: key ${JSON.stringify(typeof value === 'string' ? shownPath(value) : value)} already set in map`,
          start,
          end,
        });
      }
    },
  });
}

/** More than any body may have: aliases would make a hundred times as much of it. */
const maxJsonLength = 4 << 20;

/** As upstream's strict decoder: nobody reads more of them. */
const maxRepeated = 100;

export interface YamlBody {
  readonly json: string;
  /** Keys that came again, `line 4: key "a" already set in map`: the last one counts. */
  readonly repeated: readonly string[];
}

/** The first document as JSON, with all the digits of its numbers. */
export function readYamlBody(text: string): YamlBody {
  let length = 0;
  const found: RepeatedKey[] = [];
  const value = parseFirst(text, true, (key) => found.push(key));
  const json = JSON.stringify(value ?? null, (key, value: unknown) => {
    length += key.length + (typeof value === 'string' ? value.length : 1);
    if (length > maxJsonLength) throw new Error(tooManyAliases);
    return written(value);
  });
  const repeated = found.sort((a, b) => a.end - b.end || b.start - a.start).map((key) => key.text);
  return { json, repeated: repeated.slice(0, maxRepeated) };
}
export const yamlToJson = (text: string): string => readYamlBody(text).json;

function written(value: unknown): unknown {
  if (typeof value === 'bigint')
    return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(value.toString());
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new Error(`json: unsupported value: ${value < 0 ? '-Inf' : value > 0 ? '+Inf' : 'NaN'}`);
  return value;
}

/** Whether something is after the first document, which alone is read. */
export function hasMoreYaml(text: string): boolean {
  const parser = new Parser();
  let filled = 0;
  for (const token of boundedTokens(text))
    for (const part of parser.next(token)) if (part.type === 'document' && part.value) filled++;
  for (const part of parser.end()) if (part.type === 'document' && part.value) filled++;
  return filled > 1;
}

/** Of files, in which a key that comes again is a fault. */
export const parseYaml = (text: string): unknown =>
  parseFirst(text, false, (key) => {
    throw new Error(`unmarshal errors:\n  ${key.text}`);
  });

export const toYaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
