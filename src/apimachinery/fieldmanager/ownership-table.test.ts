// Ownership as a table: who applies and updates what, and who owns what then. Each row is a behaviour of upstream's.
import { check } from './testing/ownership-rows.ts';

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
    object: { count: 1, list: null },
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
