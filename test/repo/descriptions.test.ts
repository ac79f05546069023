// Every type of the API and every field is described, once, and nothing else is: kubectl explain shows it.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { descriptionTexts } from '../../src/api/descriptions/description-texts.ts';
import { readDescriptions } from '../../src/api/descriptions/read-descriptions.ts';
import { type Describe, parseDescriptionText } from '../../src/apimachinery/openapi/description-text.ts';

type Types = Readonly<Record<string, { readonly fields?: object }>>;
type Texts = readonly (readonly [prefix: string, text: string])[];

const fieldsOf = (types: Types, type: string): readonly string[] => Object.keys(types[type]?.fields ?? {});

/** Types and fields of which nothing is said. */
const gaps = (types: Types, describe: Describe): string[] =>
  Object.keys(types).flatMap((type) => [
    ...(describe(type) === undefined ? [type] : []),
    ...fieldsOf(types, type).flatMap((field) =>
      describe(type, field) === undefined ? [`${type}.${field}`] : [],
    ),
  ]);

/** Lines of no type or field, lines of which one is written already, and lines that are no sentence. */
function strays(types: Types, texts: Texts): string[] {
  const seen = new Set<string>();
  return texts.flatMap(([prefix, content]) =>
    parseDescriptionText(content).flatMap(({ types: names, field, text }) =>
      names.flatMap((name) => {
        const type = prefix + name;
        const key = field === undefined ? type : `${type}.${field}`;
        const isTwice = seen.has(key);
        seen.add(key);
        const isThere = type in types && (field === undefined || fieldsOf(types, type).includes(field));
        return [
          ...(isThere ? [] : [`${key}: no such ${field === undefined ? 'type' : 'field'}`]),
          ...(isTwice ? [`${key}: twice`] : []),
          ...(text.endsWith('.') ? [] : [`${key}: no sentence`]),
          ...(text.includes('  ') ? [`${key}: two spaces`] : []),
        ];
      }),
    ),
  );
}

const typeWithName = { 'x.v1.A': { fields: { name: {} } } };

test('a type or a field without a description is found', () => {
  const describe: Describe = (type, field) => (field === undefined && type === 'x.v1.A' ? 'A.' : undefined);
  assert.deepEqual(gaps({ ...typeWithName, 'x.v1.B': {} }, describe), ['x.v1.A.name', 'x.v1.B']);
});

test('a description of what is not there, of what is described already, and no sentence are found', () => {
  const text = 'A: An a.\n  name: Its name.\n  name: its  name\n  size: Its size.\nB: A b.';
  assert.deepEqual(strays(typeWithName, [['x.v1.', text]]), [
    'x.v1.A.name: twice',
    'x.v1.A.name: no sentence',
    'x.v1.A.name: two spaces',
    'x.v1.A.size: no such field',
    'x.v1.B: no such type',
  ]);
  assert.throws(() => strays({}, [['x.v1.', 'A is nothing that can be read']]), /neither a type nor a field/);
});

// What the data leaves out, and what is said of all kinds and of all lists.
const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const kindFields = { apiVersion: {}, kind: {}, metadata: {} };
const types: Types = {
  ...(JSON.parse(readFileSync('src/api/schema/types.json', 'utf8')) as Types),
  [`${metaTypes}PartialObjectMetadata`]: { fields: kindFields },
  [`${metaTypes}PartialObjectMetadataList`]: { fields: { ...kindFields, items: {} } },
};
const shared: Types = {
  [`${metaTypes}AnyKind`]: { fields: kindFields },
  [`${metaTypes}AnyList`]: { fields: { ...kindFields, items: {} } },
};

test('every type and every field of the API is described', async () => {
  assert.ok(Object.keys(types).length > 500);
  assert.deepEqual(gaps(types, await readDescriptions()), []);
});

test('nothing else is described, and nothing twice', () => {
  assert.deepEqual(strays({ ...types, ...shared }, descriptionTexts), []);
});

test('a program reads them when it makes a document, and not before', () => {
  const importing = globSync('src/**/*.ts')
    .map((file) => [file, readFileSync(file, 'utf8')] as const)
    .filter(
      ([file, text]) => !file.startsWith('src/api/descriptions/') && /descriptions\/(?!read-)/.test(text),
    );
  assert.deepEqual(importing, []);
  const reader = readFileSync('src/api/descriptions/read-descriptions.ts', 'utf8');
  assert.match(reader, /await import\('\.\/description-texts\.ts'\)/);
  assert.doesNotMatch(reader, /from '\.\//);
});
