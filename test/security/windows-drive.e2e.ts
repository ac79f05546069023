// Drive C: of an emulated Windows node is shared by its pods: what one plants in it leads another nowhere.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { createWindowsNodeOs } from '../../src/kubelet/node-os/windows.ts';
import { hostLocation } from '../../src/kubelet/volumes/host-location.ts';
import { mountSubPath } from '../../src/kubelet/volumes/sub-path.ts';
import type { VolumeLocation } from '../../src/kubelet/volumes/volume-plugin.ts';
import { beneathProgram, createLinuxBeneath } from '../../src/os/linux/beneath-linux.ts';
import { linuxFiles } from '../../src/os/linux/files-linux.ts';
import { createLinuxMounts } from '../../src/os/linux/mounts-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const native = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const scratch = scratchDirectory('drive');
const hostDrive = join(scratch.path, 'c');
const pin = join(scratch.path, 'pin');
const nodeOs = createWindowsNodeOs({
  build: 20348,
  osImage: 'Windows',
  kernelVersion: '10',
  emulated: true,
  hostDrive,
});
const build = (name: string, source: string): Promise<string> =>
  buildNative(linuxProcesses, portholeCache(), { name, target: 'linux', source });
let beneath: ReturnType<typeof createLinuxBeneath>;
let swapping: ChildProcess | undefined;

before(async () => {
  const program = await buildNative(linuxProcesses, portholeCache(), beneathProgram(native('../../native')));
  beneath = createLinuxBeneath(linuxProcesses, program);
  mkdirSync(join(hostDrive, 'shared/data'), { recursive: true });
  writeFileSync(join(hostDrive, 'shared/data/mine'), '');
  writeFileSync(join(scratch.path, 'ca.key'), 'secret');
  const links = { root: '/', up: '../..', key: '../../ca.key', near: 'data', gone: '/tmp/made-by-an-attack' };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(hostDrive, 'shared', name));
  await runOrThrow(linuxProcesses, 'mkfifo', [join(hostDrive, 'shared/pipe')]);
});
after(async () => {
  swapping?.kill('SIGKILL');
  await createLinuxMounts(linuxProcesses).unmountAllBelow(scratch.path);
  scratch.remove();
});

const locate = (path: string, type = ''): Promise<VolumeLocation> =>
  hostLocation({ files: linuxFiles, beneath, nodeOs }, path, { type, mode: 0o755 });

describe('a host path of an emulated Windows node', () => {
  const attacks: readonly (readonly [path: string, type: string, answer: RegExp])[] = [
    ['C:\\shared\\root', '', /can't be mounted: open: Symbolic link loop|Too many/],
    ['C:\\shared\\root\\etc', 'Directory', /can't be mounted/],
    ['C:\\shared\\up\\..\\root', '', /can't be mounted/],
    ['C:\\shared\\key', 'File', /can't be mounted/],
    ['C:\\shared\\near', 'Directory', /can't be mounted/],
    ['C:\\shared\\gone', 'DirectoryOrCreate', /can't be mounted/],
    ['C:\\shared\\gone', 'FileOrCreate', /can't be mounted/],
    ['C:\\shared\\root\\tmp\\made-by-an-attack', 'DirectoryOrCreate', /can't be mounted/],
    ['C:\\shared\\pipe', 'File', /^Error: hostPath type check failed: C:\\shared\\pipe is not a file$/],
    ['C:\\shared\\data', 'File', /is not a file$/],
    ['C:\\shared\\none', 'Directory', /is not a directory$/],
    ['C:\\shared\\none', 'Odd', /has unknown type Odd$/],
    ['\\\\?\\unix\\etc', '', /network shares/],
    ['Z:\\etc', '', /no drive Z:/],
  ];
  for (const [path, type, answer] of attacks) {
    test(`${path}${type === '' ? '' : ` as ${type}`} leads nowhere`, async () => {
      await assert.rejects(locate(path, type), (error) => answer.test(String(error)));
      assert.equal(existsSync('/tmp/made-by-an-attack'), false);
    });
  }

  test('is made and found below the drive, in lower case, and mounted as it was found', async () => {
    const made = await locate('C:\\New\\Folder', 'DirectoryOrCreate');
    assert.deepEqual([made.base, made.path, made.kind], [hostDrive, 'new/folder', 'directory']);
    assert.equal((await locate('C:\\New\\file', 'FileOrCreate')).kind, 'file');
    await beneath.mount(await locate('/shared/data'), pin, { below: true });
    assert.deepEqual(readdirSync(pin), ['mine']);
    await beneath.release(pin);
  });

  test('never leaves the drive while one of its folders is exchanged with a link', async () => {
    const program = await build('swap', native('./programs/swap.c'));
    swapping = spawn(program, [join(hostDrive, 'shared'), 'data', 'root'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(swapping.stdout!, 'data');
    const seen = new Map<string, number>();
    for (let round = 0; round < 150; round++) {
      const volume = { base: hostDrive, path: 'shared/data', kind: 'directory', linkFree: true } as const;
      const subPath = round % 3 === 0 ? '' : round % 3 === 1 ? 'etc' : 'new/er';
      const walk =
        subPath === ''
          ? beneath.mount(volume, pin, { kind: 'directory', below: true })
          : mountSubPath(
              { files: linuxFiles, beneath },
              { volume, subPath, target: pin, linksInside: false },
            );
      const found = await walk.then(
        () => readdirSync(pin).sort().join(),
        () => 'refused',
      );
      seen.set(found, (seen.get(found) ?? 0) + 1);
      await beneath.release(pin);
    }
    const own = new Set(['refused', '', 'mine', 'etc,mine', 'mine,new', 'etc,mine,new']);
    assert.deepEqual(
      [...seen.keys()].filter((found) => !own.has(found)),
      [],
    );
    assert.ok((seen.get('refused') ?? 0) < 150, 'some walks arrive');
    assert.equal(readFileSync(join(scratch.path, 'ca.key'), 'utf8'), 'secret');
    assert.equal(existsSync('/new'), false);
  });
});
