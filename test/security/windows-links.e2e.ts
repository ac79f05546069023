// Links in drive C:, of an image or made by a pod, move no mount and nothing that root makes for a Windows container.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { writeLayer } from '../../src/images/image-tar.ts';
import { loadImage } from '../../src/images/load-image.ts';
import { writeImageArchive } from '../../src/images/oci-archive.ts';
import { windowsBaseEntries, windowsOsVersion } from '../../src/images/sample-images.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { eventually } from '../harness/eventually.ts';
import {
  type ContainerOptions,
  cacheDir,
  startWindowsRuntime,
  type TestContainer,
  type TestSandbox,
  type WindowsRuntime,
} from '../harness/windows-runtime.ts';

let runtime: WindowsRuntime;
let pod: TestSandbox;
let planter: string;
const reference = (name: string): string => `porthole.local/test/${name}-windows:1`;
const at = (...parts: string[]): string => join(runtime.directory, ...parts);
const volume = (name: string): string => {
  mkdirSync(at('volumes', name), { recursive: true });
  return at('volumes', name);
};

/** As from a registry, which nobody checks for links: drive C: of the image has these. */
async function loadLinks(name: string, links: Readonly<Record<string, string>>): Promise<void> {
  const layer = at(`${name}.tar`);
  const entries = Object.entries(links).map(
    ([link, target]) => ({ kind: 'symlink', path: `Files/${link}`, target }) as const,
  );
  await writeLayer(layer, [...windowsBaseEntries, ...entries]);
  const file = at(`${name}-image.tar`);
  const osVersion = windowsOsVersion(20348);
  const image = { os: 'windows', architecture: 'amd64', osVersion, config: {}, layers: [layer] } as const;
  await writeImageArchive(file, reference(name), [image]);
  await loadImage({
    processes: linuxProcesses,
    address: runtime.address,
    checked: true,
    file,
    platform: 'windows/amd64',
  });
}

before(async () => {
  runtime = await startWindowsRuntime(20348);
  planter = await buildNative(linuxProcesses, cacheDir, {
    name: 'planter',
    target: 'windows',
    source: fileURLToPath(new URL('./programs/planter.c', import.meta.url)),
  });
  await loadLinks('links', { v: '/.porthole', dev: '/usr/lib', work: '/tmp' });
  await loadLinks('system-link', { windows: '/usr' });
  pod = await runtime.sandbox('links', 'links', { 'porthole.dev/run-as-username': 'mallory' });
});
after(async () => {
  await pod?.remove();
  await runtime?.close();
});

let count = 0;
const container = (options: Partial<ContainerOptions>): Promise<TestContainer> =>
  pod.container(`c${count++}`, { image: reference('links'), command: ['cmd', '/c', 'cd'], ...options });
const program = (): { hostPath: string; containerPath: string; readonly: boolean } => ({
  hostPath: planter,
  containerPath: 'C:\\programs\\planter.exe',
  readonly: true,
});

async function refused(options: Partial<ContainerOptions>, reason: string): Promise<void> {
  const attempt = await container(options);
  await assert.rejects(attempt.start(), (error: Error) => {
    assert.ok(error.message.includes(`${reason} is a link, and links are not followed`), error.message);
    return true;
  });
  await attempt.remove();
}

const mounted = (containerPath: string) => (): Partial<ContainerOptions> => ({
  mounts: [{ hostPath: volume('own'), containerPath }],
});
const attacks: readonly (readonly [string, () => Partial<ContainerOptions>, string])[] = [
  ['a volume on a link', mounted('C:\\v'), "C:\\v can't be used: C:\\v"],
  ['a volume behind a link', mounted('C:\\V\\deep'), "C:\\v\\deep can't be used: C:\\v"],
  [
    'last words behind a link',
    () => {
      writeFileSync(join(volume('words'), 'log'), '');
      return { mounts: [{ hostPath: at('volumes/words/log'), containerPath: '/dev/termination-log' }] };
    },
    "C:\\dev\\termination-log can't be used: C:\\dev",
  ],
  [
    'a working folder behind a link',
    () => ({ workingDir: 'C:\\work\\new' }),
    "C:\\work\\new can't be used: C:\\work",
  ],
  ["Wine's folder as a link", () => ({ image: reference('system-link') }), ' C:\\windows'],
];
for (const [what, options, reason] of attacks) {
  test(`${what} of the image ends the start, with the reason`, () => refused(options(), reason));
}

test('a link that one container makes in a volume moves no mount of the next', async () => {
  const [first, second] = [volume('first'), volume('second')];
  const plant = await container({
    command: ['C:\\programs\\planter.exe', 'link', '/.porthole', '/wp/drive_c/d/p'],
    mounts: [program(), { hostPath: first, containerPath: 'C:\\d' }],
  });
  await plant.start();
  assert.equal((await plant.ended()).code, 0, plant.log());
  assert.deepEqual(readdirSync(first), ['p']);
  const mounts = [
    { hostPath: first, containerPath: 'C:\\d' },
    { hostPath: second, containerPath: 'C:\\d\\p' },
  ];
  await refused({ mounts }, "C:\\d\\p can't be used: C:\\d\\p");
});

test("what is missing on the way to a volume and to the working folder is made, and is the pod's; no user of its annotations counts", async () => {
  const mounts = [
    { hostPath: volume('outer'), containerPath: 'C:\\outer' },
    { hostPath: volume('inner'), containerPath: 'C:\\outer\\a\\inner' },
  ];
  const script =
    'cd & echo x> here.txt & echo y> C:\\outer\\a\\beside.txt & echo z> C:\\outer\\a\\inner\\in.txt';
  const own = await container({
    mounts,
    workingDir: 'C:\\new\\folder',
    command: ['cmd', '/c', `${script} & type here.txt & set USERNAME`],
  });
  await own.start();
  assert.equal((await own.ended()).code, 0, own.log());
  assert.match(own.log(), /C:\\new\\folder\s+x\s+USERNAME=ContainerAdministrator/);
  assert.ok(existsSync(at('volumes/outer/a/beside.txt')));
  assert.deepEqual(readdirSync(at('volumes/inner')), ['in.txt']);
});

test('a container whose program stops all others is killed when its grace is over', async () => {
  const stopper = await container({
    command: ['C:\\programs\\planter.exe', 'stop-all', '/wp/drive_c/d/stopped'],
    mounts: [program(), { hostPath: volume('stopped'), containerPath: 'C:\\d' }],
  });
  await stopper.start();
  await eventually(() => assert.ok(existsSync(at('volumes/stopped/stopped'))));
  const started = performance.now();
  await stopper.stop(2);
  assert.ok(performance.now() - started < 30_000, `${performance.now() - started} ms`);
  assert.equal((await stopper.ended()).code, 137);
});
