// A list in pieces: what stands before the objects, each object by itself, and what stands after them.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { htmlSafeJson } from '../../base/html-safe-json.ts';
import { writeYaml, writeYamlItem } from '../../base/yaml-writer.ts';

/** The body is head, items with separators between them, and tail. */
export interface ListWriter {
  readonly head: Buffer;
  item(object: JsonObject): Buffer;
  readonly separator: Buffer;
  readonly tail: Buffer;
}

const nothing = Buffer.alloc(0);

/** `shell` is the list without objects; `key` is its last field, where they stand. */
export function jsonList(shell: JsonObject): ListWriter {
  const text = htmlSafeJson(shell);
  return {
    head: Buffer.from(text.slice(0, -2)),
    item: (object) => Buffer.from(htmlSafeJson(object)),
    separator: Buffer.from(','),
    tail: Buffer.from(']}\n'),
  };
}

export function prettyList(shell: JsonObject): ListWriter {
  const text = htmlSafeJson(shell, 2);
  return {
    head: Buffer.from(`${text.slice(0, -'[]\n}'.length)}[\n    `),
    item: (object) => Buffer.from(htmlSafeJson(object, 2).replaceAll('\n', '\n    ')),
    separator: Buffer.from(',\n    '),
    tail: Buffer.from('\n  ]\n}'),
  };
}

/** Keys are in order, so some of the list's own stand behind the objects. */
export function yamlList(shell: JsonObject, key: string): ListWriter {
  const before = Object.entries(shell).filter(([name]) => name < key);
  const after = Object.entries(shell).filter(([name]) => name > key);
  const text = (fields: readonly (readonly [string, unknown])[]): string =>
    fields.length === 0 ? '' : writeYaml(Object.fromEntries(fields));
  return {
    head: Buffer.from(`${text(before)}${key}:\n`),
    item: (object) => Buffer.from(writeYamlItem(object)),
    separator: nothing,
    tail: Buffer.from(text(after)),
  };
}
