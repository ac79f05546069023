// npm run new -- plugin scheduler|admission <name>: a plugin with its test and its line in the list.
import { checkConstant, checkName } from './names.ts';
import { camel, kebab, pascal, type Tree } from './tree.ts';

export interface PluginOptions {
  readonly name: string;
  readonly of: 'scheduler' | 'admission';
}

const schedulerPlugin = (
  name: string,
): string => `// ${pascal(name)}: a pod that names a zone by annotation passes on nodes of that zone only.
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/status.ts';

const annotation = 'porthole.dev/${name}';
const zoneLabel = 'topology.kubernetes.io/zone';

export const ${camel(name)}: Plugin = {
  name: '${pascal(name)}',
  requeueOn: ['NodeAdd', 'NodeUpdateNodeLabel'],
  filter: (_state, pod, { node }) => {
    const wanted = pod.metadata.annotations?.[annotation];
    return wanted === undefined || wanted === node.metadata.labels?.[zoneLabel]
      ? undefined
      : unresolvable("node(s) weren't in the zone that the pod names");
  },
};
`;

const schedulerTest = (name: string): string => `// Which nodes ${pascal(name)} lets a pod on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CycleState } from '../framework/cycle-state.ts';
import { NodeInfo } from '../framework/node-info.ts';
import { makeNode, makePod } from '../testing/builders.ts';
import { ${camel(name)} } from './${name}.ts';

const node = new NodeInfo(makeNode('n', { labels: { 'topology.kubernetes.io/zone': 'a' } }));
const filtered = (zone?: string) => {
  const pod = makePod('p');
  if (zone !== undefined) pod.metadata.annotations = { 'porthole.dev/${name}': zone };
  return ${camel(name)}.filter?.(new CycleState(false), pod, node);
};

test('a pod that names no zone passes, and one that names the node\\'s', () => {
  assert.equal(filtered(), undefined);
  assert.equal(filtered('a'), undefined);
});

test('a pod of another zone does not', () => {
  assert.match(filtered('b')?.reasons.join() ?? '', /weren't in the zone/);
});
`;

const factoryOf = (name: string): string => `create${pascal(name)}`;

const admissionPlugin = (
  name: string,
): string => `// ${pascal(name)}: refuses namespaces whose annotation says that they are to be made by others.
import { namespaces } from '../../api/generated/resources.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { requested } from './request/typed-request.ts';

const annotation = 'porthole.dev/${name}';

export function ${factoryOf(name)}(): AdmissionPlugin {
  return {
    name: '${pascal(name)}',
    operations: ['CREATE'],
    validate(request) {
      const by = requested(request, namespaces)?.metadata?.annotations?.[annotation];
      if (by === undefined || by === request.user.name) return;
      throw forbidden(request.declaration, request.name, \`it is \${JSON.stringify(by)} who makes it\`);
    },
  };
}
`;

const admissionTest = (name: string): string => `// What ${pascal(name)} refuses, through the whole server.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const { ask, close } = await startTestControlPlane();
after(close);
const create = (name: string, by?: string): ReturnType<typeof ask> =>
  ask('POST', '/api/v1/namespaces', {
    metadata: { name, ...(by === undefined ? {} : { annotations: { 'porthole.dev/${name}': by } }) },
  });

test('${pascal(name)} lets through what it is not for', async () => {
  assert.equal((await create('a')).status, 201);
  assert.equal((await create('b', 'kubernetes-admin')).status, 201);
});

test('${pascal(name)} refuses with its reason', async () => {
  const answer = await create('c', 'jane');
  assert.equal(answer.status, 403);
  assert.equal(answer.message, 'namespaces "c" is forbidden: it is "jane" who makes it');
});
`;

export function newPlugin(tree: Tree, { name: given, of }: PluginOptions): readonly string[] {
  checkName('name', given);
  const name = kebab(given);
  if (of === 'scheduler') {
    checkConstant('name', camel(name));
    const registry = 'src/scheduler/plugins/registry.ts';
    tree.create(`src/scheduler/plugins/${name}.ts`, schedulerPlugin(name));
    tree.create(`src/scheduler/plugins/${name}.test.ts`, schedulerTest(name));
    tree.addImport(registry, `import { ${camel(name)} } from './${name}.ts';`);
    tree.edit(registry, (text) =>
      text.replace(
        /^ *\{ plugin: nodePorts,.*$/m,
        (line) => `    { plugin: ${camel(name)}, weight: 0 },\n${line}`,
      ),
    );
    return [
      'requeueOn names the events that may change its mind; without them a refused pod waits for five minutes',
    ];
  }
  const registry = 'src/plugins/admission/registry.ts';
  tree.create(`src/plugins/admission/${name}.ts`, admissionPlugin(name));
  tree.create(`test/integration/admission-${name}.test.ts`, admissionTest(name));
  tree.addImport(registry, `import { ${factoryOf(name)} } from './${name}.ts';`);
  tree.edit(registry, (text) =>
    text.replace(
      /^ *on\('ResourceQuota',.*$/m,
      (line) => `  on('${pascal(name)}', () => ${factoryOf(name)}()),\n${line}`,
    ),
  );
  return [
    'admit changes the object, validate refuses it and runs after all that change; a plugin writes nothing',
  ];
}
