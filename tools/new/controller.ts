// npm run new -- controller <name>: a controller with its declaration, its pure part, their tests, and its line in the list.
import { checkName } from './names.ts';
import { camel, kebab, type Tree } from './tree.ts';

export interface ControllerOptions {
  readonly name: string;
  /** The plural of the kind that it is for. */
  readonly for: string;
}

const purePart = (what: string, key: string): string => `// What ${what} does to one object. Pure.
import type { ObjectMeta } from '../../api/generated/types/meta-v1.ts';

/** Asks for the work, and says that it was done for which generation. */
export const ${key}Annotation = 'porthole.dev/${kebab(key)}';

const wanted = 'wanted';

/** The merge patch that is due; undefined when nothing is. */
export function ${key}Patch({ annotations, deletionTimestamp }: Pick<ObjectMeta, 'annotations' | 'deletionTimestamp'>): object | undefined {
  if (deletionTimestamp !== undefined || annotations?.[${key}Annotation] !== wanted) return undefined;
  return { metadata: { annotations: { [${key}Annotation]: 'done' } } };
}
`;

const pureTest = (
  what: string,
  key: string,
  file: string,
): string => `// When ${what} has something to do, and what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ${key}Annotation, ${key}Patch } from './${file}-patch.ts';

test('what was asked for is done once', () => {
  const annotations = { [${key}Annotation]: 'wanted' };
  const patch = ${key}Patch({ annotations });
  assert.deepEqual(patch, { metadata: { annotations: { [${key}Annotation]: 'done' } } });
  assert.equal(${key}Patch({ annotations: { [${key}Annotation]: 'done' } }), undefined);
});

test('nothing is done to what nobody asked for, or what is on its way out', () => {
  assert.equal(${key}Patch({}), undefined);
  const annotations = { [${key}Annotation]: 'wanted' };
  assert.equal(${key}Patch({ annotations, deletionTimestamp: '2026-01-01T00:00:00Z' }), undefined);
});
`;

const controller = (
  name: string,
  key: string,
  plural: string,
): string => `// Does what an annotation of ${plural} asks for, and says there that it is done.
import { ${plural} } from '../api/generated/resources.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';
import { ${key}Patch } from './${name}/${name}-patch.ts';

export const ${key}Controller: Controller = defineController({
  name: '${name}-controller',
  serviceAccount: '${name}-controller',
  for: ${plural},
  access: [may('patch', ${plural})],
  async reconcile(key, context) {
    const object = context.read(${plural}).get(key.name, key.namespace);
    const body = object === undefined ? undefined : ${key}Patch(object.metadata);
    if (body !== undefined) await context.write.patch(${plural}, key, { type: 'merge', body });
    return undefined;
  },
});
`;

const story = (
  name: string,
  key: string,
  plural: string,
): string => `// ${name}-controller through the real API server, under its own role.
import { test } from 'node:test';
import { ${plural} } from '../../src/api/generated/resources.ts';
import { ${key}Annotation } from '../../src/controllers/${name}/${name}-patch.ts';
import { startCluster } from './controllers-cluster.ts';

test('what an annotation asks for is done, and said there', async (t) => {
  const { client, until } = await startCluster(t);
  const metadata = { name: 'a', namespace: 'default', annotations: { [${key}Annotation]: 'wanted' } };
  await client.create(${plural}, { metadata } as never);
  await until(
    ${plural},
    (l) => l.get('a', 'default')?.metadata.annotations?.[${key}Annotation] === 'done',
    'the annotation says so',
  );
});
`;

export function newController(
  tree: Tree,
  { name: given, for: plural }: ControllerOptions,
): readonly string[] {
  checkName('name', given);
  const name = kebab(given).replace(/-controller$/, '');
  const key = camel(name);
  if (!tree.read('src/api/generated/resources.ts').includes(`export const ${plural}:`))
    throw new Error(`there is no resource ${plural}; --for takes the plural of a kind that is served`);
  tree.create(`src/controllers/${name}-controller.ts`, controller(name, key, plural));
  tree.create(`src/controllers/${name}/${name}-patch.ts`, purePart(`${name}-controller`, key));
  tree.create(`src/controllers/${name}/${name}-patch.test.ts`, pureTest(`${name}-controller`, key, name));
  tree.create(`test/integration/controllers-${name}.test.ts`, story(name, key, plural));
  const registry = 'src/controllers/registry.ts';
  tree.addImport(registry, `import { ${key}Controller } from './${name}-controller.ts';`);
  tree.edit(registry, (text) =>
    text.replace(/^( {4})ttlAfterFinishedController,$/m, (line) => `${line}\n    ${key}Controller,`),
  );
  return [
    `say in src/controllers/${name}/${name}-patch.ts what is to be done; what it asks the server for goes into access`,
    `its role is system:controller:${name}-controller; test/repo/controller-access.test.ts compares it with its calls`,
  ];
}
