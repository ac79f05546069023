// Kernel settings of a network namespace: our own by their files, another one's by sysctl(8), which is started in it.
import { readFile, writeFile } from 'node:fs/promises';
import { type Processes, runOrThrow } from '../processes.ts';
import type { Sysctl } from '../sysctl.ts';

const keyPattern = /^[a-z0-9_]+(\/[A-Za-z0-9_.-]+)+$/;

function checked(key: string): string {
  if (!keyPattern.test(key) || key.includes('..'))
    throw new Error(`${JSON.stringify(key)} is not a valid sysctl key`);
  return key;
}

/** It prints dots for slashes, and slashes for dots. */
const settingOf = ([, key, value]: readonly string[]): [string, string] => [
  key!.replace(/[./]/g, (sign) => (sign === '.' ? '/' : '.')),
  value!,
];

const fileOf = (key: string): string => `/proc/sys/${checked(key)}`;

/** What the kernel does not have is passed over. */
const ifThere = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

/** As sysctl prints it. */
const readSetting = async (key: string): Promise<string | undefined> =>
  (await ifThere(readFile(fileOf(key), 'utf8')))?.trim();

/** Of the namespace that this process is in: no program has to be started for a few bytes. */
export const ownSysctl: Sysctl = {
  get: async (key) => (await readSetting(key)) || undefined,
  read: async (keys) => {
    const found: Record<string, string> = {};
    for (const key of keys) {
      const value = await readSetting(key);
      if (value !== undefined) found[key] = value;
    }
    return found;
  },
  set: async (values) => {
    for (const [key, value] of Object.entries(values))
      await ifThere(writeFile(fileOf(key), value, { flag: 'r+' }));
  },
};

export function linuxSysctl(processes: Processes): Sysctl {
  return {
    get: async (key) => {
      const result = await processes.run('sysctl', ['-n', '-e', checked(key)]);
      const text = result.stdout.toString().trim();
      return result.code !== 0 || text === '' ? undefined : text;
    },
    read: async (keys) => {
      const text = await runOrThrow(processes, 'sysctl', ['-e', ...keys.map(checked)]);
      return Object.fromEntries([...text.toString().matchAll(/^(\S+) = (.*)$/gm)].map(settingOf));
    },
    set: async (values) => {
      const words = Object.entries(values).map(([key, value]) => `${checked(key)}=${value}`);
      if (words.length > 0) await runOrThrow(processes, 'sysctl', ['-q', '-e', '-w', ...words]);
    },
  };
}
