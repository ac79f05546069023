// Whose sandboxes are looked at, and which of them are ended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import type { Files } from '../../os/files.ts';
import type { ContainerdDeps } from './containerd-process.ts';
import { endUnknown, sandboxesThere } from './leftovers.ts';

const places = { state: '/n/state', address: '/n/c.sock' };
const bundles = '/n/state/io.containerd.runtime.v2.task/k8s.io';
const config = (annotations: object): string => JSON.stringify({ annotations });
const ofCri = (sandbox: string): string => config({ 'io.kubernetes.cri.sandbox-id': sandbox });
const shim = (id: string, { address = places.address, namespace = 'k8s.io' } = {}): string[] => [
  '/usr/bin/containerd-shim-runc-v2',
  '-namespace',
  namespace,
  '-id',
  id,
  '-address',
  address,
];

function machine() {
  const processes = new Map<number, { args: string[]; parent: number; started: number }>([
    [10, { args: shim('lost'), parent: 1, started: 100 }],
    [11, { args: ['/pause'], parent: 10, started: 101 }],
    [20, { args: shim('known'), parent: 1, started: 102 }],
    [30, { args: shim('lost', { address: '/other/c.sock' }), parent: 1, started: 103 }],
    [40, { args: shim('lost', { namespace: 'moby' }), parent: 1, started: 104 }],
    [50, { args: shim('by-ctr'), parent: 1, started: 105 }],
    [60, { args: ['ctr', '-id', 'lost', '-address', places.address], parent: 1, started: 106 }],
    [70, { args: shim('bundle-gone'), parent: 1, started: 107 }],
  ]);
  const contents = new Map([
    [`${bundles}/lost/config.json`, ofCri('lost')],
    [`${bundles}/a-container/config.json`, ofCri('lost')],
    [`${bundles}/lost/address`, 'unix:///run/containerd/s/abc123'],
    [`${bundles}/a-container/runtime`, '/n/windows/front\n'],
    [`${bundles}/known/config.json`, ofCri('known')],
    [`${bundles}/by-ctr/config.json`, config({})],
  ]);
  const did: string[] = [];
  const textOf = (path: string): string | undefined => {
    const [, pid, file] = /^\/proc\/(\d+)\/(\w+)$/.exec(path) ?? [];
    if (pid === undefined) return contents.get(path);
    const found = processes.get(Number(pid));
    if (!found) return undefined;
    if (file === 'cmdline') return found.args.map((arg) => `${arg}\0`).join('');
    return `${pid} (x) S ${found.parent} ${Array(17).fill('0').join(' ')} ${found.started} 0\n`;
  };
  const files = {
    list: async (path: string) =>
      path === '/proc' ? [...processes.keys()].map(String) : ['a-container', 'by-ctr', 'known', 'lost'],
    readIfThere: async (path: string) => {
      const text = textOf(path);
      return text === undefined ? undefined : Buffer.from(text);
    },
    read: async (path: string) => Buffer.from(textOf(path) ?? ''),
    readHead: async (path: string) => Buffer.from(textOf(path) ?? ''),
    readLink: async () => 'everybody’s',
    stat: async () => ({ uid: 0 }),
    remove: async (path: string) => void did.push(`remove ${path}`),
  } as unknown as Files;
  const host = {
    files,
    mounts: { unmountAllBelow: async () => undefined },
    processes: {
      run: async (command: string, args: readonly string[]) => {
        did.push([command, ...args].join(' '));
        if (command === 'kill') for (const pid of args.slice(2)) processes.delete(Number(pid));
        return { code: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
      },
    },
  };
  const deps = { host, clock: new FakeClock(), log: silentLogger } as unknown as ContainerdDeps;
  return { deps, processes, did };
}

test('only what CRI made by this very socket is looked at: no other cluster, no other namespace, no `ctr run`', async () => {
  const there = await sandboxesThere(machine().deps, places);
  assert.deepEqual(Object.fromEntries(there), {
    lost: {
      shims: [{ pid: 10, startTime: '100' }],
      bundles: [
        { id: 'a-container', runtime: '/n/windows/front', socket: undefined },
        { id: 'lost', runtime: 'runc', socket: '/run/containerd/s/abc123' },
      ],
    },
    known: {
      shims: [{ pid: 20, startTime: '102' }],
      bundles: [{ id: 'known', runtime: 'runc', socket: undefined }],
    },
    'bundle-gone': { shims: [{ pid: 70, startTime: '107' }], bundles: [] },
  });
});

test('what containerd does not know is ended with all that it runs, containers before their sandbox', async () => {
  const { deps, processes, did } = machine();
  const there = await sandboxesThere(deps, places);
  processes.set(70, { args: ['somebody-else'], parent: 1, started: 999 });
  assert.deepEqual(await endUnknown(deps, places, there, new Set(['known'])), ['lost', 'bundle-gone']);
  assert.deepEqual([...processes.keys()], [20, 30, 40, 50, 60, 70]);
  assert.ok(did.includes('remove /run/containerd/s/abc123'), "its shim's socket");
  const root = '/n/state/runc/k8s.io';
  assert.deepEqual(
    did.filter((one) => one.includes(' delete ')),
    [`/n/windows/front --root ${root} delete --force a-container`, `runc --root ${root} delete --force lost`],
    'by the runtime of each',
  );
  assert.deepEqual(
    did.filter((one) => one.startsWith(`remove ${bundles}`)),
    ['a-container', 'lost'].map((id) => `remove ${bundles}/${id}`),
  );
});
