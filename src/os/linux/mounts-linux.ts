// Mounts by mount(8), umount(8) and /proc/self/mountinfo.
import { readFile } from 'node:fs/promises';
import type { MountEntry, Mounts } from '../mounts.ts';
import { type Processes, runOrThrow } from '../processes.ts';

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

export function createLinuxMounts(processes: Processes): Mounts {
  const list = async (): Promise<LinuxMount[]> =>
    parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
  /** A pod may have bound mounts of the machine in its own: the unmount of what lies in them must not reach those. */
  const keepApart = async (target: string): Promise<void> =>
    void (await runOrThrow(processes, 'mount', ['--make-rprivate', '--', target]));
  const detach = async (target: string): Promise<void> =>
    void (await runOrThrow(processes, 'umount', ['--lazy', '--', target]));
  return {
    list,
    isMountPoint: async (target) => (await list()).some((m) => m.target === target),
    tmpfs: async (target, options = {}) => {
      const flags = [
        'nosuid',
        'nodev',
        `mode=${(options.mode ?? 0o755).toString(8)}`,
        ...(options.sizeBytes === undefined ? [] : [`size=${Math.ceil(options.sizeBytes)}`]),
      ];
      await runOrThrow(processes, 'mount', ['-t', 'tmpfs', '-o', flags.join(','), 'tmpfs', target]);
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
      const below = (await list()).filter(
        ({ target }) => target === folder || target.startsWith(`${folder}/`),
      );
      if (below.some(({ shared }) => shared)) {
        // With each outermost one go all that lie in it.
        const ids = new Set(below.map(({ id }) => id));
        for (const { parent, target } of below) if (!ids.has(parent)) await keepApart(target);
      }
      for (const { target } of below.reverse())
        if ((await list()).some((m) => m.target === target)) await detach(target);
    },
  };
}
