// Ownership as a table: who writes what in which version, and who owns what then. Each row is a behaviour of upstream's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce, atOnceIfPossible } from '../../base/turns.ts';
import type { FieldSchema, Json, JsonObject, SchemaSource, TypeSchema } from '../declaration.ts';
import { StatusError } from '../errors.ts';
import { type ApplyRequest, applySteps } from './apply-patch.ts';
import { trackUpdateSteps } from './field-manager.ts';
import { decodeFieldSetSteps, pathsOf } from './field-set.ts';
import type { OtherVersion } from './versioned-object.ts';

const text: FieldSchema = { type: 'string' };
const texts: FieldSchema = { type: 'object', values: text };
const fieldsOf = (words: string): Record<string, FieldSchema> => ({
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
function convert(object: JsonObject, apiVersion: string): JsonObject {
  const { text: one, words: other, ...rest } = object;
  const value = one ?? other;
  if (value === undefined) return { ...rest, apiVersion };
  return { ...rest, apiVersion, [apiVersion === 'e/v1' ? 'text' : 'words']: value };
}

interface Kind {
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

const managedOf = (object: JsonObject | undefined): JsonObject[] =>
  ((object?.['metadata'] as JsonObject | undefined)?.['managedFields'] ?? []) as JsonObject[];
const entryPaths = (entry: JsonObject): string[] => pathsOf(atOnce(decodeFieldSetSteps(entry['fieldsV1'])));

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

async function take(live: JsonObject | undefined, step: Step, kind: Kind, n: number): Promise<JsonObject> {
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

async function run({ steps, kind }: Row): Promise<JsonObject> {
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

function check(rows: readonly Row[]): void {
  for (const row of rows)
    test(row.name, async () => {
      const object = await run(row);
      if (row.object !== undefined) assert.deepEqual(said(object), row.object);
      if (row.owners === undefined) return;
      const owners = managedOf(object).map((entry) => [entry['manager'], entryPaths(entry)]);
      assert.deepEqual(Object.fromEntries(owners), row.owners);
    });
}

// What one manager applies, and applies no more.
check([
  {
    name: 'a list without elements is owned by nobody, and takes nothing from others',
    steps: [
      { apply: 'a', object: { set: ['x'] } },
      { apply: 'b', object: { set: [], list: [], count: 1 } },
    ],
    object: { set: ['x'], list: [], count: 1 },
    owners: { a: ['.set[="x"]'], b: ['.count'] },
  },
  {
    name: 'who applies an empty list where he had elements takes them away',
    steps: [
      { apply: 'a', object: { set: ['x'], count: 1 } },
      { apply: 'a', object: { set: [], count: 1 } },
    ],
    object: { count: 1 },
    owners: { a: ['.count'] },
  },
  {
    name: 'an empty map is owned as what it is',
    steps: [{ apply: 'a', object: { map: {}, inner: {}, wholeMap: {} } }],
    owners: { a: ['.inner', '.map', '.wholeMap'] },
  },
  {
    name: 'null over what others filled takes nothing away, and over a scalar does',
    steps: [
      { update: 'u', object: { map: { k: 'v' }, set: ['x'], free: { deep: 1 } } },
      { apply: 'a', object: { map: null, set: null, free: null } },
    ],
    object: { map: { k: 'v' }, set: ['x'], free: { deep: 1 } },
  },
  {
    name: 'null over a scalar of another is a conflict',
    steps: [
      { update: 'u', object: { text: 'x' } },
      {
        apply: 'a',
        object: { text: null },
        fails: /^Apply failed with 1 conflict: conflict with "u" using e\/v1: \.text$/,
      },
    ],
  },
  {
    name: 'a key of a map goes with everything in it, though another has something below it that does not own the key',
    steps: [
      { apply: 'a', object: { count: 1, maps: { k: { x: '1' }, l: { x: '1' } } } },
      { update: 'u', object: { count: 1, maps: { k: { x: '1', y: '2' }, l: { x: '1' } } } },
      { apply: 'a', object: { count: 1, maps: { l: { x: '1' } } } },
    ],
    object: { count: 1, maps: { l: { x: '1' } } },
    owners: { a: ['.count', '.maps.l', '.maps.l.x'] },
  },
  {
    name: 'a named field stays for what another has below it',
    steps: [
      { apply: 'a', object: { count: 1, inner: { a: '1' } } },
      { update: 'u', object: { count: 1, inner: { a: '1', b: '2' } } },
      { apply: 'a', object: { count: 1 } },
    ],
    object: { count: 1, inner: { b: '2' } },
    owners: { a: ['.count'], u: ['.inner.b'] },
  },
  {
    name: 'what nobody owns goes with the field that it is in',
    steps: [
      { apply: 'a', object: { count: 1, inner: { a: '1' } } },
      { update: 'u', object: { count: 1, inner: { a: '1', b: '2' } }, resetFields: [['inner']] },
      { apply: 'a', object: { count: 1 } },
    ],
    object: { count: 1 },
  },
  {
    name: 'an element that two apply stays until both let it go',
    steps: [
      { apply: 'a', object: { count: 1, list: [{ name: 'x', value: '1' }] } },
      { apply: 'b', object: { text: 't', list: [{ name: 'x', value: '1' }] } },
      { apply: 'a', object: { count: 1 } },
    ],
    object: { count: 1, text: 't', list: [{ name: 'x', value: '1' }] },
    owners: {
      a: ['.count'],
      b: ['.list[name="x"]', '.list[name="x"].name', '.list[name="x"].value', '.text'],
    },
  },
  {
    name: 'who owns only part of an element loses it with the element',
    steps: [
      { apply: 'a', object: { count: 1, list: [{ name: 'x', value: '1' }] } },
      { update: 'u', object: { count: 1, list: [{ name: 'x', value: '2' }] } },
      { apply: 'a', object: { count: 1 }, force: true },
    ],
    object: { count: 1, list: [] },
    owners: { a: ['.count'] },
  },
  {
    name: 'an atomic list is owned as one',
    steps: [
      { apply: 'a', object: { whole: ['x'] } },
      {
        apply: 'b',
        object: { whole: ['x', 'y'] },
        fails: /^Apply failed with 1 conflict: conflict with "a": \.whole$/,
      },
      { apply: 'b', object: { whole: ['x', 'y'] }, force: true },
    ],
    object: { whole: ['x', 'y'] },
    owners: { b: ['.whole'] },
  },
]);

// The order of lists.
check([
  {
    name: 'what both have is in the applied order, and what one has stays behind what was before it',
    steps: [
      { update: 'u', object: { set: ['a', 'x', 'b'] } },
      { apply: 'm', object: { set: ['b', 'a'] } },
    ],
    object: { set: ['x', 'b', 'a'] },
  },
  {
    name: 'new elements come where they are applied',
    steps: [
      { update: 'u', object: { set: ['a', 'b', 'c'] } },
      { apply: 'm', object: { set: ['n', 'b', 'o'] } },
    ],
    object: { set: ['a', 'n', 'b', 'c', 'o'] },
  },
]);

// Keys and elements that come twice.
check([
  {
    name: 'an element that says some of its keys is another than one that says all, and defaults count',
    steps: [
      { apply: 'a', object: { two: [{ name: 'x', value: '1' }] } },
      {
        apply: 'b',
        object: {
          two: [
            { name: 'x', id: 2, value: '2' },
            { id: 1, value: '3' },
          ],
        },
      },
    ],
    owners: {
      a: ['.two[id=1,name="x"]', '.two[id=1,name="x"].name', '.two[id=1,name="x"].value'],
      b: [
        '.two[id=1]',
        '.two[id=1].id',
        '.two[id=1].value',
        '.two[id=2,name="x"]',
        '.two[id=2,name="x"].id',
        '.two[id=2,name="x"].name',
        '.two[id=2,name="x"].value',
      ],
    },
  },
  {
    name: 'elements that can not be named are refused in upstream’s words',
    steps: [
      {
        apply: 'a',
        object: { list: [{ value: '1' }] },
        fails:
          /: \.list: element 0: associative list with keys has an element that omits all key fields \["name"\] \(and doesn't have default values for any key fields\)$/,
      },
      {
        apply: 'a',
        object: { list: [null] },
        fails: /: \.list: element 0: associative list with keys may not have a null element$/,
      },
      {
        apply: 'a',
        object: { list: ['x'] },
        fails: /associative list with keys may not have non-map elements$/,
      },
      {
        apply: 'a',
        object: { set: [{}] },
        fails: /: \.set: element 0: associative list without keys has an element that's a map type$/,
      },
      {
        apply: 'a',
        object: { set: [[]] },
        fails: /: \.set: element 0: not supported: associative list with lists as elements$/,
      },
      {
        apply: 'a',
        object: { set: ['x', null] },
        fails: /: \.set: element 1: associative list without keys has an element that's an explicit null$/,
      },
      { apply: 'a', object: { set: ['x', 'x'] }, fails: /: \.set: duplicate entries for key \[="x"\]$/ },
    ],
  },
  {
    name: 'what an update made twice stays twice when others are applied',
    steps: [
      {
        update: 'u',
        object: {
          list: [
            { name: 'x', value: '1' },
            { name: 'x', value: '2' },
          ],
        },
      },
      { apply: 'a', object: { list: [{ name: 'y' }] } },
    ],
    object: { list: [{ name: 'x', value: '1' }, { name: 'x', value: '2' }, { name: 'y' }] },
    owners: { u: ['.list', '.list[name="x"]'], a: ['.list[name="y"]', '.list[name="y"].name'] },
  },
  {
    name: 'what is there twice and is applied is there once',
    steps: [
      {
        update: 'u',
        object: {
          list: [
            { name: 'x', value: '1' },
            { name: 'x', value: '2' },
          ],
        },
      },
      { apply: 'a', object: { list: [{ name: 'x', value: '3' }] }, force: true },
    ],
    object: { list: [{ name: 'x', value: '3' }] },
    owners: { u: ['.list'], a: ['.list[name="x"]', '.list[name="x"].name', '.list[name="x"].value'] },
  },
  {
    name: 'whoever doubles an element owns the name, and its owners lose its fields',
    steps: [
      { apply: 'a', object: { count: 1, list: [{ name: 'x', value: '1' }] } },
      {
        update: 'u',
        object: {
          count: 1,
          list: [
            { name: 'x', value: '1' },
            { name: 'x', value: '2' },
          ],
        },
      },
    ],
    owners: { a: ['.count'], u: ['.list[name="x"]'] },
  },
]);

// Without a schema.
check([
  {
    name: 'maps without a schema are merged, lists are one value',
    steps: [
      { apply: 'a', object: { free: { x: 1, l: [1] } } },
      { apply: 'b', object: { free: { y: { z: 1 } } } },
    ],
    object: { free: { x: 1, l: [1], y: { z: 1 } } },
    owners: { a: ['.free.l', '.free.x'], b: ['.free.y', '.free.y.z'] },
  },
  {
    name: 'a map that becomes a scalar is lost with all that was in it',
    steps: [
      { update: 'u', object: { free: { x: { a: 1, b: 2 } } } },
      { update: 'w', object: { free: { x: 'text' } } },
    ],
    owners: { u: ['.free'], w: ['.free.x'] },
  },
]);

// Managers of several versions.
check([
  {
    name: 'a conflict is told in the version of the manager that has it',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      { update: 'u', in: 'v2', object: { words: 'x', count: 1, map: { k: 'v' } } },
      {
        apply: 'b',
        object: { text: 'y', map: { k: 'w' } },
        fails:
          /^Apply failed with 2 conflicts: conflicts with "a":\n- \.words\nconflicts with "u" using e\/v2:\n- \.map\.k$/,
      },
    ],
  },
  {
    name: 'force takes the field from whoever has it in whichever version',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      { apply: 'b', object: { text: 'y' }, force: true },
    ],
    object: { text: 'y', count: 1 },
    owners: { a: ['.count'], b: ['.text'] },
  },
  {
    name: 'an update in one version takes from the appliers of another, and from the same updater there',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      { update: 'u', in: 'v2', object: { words: 'x', count: 1, map: { k: 'v' } } },
      { update: 'w', object: { text: 'y', count: 1 } },
    ],
    owners: { a: ['.count'], w: ['.text'] },
  },
  {
    name: 'who applies the same in another version keeps it, and what he leaves out goes',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      { apply: 'a', object: { text: 'x' } },
    ],
    object: { text: 'x' },
    owners: { a: ['.text'] },
  },
  {
    name: 'a field with another name goes when it is left out in the other version',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      { apply: 'a', object: { count: 1 } },
    ],
    object: { count: 1 },
    owners: { a: ['.count'] },
  },
  {
    name: 'what another has in a third way stays',
    steps: [
      { apply: 'a', object: { text: 'x', count: 1, list: [{ name: 'n', value: '1' }] } },
      { apply: 'b', in: 'v2', object: { words: 'x', list: [{ name: 'n', value: '1' }] } },
      { apply: 'a', object: { count: 1 } },
    ],
    object: { text: 'x', count: 1, list: [{ name: 'n', value: '1' }] },
    owners: {
      a: ['.count'],
      b: ['.list[name="n"]', '.list[name="n"].name', '.list[name="n"].value', '.words'],
    },
  },
  {
    name: 'what was filled in for an element of another version goes with the element, and doubles stay',
    steps: [
      {
        update: 'u',
        object: {
          set: ['k'],
          list: [
            { name: 'd', value: '1' },
            { name: 'd', value: '2' },
          ],
        },
      },
      {
        apply: 'a',
        in: 'v2',
        object: { words: 'x', list: [{ name: 'n', value: '1' }], maps: { k: { x: '1' } } },
      },
      { apply: 'a', object: { text: 'x' } },
    ],
    object: {
      set: ['k'],
      text: 'x',
      list: [
        { name: 'd', value: '1' },
        { name: 'd', value: '2' },
      ],
    },
  },
  {
    name: 'who wrote a version that there is no more is forgotten by the next write of anybody',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x' } },
      { update: 'u', object: { text: 'x', count: 1 }, served: ['v1'] },
    ],
    owners: { u: ['.count'] },
  },
  {
    name: 'an update that changes nothing forgets him too',
    steps: [
      { update: 'u', object: { text: 'x' } },
      { apply: 'a', in: 'v2', object: { words: 'x' } },
      { update: 'u', object: { text: 'x' }, served: ['v1'] },
    ],
    owners: { u: ['.text'] },
  },
  {
    name: 'an applier whose last version is gone applies as if it were the first time',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      { apply: 'a', object: { text: 'y' }, served: ['v1'] },
    ],
    object: { text: 'y', count: 1 },
    owners: { a: ['.text'] },
  },
  {
    name: 'others may be asked for other versions, and are waited for',
    kind: {
      convert: (object, apiVersion) =>
        new Promise((resolve) => setImmediate(() => resolve(convert(object, apiVersion)))),
    },
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1, inner: { a: '1' } } },
      { apply: 'b', object: { text: 'y' }, fails: /conflict with "a": \.words$/ },
      { update: 'u', object: { text: 'y', count: 1, inner: { a: '1' } } },
      { apply: 'a', object: { count: 1 } },
    ],
    object: { text: 'y', count: 1 },
    owners: { u: ['.text'], a: ['.count'] },
  },
]);

const dead = (): never => {
  throw new StatusError(500, '', 'conversion webhook for e/v2, Kind=T failed: it is dead');
};
check([
  {
    name: 'an update goes on when a conversion fails, and everybody keeps what they had',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      { update: 'u', object: { text: 'y', count: 2 }, convert: dead },
    ],
    object: { text: 'y', count: 2 },
    owners: { a: ['.count', '.words'] },
  },
  {
    name: 'so it does when who is asked rejects',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      { update: 'u', object: { text: 'y', count: 2 }, convert: async () => dead() },
    ],
    owners: { a: ['.count', '.words'] },
  },
  {
    name: 'an apply fails with it, whatever it would change',
    steps: [
      { apply: 'a', in: 'v2', object: { words: 'x', count: 1 } },
      {
        apply: 'b',
        object: { map: { k: 'v' } },
        convert: dead,
        fails: /^conversion webhook for e\/v2, Kind=T failed: it is dead$/,
      },
      { apply: 'b', object: { map: { k: 'v' } }, convert: async () => dead(), fails: /it is dead$/ },
    ],
  },
]);

// What the request can't write.
const status = { resetFields: [['status']] };
check([
  {
    name: 'what is put back is owned by nobody, and is nobody’s conflict',
    steps: [
      { update: 'k', subresource: 'status', object: { status: { a: '1' } }, resetFields: [['inner']] },
      { apply: 'a', object: { count: 1, status: { a: '2' } }, ...status },
    ],
    owners: { a: ['.count'], k: ['.status', '.status.a'] },
  },
  {
    name: 'so it is in another version',
    steps: [
      {
        update: 'k',
        in: 'v2',
        subresource: 'status',
        object: { status: { a: '1' } },
        resetFields: [['inner']],
      },
      { apply: 'a', object: { count: 1, status: { a: '2' } }, ...status },
    ],
    owners: { a: ['.count'], k: ['.status', '.status.a'] },
  },
  {
    name: 'what was there before the first apply is of the subresource that it is applied to',
    steps: [
      { update: 'u', object: { count: 1, inner: { a: '1' }, metadata: { managedFields: [{}] } } },
      {
        update: 'u',
        object: { count: 1, inner: { a: '1' }, status: { a: '1' }, metadata: { managedFields: [{}] } },
      },
      {
        apply: 'a',
        subresource: 'status',
        object: { status: { b: '1' } },
        resetFields: [['inner'], ['count']],
      },
    ],
    owners: { a: ['.status.b'], 'before-first-apply': ['.status', '.status.a'] },
  },
]);

// Schemas that changed since.
const with_ = (more: Record<string, FieldSchema>): Kind => ({
  outdated: true,
  types: { v1: { type: 'object', fields: { ...fieldsOf('text'), ...more } } as TypeSchema },
});
check([
  {
    name: 'a list, a map and a struct that became one value are owned as one',
    steps: [
      { apply: 'a', object: { set: ['x'], map: { k: 'v' }, inner: { a: '1' } } },
      {
        update: 'u',
        object: { set: ['x'], map: { k: 'v' }, inner: { a: '1' }, count: 1 },
        ...with_({
          set: { type: 'array', items: text },
          map: { ...texts, mapType: 'atomic' },
          inner: { ref: 'Inner', mapType: 'atomic' },
        } as Record<string, FieldSchema>),
      },
    ],
    owners: { a: ['.inner', '.map', '.set'], u: ['.count'] },
  },
  {
    name: 'and conflict as one',
    steps: [
      { apply: 'a', object: { map: { k: 'v' } } },
      {
        apply: 'b',
        object: { map: { k: 'v', l: 'w' } },
        fails: /conflict with "a": \.map$/,
        ...with_({ map: { ...texts, mapType: 'atomic' } }),
      },
    ],
  },
  {
    name: 'one value that became several is still owned as one',
    steps: [
      { apply: 'a', object: { wholeMap: { k: 'v' } } },
      { apply: 'b', object: { wholeMap: { l: 'w' } }, ...with_({ wholeMap: texts }) },
    ],
    object: { wholeMap: { k: 'v', l: 'w' } },
    owners: { a: ['.wholeMap'], b: ['.wholeMap.l'] },
  },
  {
    name: 'a field that the schema lost is in nobody’s way',
    steps: [
      { apply: 'a', object: { count: 1, text: 'x' } },
      {
        apply: 'a',
        object: { count: 2 },
        outdated: true,
        types: { v1: { type: 'object', fields: { ...fieldsOf('old'), old: text } } as TypeSchema },
      },
    ],
    object: { count: 2 },
    owners: { a: ['.count'] },
  },
]);

// Times, resets, and how many there may be.
const times = (object: JsonObject): Json[] =>
  managedOf(object).map((m) => [m['manager']!, m['time'] ?? null]);

test('an apply that leaves the object as it is leaves the time as it is: of the first one there is none', async () => {
  const first = await run({ name: '', steps: [{ apply: 'a', object: { count: 1, text: 'x' } }] });
  assert.deepEqual(times(first), [['a', '2026-01-01T00:00:00Z']]);
  const second = await take(first, { apply: 'b', object: { count: 1 } }, {}, 5);
  assert.deepEqual(times(second), [
    ['b', null],
    ['a', '2026-01-01T00:00:00Z'],
  ]);
  const less = await take(second, { apply: 'a', object: { count: 1 } }, {}, 6);
  assert.deepEqual(times(less).at(-1), ['a', '2026-01-01T00:00:06Z']);
  const handed = await take(second, { apply: 'b', object: { count: 1, text: 'x' } }, {}, 7);
  assert.deepEqual(times(handed), times(second), 'it owns more, and nothing changed');
});

test('a list of nothing resets as one of an empty entry does; what makes no sense leaves what was', async () => {
  for (const managedFields of [[], [{}]]) {
    const live = await run({
      name: '',
      steps: [
        { update: 'u', object: { count: 1 } },
        { update: 'w', object: { count: 2, metadata: { managedFields } } },
      ],
    });
    assert.deepEqual(managedOf(live), []);
    const after = await take(live, { update: 'u', object: { count: 3 } }, {}, 9);
    assert.deepEqual(managedOf(after), [], 'nobody is told of until the next apply');
  }
  const entry = {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'e/v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:count': {} },
  };
  for (const wrong of [
    { operation: 'Delete' },
    { apiVersion: '' },
    { fieldsType: 'FieldsV2' },
    { fieldsV1: { x: {} } },
  ]) {
    const live = await run({
      name: '',
      steps: [
        { update: 'u', object: { count: 1 } },
        { update: 'w', object: { count: 1, metadata: { managedFields: [{ ...entry, ...wrong }] } } },
      ],
    });
    assert.deepEqual(
      managedOf(live).map((m) => m['manager']),
      ['u'],
    );
  }
});

test('the oldest updaters are put together in each of their versions, those of subresources too', async () => {
  const entries = Array.from({ length: 14 }, (_, i) => ({
    manager: `m${i}`,
    operation: 'Update',
    apiVersion: i % 2 === 0 ? 'e/v1' : 'e/v2',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:map': { [`f:k${i}`]: {} } },
    ...(i === 2 ? { subresource: 'status' } : {}),
    time: `2025-01-01T00:00:${String(10 + i)}Z`,
  }));
  const map = Object.fromEntries(entries.map((_, i) => [`k${i}`, 'v']));
  const live = await run({
    name: '',
    steps: [
      { update: 'u', object: { map } },
      { update: 'u', object: { map, metadata: { managedFields: entries } } },
    ],
  });
  const owners = managedOf(live).map((m) => [m['manager'], m['apiVersion'], m['time'], entryPaths(m).length]);
  assert.equal(owners.length, 10);
  assert.deepEqual(owners.slice(0, 3), [
    ['ancient-changes', 'e/v1', '2025-01-01T00:00:14Z', 3],
    ['ancient-changes', 'e/v2', '2025-01-01T00:00:15Z', 3],
    ['m6', 'e/v1', '2025-01-01T00:00:16Z', 1],
  ]);
});
