// Network namespaces by `ip netns`, and running programs inside one by nsenter.
import type { NetworkNamespaces } from '../netns.ts';
import { CommandError, type Processes, runOrThrow } from '../processes.ts';

const folder = '/run/netns';
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$/;

function checked(name: string): string {
  if (!namePattern.test(name)) throw new Error(`${JSON.stringify(name)} is not a valid namespace name`);
  return name;
}

async function list(processes: Processes): Promise<readonly string[]> {
  const text = await runOrThrow(processes, 'ip', ['-j', 'netns', 'list']);
  if (text.trim() === '') return [];
  return (JSON.parse(text) as { name?: string }[]).flatMap((entry) => entry.name ?? []);
}

async function create(processes: Processes, names: readonly string[]): Promise<void> {
  const there = new Set(await list(processes));
  const missing = names.filter((name) => !there.has(checked(name)));
  if (missing.length === 0) return;
  const input = missing.map((name) => `netns add ${name}\n`).join('');
  const result = await processes.run('ip', ['-batch', '-'], { input });
  if (result.code !== 0) throw new CommandError('ip', ['netns', 'add', ...missing], result);
}

async function remove(processes: Processes, names: readonly string[]): Promise<void> {
  const there = new Set(await list(processes));
  const doomed = names.filter((name) => there.has(checked(name)));
  const left = doomed.length === 0 ? there : await removeNames(processes, doomed);
  // ip binds the folder to itself with the first name, and leaves that. With no name in it, nobody needs it. Who removed the last
  // name may have been killed before this.
  if (left.size === 0) await processes.run('umount', [folder]);
}

/** What is left. */
async function removeNames(processes: Processes, doomed: readonly string[]): Promise<ReadonlySet<string>> {
  const input = doomed.map((name) => `netns delete ${name}\n`).join('');
  const result = await processes.run('ip', ['-force', '-batch', '-'], { input });
  const left = new Set(await list(processes));
  if (doomed.some((name) => left.has(name)))
    throw new CommandError('ip', ['netns', 'delete', ...doomed], result);
  return left;
}

export function linuxNetworkNamespaces(processes: Processes): NetworkNamespaces {
  return {
    list: () => list(processes),
    create: (names) => create(processes, names),
    delete: (names) => remove(processes, names),
    path: (name) => `${folder}/${checked(name)}`,
  };
}

/** The same programs, inside the network namespace at `path`; everything else of the machine stays as it is. */
export function processesInNetns(processes: Processes, path: string): Processes {
  const prefix = [`--net=${path}`, '--'];
  return {
    run: (command, args, options) => processes.run('nsenter', [...prefix, command, ...args], options),
    spawn: (command, args, options) => processes.spawn('nsenter', [...prefix, command, ...args], options),
  };
}
