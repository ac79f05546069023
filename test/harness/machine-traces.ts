// What clusters could leave behind on a machine, to be compared before and after.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { commandLines } from './command-lines.ts';

async function lines(program: string, ...args: string[]): Promise<string[]> {
  const text = await runOrThrow(linuxProcesses, program, args);
  return text.split('\n').filter((line) => line !== '');
}

const clusterProcesses = (): string[] =>
  commandLines()
    .map(({ args }) => args.join(' '))
    .filter((command) => /porthole|containerd|wine|pause/.test(command) && !command.includes('--test'));

/** By their numbers, which no two have: one may lie over another. */
function mounts(): Map<string, string> {
  const rows = readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n');
  return new Map(rows.map((row) => [row.split(' ')[0]!, row.split(' ')[4]!]));
}
/** What others have mounted goes when they like. */
const mountedBefore: ReadonlyMap<string, string> = mounts();

const filesBelow = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String).sort() : [];

/** `cgroupRoots`: of the clusters in question; others of this machine have groups of their own. */
export async function machineTraces(cgroupRoots: readonly string[]): Promise<Record<string, string[]>> {
  return {
    links: (await lines('ip', '-o', 'link')).map((line) => line.split(':')[1]!.trim()),
    routes: await lines('ip', 'route', 'show', 'table', 'all'),
    rules: await lines('ip', 'rule'),
    neighbours: (await lines('ip', 'neighbour')).map((line) => line.split(' ').slice(0, 3).join(' ')),
    forwarding: await lines('sysctl', '-n', 'net.ipv4.ip_forward'),
    namespaces: await lines('ip', 'netns', 'list'),
    tables: await lines('nft', 'list', 'tables'),
    mounts: [...mounts()]
      .filter(([id]) => !mountedBefore.has(id))
      .map(([, path]) => path)
      .sort(),
    processes: clusterProcesses(),
    cgroups: ['memory', 'cpu', 'pids', ''].flatMap((controller) =>
      cgroupRoots.map((name) => join('/sys/fs/cgroup', controller, name)).filter((path) => existsSync(path)),
    ),
    claims: filesBelow('/run/porthole/clusters'),
    sockets: filesBelow('/run/porthole/nodes'),
    attachments: filesBelow('/var/lib/cni/results'),
  };
}
