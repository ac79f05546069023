// Mounts by mount(8), umount(8) and /proc/self/mountinfo.
import { lstat, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { MountEntry, Mounts } from '../mounts.ts';
import { CommandError, type Processes, runOrThrow } from '../processes.ts';
import { createTmpfsBatches } from './tmpfs-batches.ts';

const unescapeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

interface LinuxMount extends MountEntry {
  readonly id: number;
  /** The mount that it lies on. */
  readonly parent: number;
  /** What is mounted or unmounted in it is so elsewhere, too. */
  readonly shared: boolean;
}

/** One line: `36 35 98:0 /mnt1 /mnt2 rw,noatime shared:1 - ext3 /dev/root rw`. */
export function parseMountInfo(text: string): LinuxMount[] {
  const entries: LinuxMount[] = [];
  for (const line of text.split('\n')) {
    const [before, after] = line.split(' - ');
    const left = before?.split(' ') ?? [];
    const right = after?.split(' ') ?? [];
    if (left.length < 6 || right.length < 2) continue;
    entries.push({
      id: Number(left[0]),
      parent: Number(left[1]),
      target: unescapeOctal(left[4]!),
      options: left[5]!.split(','),
      shared: left.slice(6).some((field) => field.startsWith('shared:')),
      type: right[0]!,
      source: unescapeOctal(right[1]!),
    });
  }
  return entries;
}

/** As one program's arguments: each start of a program holds a large process for as long as its fork takes. */
const detachedAtOnce = 100;

/** Those that lie in none of the others, but have others in them: with each go all that lie in it. */
function outermostHolders(mounts: readonly LinuxMount[]): LinuxMount[] {
  const ids = new Set(mounts.map(({ id }) => id));
  const holders = new Set(mounts.map(({ parent }) => parent));
  return mounts.filter(({ id, parent }) => !ids.has(parent) && holders.has(id));
}

const hasOwnFileSystem = async (folder: string): Promise<boolean> =>
  (await lstat(folder)).dev !== (await lstat(dirname(folder))).dev;

/** `readTable`: of all mounts, as /proc/self/mountinfo. */
export function createLinuxMounts(
  processes: Processes,
  readTable: () => Promise<string> = () => readFile('/proc/self/mountinfo', 'utf8'),
): Mounts {
  const mountTmpfs = createTmpfsBatches(processes, hasOwnFileSystem);
  const list = async (): Promise<LinuxMount[]> => parseMountInfo(await readTable());
  const listBelow = async (folder: string): Promise<LinuxMount[]> =>
    (await list()).filter(({ target }) => target === folder || target.startsWith(`${folder}/`));
  /** A pod may have bound mounts of the machine in its own: the unmount of what lies in them must not reach those. */
  const keepApart = async (target: string): Promise<void> =>
    void (await runOrThrow(processes, 'mount', ['--make-rprivate', '--', target]));
  const detach = async (target: string): Promise<void> =>
    void (await runOrThrow(processes, 'umount', ['--lazy', '--', target]));
  /** Answers with the last failure: one that went with another is no fault. */
  async function detachAll(targets: readonly string[]): Promise<CommandError | undefined> {
    let failure: CommandError | undefined;
    for (let i = 0; i < targets.length; i += detachedAtOnce) {
      const args = ['--lazy', '--', ...targets.slice(i, i + detachedAtOnce)];
      const result = await processes.run('umount', args);
      if (result.code !== 0) failure = new CommandError('umount', args, result);
    }
    return failure;
  }
  return {
    list,
    isMountPoint: async (target) => (await list()).some((m) => m.target === target),
    hasOwnFileSystem,
    tmpfs: async (target, options = {}) => {
      const flags = [
        'nosuid',
        'nodev',
        `mode=${(options.mode ?? 0o755).toString(8)}`,
        ...(options.sizeBytes === undefined ? [] : [`size=${Math.ceil(options.sizeBytes)}`]),
      ];
      await mountTmpfs(target, flags.join(','));
    },
    bind: async (source, target, options = {}) => {
      await runOrThrow(processes, 'mount', ['--bind', '--', source, target]);
      if (options.readOnly) {
        await runOrThrow(processes, 'mount', ['-o', 'remount,bind,ro', '--', target]);
      }
    },
    unmount: async (target) => {
      const mount = (await list()).findLast((m) => m.target === target);
      if (!mount) return;
      if (mount.shared) await keepApart(target);
      await detach(target);
    },
    unmountAllBelow: async (folder) => {
      let left = await listBelow(folder);
      if (left.some(({ shared }) => shared))
        for (const { target } of outermostHolders(left)) await keepApart(target);
      while (left.length > 0) {
        const failure = await detachAll(left.reverse().map(({ target }) => target));
        const now = await listBelow(folder);
        if (failure !== undefined && now.length >= left.length) throw failure;
        left = now;
      }
    },
  };
}
