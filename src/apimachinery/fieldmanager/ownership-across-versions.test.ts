// Ownership where managers wrote other versions, through subresources, or before the schema changed. Each row is a behaviour of upstream's.
import type { FieldSchema, TypeSchema } from '../declaration.ts';
import { StatusError } from '../errors.ts';
import { check, convert, fieldsOf, type Kind, text, texts } from './testing/ownership-rows.ts';

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
