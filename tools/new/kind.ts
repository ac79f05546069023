// npm run new -- kind <Kind>: types and row of the data, the kind's file with its test, and its line in the list of its group.
import type { GroupVersionKind, JsonObject, TypeSchema } from '../../src/apimachinery/json.ts';
import { addDescriptions } from './description-file.ts';
import { checkConstant, checkName } from './names.ts';
import { type ImportedKind, kindOfDocument, listOf } from './openapi-types.ts';
import { withNumbers } from './protobuf-numbers.ts';
import { camel, kebab, type Tree } from './tree.ts';

export interface KindOptions {
  readonly kind: string;
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  /** Default: the document's paths, or the kind in small letters with an s. */
  readonly plural?: string | undefined;
  readonly isClusterScoped: boolean;
  /** The document that has it. */
  readonly document?: JsonObject | undefined;
}

const schemas = 'src/api/schema';
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const reversed = (group: string): string => group.split('.').reverse().join('.');

/** What a kind begins with: a size that is asked for and one that is there. */
function minimalKind(gvk: GroupVersionKind): ImportedKind {
  const name = `${reversed(gvk.group)}.${gvk.version}.${gvk.kind}`;
  const size = { type: 'integer', format: 'int32' } as const;
  const text = { type: 'string' } as const;
  const metadata = { default: {}, ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' };
  const fields = {
    apiVersion: text,
    kind: text,
    metadata,
    spec: { default: {}, ref: `${name}Spec` },
    status: { default: {}, ref: `${name}Status` },
  };
  const types = new Map<string, TypeSchema>([
    [name, { type: 'object', fields, gvk: [gvk] }],
    [`${name}Spec`, { type: 'object', fields: { size }, required: ['size'] }],
    [`${name}Status`, { type: 'object', fields: { size } }],
    [`${name}List`, listOf(name, gvk)],
  ]);
  const descriptions = new Map([
    [name, 'Something that has a size.'],
    [`${name}.spec`, 'The size that is asked for.'],
    [`${name}.status`, 'The size that there is.'],
    [`${name}Spec`, 'What is asked for.'],
    [`${name}Spec.size`, 'The size. Not negative.'],
    [`${name}Status`, 'What there is.'],
    [`${name}Status.size`, 'The size.'],
  ]);
  return { gvk, types, descriptions, rules: [] };
}

interface Served {
  readonly resource: string;
  readonly isNamespaced: boolean;
}

/** By the paths of the document, where it has them. */
function servedBy(
  document: JsonObject | undefined,
  { group, version, kind }: GroupVersionKind,
): Served | undefined {
  const at = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  for (const [path, item] of Object.entries((document?.paths ?? {}) as JsonObject)) {
    const { post } = item as { post?: { 'x-kubernetes-group-version-kind'?: GroupVersionKind } };
    if (!path.startsWith(`${at}/`) || post?.['x-kubernetes-group-version-kind']?.kind !== kind) continue;
    const parts = path.slice(at.length + 1).split('/');
    if (parts.length === 1) return { resource: parts[0]!, isNamespaced: false };
    if (parts.length === 3 && parts[1] === '{namespace}') return { resource: parts[2]!, isNamespaced: true };
  }
  return undefined;
}

const refusalOf = (hasSpec: boolean): string => (hasSpec ? 'invalid' : 'forbidden');

const kindFile = (
  kind: string,
  resource: string,
  module: string,
  hasSpec: boolean,
): string => `// The kind ${kind}: what its types do not say.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { type FieldError, ${refusalOf(hasSpec)} } from '../../../apimachinery/field-error.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { ${kind} } from '../../generated/types/${module}.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

/** Rules that span fields, or that a type has no word for. */
function validate(o: Decoded<${kind}>): FieldError[] {
${
  hasSpec
    ? `  const size = o.spec?.size ?? 0;
  return size < 0 ? [invalid('spec.size', size, 'must be greater than or equal to 0')] : [];`
    : `  return o.metadata?.name === 'all' ? [forbidden('metadata.name', 'means every ${kind}')] : [];`
}
}

export const ${resource}: KindBehaviour<${kind}> = {
  hasGeneration: true,
  row: (o, now) => [nameCell(o), ageCell(o, now)],
  strategy: { validate },
};
`;

const kindTest = (
  { group, version, kind }: GroupVersionKind,
  resource: string,
  hasSpec: boolean,
): string => `// The kind ${kind} as the server reads it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheme } from '../../scheme.ts';
import { decodeResource } from '../../testing/decode-resource.ts';

const scheme = createScheme();
const declaration = scheme.resource('${group}', '${version}', '${resource}')!;

test('${kind} is served, by kind and by its plural', () => {
  assert.equal(scheme.kind({ group: '${group}', version: '${version}', kind: '${kind}' }), declaration);
  assert.deepEqual(declaration.row({ metadata: { name: 'a' } }, 0).length, declaration.columns.length);
});

test('a field that no ${kind} has is not kept', () => {
  const object = { apiVersion: '${group === '' ? version : `${group}/${version}`}', kind: '${kind}', metadata: { name: 'a' }, unheardOf: true };
  decodeResource(scheme, declaration, object);
  assert.ok(!('unheardOf' in object));
});

test('what breaks a rule is refused by its field', () => {
  const refused = (object: object): string[] =>
    (declaration.strategy.validate?.(object as never) ?? []).map(({ field }) => field);
${
  hasSpec
    ? `  assert.ok(refused({ metadata: { name: 'a' }, spec: { size: -1 } }).includes('spec.size'));
  assert.deepEqual(refused({ metadata: { name: 'a', namespace: 'default' }, spec: { size: 1 } }), []);`
    : `  assert.ok(refused({ metadata: { name: 'all' } }).includes('metadata.name'));
  assert.ok(!refused({ metadata: { name: 'a' } }).includes('metadata.name'));`
}
});
`;

const groupFile = (
  constant: string,
  resource: string,
  kind: string,
  module: string,
  file: string,
): string => `// The kind ${kind}.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { ${kind} } from '../../generated/types/${module}.ts';
import { ${resource} } from './${file}.ts';

export const ${constant}: GroupBehaviours<{ ${resource}: ${kind} }> = { ${resource} };
`;

function joinGroup(tree: Tree, gvk: GroupVersionKind, resource: string, module: string): void {
  const { group, version, kind } = gvk;
  const folder = `src/api/${module.slice(0, module.lastIndexOf('-'))}/${version}`;
  const file = kebab(kind);
  const groups = `${folder}/group.ts`;
  if (tree.has(groups)) {
    tree.addImport(groups, `import type { ${kind} } from '../../generated/types/${module}.ts';`);
    tree.addImport(groups, `import { ${resource} } from './${file}.ts';`);
    tree.edit(groups, (text) =>
      text
        .replace(/GroupBehaviours<\{/, (start) => `${start} ${resource}: ${kind};`)
        .replace(
          /^(export const \w+: GroupBehaviours<\{[^}]*\}> = \{)/m,
          (start) => `${start}\n  ${resource},`,
        ),
    );
    return;
  }
  const constant = camel(`${module.slice(0, module.lastIndexOf('-'))}-${version}`);
  tree.create(groups, groupFile(constant, resource, kind, module, file));
  const registry = 'src/api/registry.ts';
  tree.addImport(registry, `import { ${constant} } from './${folder.slice('src/api/'.length)}/group.ts';`);
  tree.edit(registry, (text) => text.replace(/^\};$/m, `  '${group}/${version}': ${constant},\n};`));
}

function addData(tree: Tree, { gvk, types }: ImportedKind, { resource, isNamespaced }: Served): void {
  const sorted = (all: Record<string, TypeSchema>): Record<string, TypeSchema> =>
    Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
  const numbered = [...types].map(([name, type]) => [name, withNumbers(type)] as const);
  tree.edit(`${schemas}/types.json`, (text) => {
    const known = JSON.parse(text) as Record<string, TypeSchema>;
    return JSON.stringify(sorted({ ...known, ...Object.fromEntries(numbered) }), undefined, 1);
  });
  const main = [...types.values()].find(({ gvk: own }) => own?.some(({ kind }) => kind === gvk.kind));
  const hasStatus = main?.fields?.['status'] !== undefined;
  const responseKind = { group: '', version: '', kind: gvk.kind };
  const row = {
    group: gvk.group,
    version: gvk.version,
    resource,
    responseKind,
    scope: isNamespaced ? 'Namespaced' : 'Cluster',
    singularResource: gvk.kind.toLowerCase(),
    verbs,
    subresources: hasStatus
      ? [{ subresource: 'status', responseKind, verbs: ['get', 'patch', 'update'] }]
      : [],
  };
  tree.edit(`${schemas}/resources.json`, (text) =>
    JSON.stringify([...(JSON.parse(text) as unknown[]), row], undefined, 1),
  );
}

function importedKind(options: KindOptions, known: Record<string, unknown>): ImportedKind {
  if (options.document !== undefined)
    return kindOfDocument(options.document, options, (type) => type in known);
  if (!options.group) throw new Error('say --group, or --openapi with a document that has the kind');
  return minimalKind({ group: options.group, version: options.version ?? 'v1', kind: options.kind });
}

/** Files and constants of a group have its first label only, and where another group has that label they would be mixed. */
function checkFolder(
  tree: Tree,
  known: Readonly<Record<string, TypeSchema>>,
  group: string,
  label: string,
): void {
  const isOfGroup = Object.entries(known).some(
    ([name, { gvk = [] }]) => name.split('.').at(-3) === label && gvk.some((own) => own.group === group),
  );
  if (tree.has(`src/api/${label}`) && !isOfGroup)
    throw new Error(`src/api/${label} is not of ${group}: it takes a group that begins with another label`);
}

/** As tools/gen/api-types.ts names a type within its file. */
const shortName = (type: string): string => type.split('.').slice(-3).join('.');

/** A kind brings more types than its own, and may be one that another brought. */
function checkTypes(known: Readonly<Record<string, TypeSchema>>, { gvk, types }: ImportedKind): void {
  const there = new Set(Object.keys(known).map(shortName));
  const taken = [...types.keys()].map(shortName).find((name) => there.has(name));
  if (taken !== undefined)
    throw new Error(`the kind ${gvk.kind} would have a type ${taken}, and another one is there already`);
}

export function newKind(tree: Tree, options: KindOptions): readonly string[] {
  const known = tree.json<Record<string, TypeSchema>>(`${schemas}/types.json`);
  const imported = importedKind(options, known);
  const { gvk, types } = imported;
  checkName('kind', gvk.kind);
  checkName('version', gvk.version);
  if (gvk.group !== '') checkName('group', gvk.group);
  const isKnown = Object.values(known).some(({ gvk: own = [] }) =>
    own.some(
      ({ group, version, kind }) => group === gvk.group && version === gvk.version && kind === gvk.kind,
    ),
  );
  if (isKnown) throw new Error(`${gvk.kind} of ${gvk.group}/${gvk.version} is there already`);
  const served = servedBy(options.document, gvk) ?? {
    resource: `${gvk.kind.toLowerCase()}s`,
    isNamespaced: !options.isClusterScoped,
  };
  const resource = options.plural ?? served.resource;
  checkName('plural', resource);
  checkConstant('plural', resource);
  checkTypes(known, imported);
  const parts = [...types.keys()][0]!.split('.');
  // As tools/gen/api-types.ts names the file of a type.
  checkFolder(tree, known, gvk.group, parts.at(-3)!);
  const module = `${parts.at(-3)}-${parts.at(-2)}`;
  const folder = `src/api/${parts.at(-3)}/${gvk.version}`;
  addData(tree, imported, { ...served, resource });
  addDescriptions(tree, imported, module);
  const hasSize = options.document === undefined;
  tree.create(`${folder}/${kebab(gvk.kind)}.ts`, kindFile(gvk.kind, resource, module, hasSize));
  tree.create(`${folder}/${kebab(gvk.kind)}.test.ts`, kindTest(gvk, resource, hasSize));
  joinGroup(tree, gvk, resource, module);
  tree.write();
  tree.run('tools/gen/all.ts');
  return [
    ...imported.rules.map((rule) => `a rule of the document that types do not hold, for validate: ${rule}`),
    'what kubectl explain says is in src/api/descriptions',
    'columns of kubectl get and short names go into its row in src/api/schema/resources.json',
    'fields got numbers of protobuf in order: where clients have a .proto of the kind, its own go into src/api/schema/types.json',
  ];
}
