// Tables of ownership: who writes what in which version, and who owns what then. Each row is a test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce, atOnceIfPossible } from '../../../base/turns.ts';
import type { FieldSchema, JsonObject, SchemaSource, TypeSchema } from '../../declaration.ts';
import { type ApplyRequest, applySteps } from '../apply-patch.ts';
import { trackUpdateSteps } from '../field-manager.ts';
import { decodeFieldSetSteps, pathsOf } from '../field-set.ts';
import type { OtherVersion } from '../versioned-object.ts';

export const text: FieldSchema = { type: 'string' };
export const texts: FieldSchema = { type: 'object', values: text };
export const fieldsOf = (words: string): Record<string, FieldSchema> => ({
  apiVersion: text,
  kind: text,
  metadata: { ref: 'Meta' },
  [words]: text,
  count: { type: 'integer' },
  set: { type: 'array', listType: 'set', items: text },
  list: { type: 'array', listType: 'map', listMapKeys: ['name'], items: { ref: 'Item' } },
  two: { type: 'array', listType: 'map', listMapKeys: ['name', 'id'], items: { ref: 'Item' } },
  whole: { type: 'array', items: text },
  map: texts,
  maps: { type: 'object', values: texts },
  wholeMap: { ...texts, mapType: 'atomic' },
  inner: { ref: 'Inner' },
  free: { type: 'object' },
  status: { ref: 'Inner' },
});
const types: Record<string, TypeSchema> = {
  v1: { type: 'object', fields: fieldsOf('text') },
  v2: { type: 'object', fields: fieldsOf('words') },
  Meta: { type: 'object', fields: { name: text, namespace: text, labels: texts } },
  Item: {
    type: 'object',
    fields: { name: text, id: { type: 'integer', default: 1 }, value: text, more: texts },
  },
  Inner: {
    type: 'object',
    fields: { a: text, b: text, list: { type: 'array', listType: 'set', items: text }, map: texts },
  },
} as unknown as Record<string, TypeSchema>;

/** Between v1 and v2 a field has another name. */
export function convert(object: JsonObject, apiVersion: string): JsonObject {
  const { text: one, words: other, ...rest } = object;
  const value = one ?? other;
  if (value === undefined) return { ...rest, apiVersion };
  return { ...rest, apiVersion, [apiVersion === 'e/v1' ? 'text' : 'words']: value };
}

export interface Kind {
  readonly types?: Record<string, TypeSchema>;
  readonly served?: readonly string[];
  readonly outdated?: boolean;
  /** What converting does instead. */
  readonly convert?: (object: JsonObject, apiVersion: string) => JsonObject | Promise<JsonObject>;
  readonly resetFields?: readonly (readonly string[])[];
}

interface Step extends Kind {
  /** Manager. */
  readonly apply?: string;
  readonly update?: string;
  /** Default: v1. */
  readonly in?: string;
  readonly force?: boolean;
  readonly subresource?: string;
  /** What is applied; or the object as it is to be. */
  readonly object: JsonObject;
  /** Of the conflict, or another failure. */
  readonly fails?: RegExp;
}

interface Row {
  readonly name: string;
  readonly kind?: Kind;
  readonly steps: readonly Step[];
  /** After all steps, without what identifies it. Default: nobody looks. */
  readonly object?: JsonObject;
  /** Paths of each manager. Default: nobody looks. */
  readonly owners?: Record<string, readonly string[]>;
}

export const managedOf = (object: JsonObject | undefined): JsonObject[] =>
  ((object?.['metadata'] as JsonObject | undefined)?.['managedFields'] ?? []) as JsonObject[];
export const entryPaths = (entry: JsonObject): string[] =>
  pathsOf(atOnce(decodeFieldSetSteps(entry['fieldsV1'])));

function identity(step: Step): JsonObject {
  return { apiVersion: `e/${step.in ?? 'v1'}`, kind: 'T' };
}

function common(step: Step, kind: Kind, n: number): Omit<ApplyRequest, 'live' | 'patch' | 'force'> {
  const known = { ...types, ...kind.types };
  const source: SchemaSource = { type: (name) => known[name] };
  const version = step.in ?? 'v1';
  const other = (apiVersion: string): OtherVersion | undefined => {
    const name = apiVersion.slice(2);
    if (!(kind.served ?? ['v1', 'v2']).includes(name)) return undefined;
    return {
      schema: source,
      type: name,
      resetFields: kind.resetFields,
      convert: (object) => (kind.convert ?? convert)(object, apiVersion),
    };
  };
  return {
    manager: step.apply ?? step.update ?? '',
    subresource: step.subresource ?? '',
    apiVersion: `e/${version}`,
    time: new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString().replace('.000', ''),
    schema: source,
    type: version,
    resetFields: kind.resetFields,
    otherVersion: other,
    outdated: kind.outdated,
  };
}

export async function take(
  live: JsonObject | undefined,
  step: Step,
  kind: Kind,
  n: number,
): Promise<JsonObject> {
  const request = common(step, kind, n);
  const shown = live && convert(live, request.apiVersion);
  const metadata = { name: 'x', namespace: 'ns', ...(step.object['metadata'] as JsonObject) };
  if (step.apply !== undefined) {
    const patch = { ...step.object, ...identity(step), metadata };
    return atOnceIfPossible(applySteps({ ...request, live: shown, patch, force: step.force === true }));
  }
  const given = (step.object['metadata'] as JsonObject | undefined)?.['managedFields'];
  const managedFields = given ?? managedOf(shown);
  const owned =
    Array.isArray(managedFields) && managedFields.length === 0 && given === undefined
      ? {}
      : { managedFields };
  const result = { ...step.object, ...identity(step), metadata: { ...metadata, ...owned } };
  return atOnceIfPossible(trackUpdateSteps({ ...request, live: shown, result }));
}

export async function run({ steps, kind }: Row): Promise<JsonObject> {
  let live: JsonObject | undefined;
  for (const [n, step] of steps.entries()) {
    const taken = (): Promise<JsonObject> => take(live, step, { ...kind, ...step }, n);
    if (step.fails === undefined) live = await taken();
    else await assert.rejects(taken, { message: step.fails }, `step ${n}`);
  }
  return live!;
}

const said = ({ apiVersion: _v, kind: _k, metadata, ...rest }: JsonObject): JsonObject => {
  const { name: _n, namespace: _ns, managedFields: _m, ...more } = metadata as JsonObject;
  return Object.keys(more).length === 0 ? rest : { ...rest, metadata: more };
};

export function check(rows: readonly Row[]): void {
  for (const row of rows)
    test(row.name, async () => {
      const object = await run(row);
      if (row.object !== undefined) assert.deepEqual(said(object), row.object);
      if (row.owners === undefined) return;
      const owners = managedOf(object).map((entry) => [entry['manager'], entryPaths(entry)]);
      assert.deepEqual(Object.fromEntries(owners), row.owners);
    });
}
