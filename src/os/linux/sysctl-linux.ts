// Kernel settings by sysctl(8), which reads and writes those of the namespace it runs in.
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
