// Mounts by mount(8), umount(8) and /proc/self/mountinfo.
import { readFile } from 'node:fs/promises';
import type { MountEntry, Mounts } from '../mounts.ts';
import { type Processes, runOrThrow } from '../processes.ts';

const unescapeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** One line: `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`. */
export function parseMountInfo(text: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of text.split('\n')) {
    const [before, after] = line.split(' - ');
    const left = before?.split(' ') ?? [];
    const right = after?.split(' ') ?? [];
    if (left.length < 6 || right.length < 2) continue;
    entries.push({
      target: unescapeOctal(left[4]!),
      options: left[5]!.split(','),
      type: right[0]!,
      source: unescapeOctal(right[1]!),
    });
  }
  return entries;
}

export function createLinuxMounts(processes: Processes): Mounts {
  const list = async (): Promise<MountEntry[]> =>
    parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const unmount = async (target: string): Promise<void> => {
    if (!(await list()).some((m) => m.target === target)) return;
    await runOrThrow(processes, 'umount', ['--lazy', '--', target]);
  };
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
    unmount,
    unmountAllBelow: async (folder) => {
      const below = (await list())
        .map((m) => m.target)
        .filter((t) => t === folder || t.startsWith(`${folder}/`));
      for (const target of below.reverse()) await unmount(target);
    },
  };
}
