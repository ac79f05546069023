// Debian packages that the real runtime needs: what is missing, and installing it when we are root.
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { CommandError, type Processes } from '../../os/processes.ts';

export interface SystemPackage {
  readonly name: string;
  /** A file or program that shows that the package is there. */
  readonly provides: string;
  readonly why: string;
}

export const linuxNodePackages: readonly SystemPackage[] = [
  { name: 'containerd', provides: 'containerd', why: 'runs containers' },
  { name: 'runc', provides: 'runc', why: 'runs containers' },
  { name: 'iproute2', provides: 'ip', why: 'nodes and pods are network namespaces' },
  { name: 'nftables', provides: 'nft', why: 'Services and NAT' },
  { name: 'conntrack', provides: 'conntrack', why: 'forgets UDP flows to pods that are gone' },
  { name: 'busybox-static', provides: '/bin/busybox', why: 'the Linux sample image' },
  { name: 'musl-tools', provides: 'musl-gcc', why: 'builds the CNI client' },
];
export const windowsNodePackages: readonly SystemPackage[] = [
  {
    name: 'gcc-mingw-w64-x86-64-win32',
    provides: 'x86_64-w64-mingw32-gcc',
    why: "builds the emulated containers' init",
  },
  { name: 'catatonit', provides: 'catatonit', why: 'reaps processes in emulated Windows containers' },
  {
    name: 'debian-archive-keyring',
    provides: '/usr/share/keyrings/debian-archive-keyring.gpg',
    why: "checks Wine's packages",
  },
];

/** `provides`: a program's name, or a file's path. */
export function isInstalled(provides: string): boolean {
  if (provides.startsWith('/')) return existsSync(provides);
  const path = `${process.env['PATH'] ?? ''}${delimiter}/usr/sbin${delimiter}/sbin`;
  return path.split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, provides), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function missingPackages(packages: readonly SystemPackage[]): SystemPackage[] {
  return packages.filter((one) => !isInstalled(one.provides));
}

/** Installs what is missing by apt. Throws an Error that says the next step when it can't. */
export async function ensureSystemPackages(
  processes: Processes,
  packages: readonly SystemPackage[],
  say: (text: string) => void,
): Promise<void> {
  const missing = missingPackages(packages);
  if (missing.length === 0) return;
  const names = missing.map((one) => one.name);
  const byHand = `apt-get install ${names.join(' ')}`;
  if (process.getuid?.() !== 0)
    throw new Error(`missing Debian packages: ${names.join(', ')}; as root run: ${byHand}`);
  if (!isInstalled('apt-get'))
    throw new Error(`this machine has no apt-get; install by its own means: ${names.join(', ')}`);
  say(`installing Debian packages: ${missing.map((one) => `${one.name} (${one.why})`).join(', ')}`);
  const options = { timeoutMs: 900_000, env: { DEBIAN_FRONTEND: 'noninteractive' } };
  const install = (): Promise<{ code: number; stdout: Buffer; stderr: Buffer }> =>
    processes.run('apt-get', ['install', '-y', '--no-install-recommends', ...names], options);
  let result = await install();
  if (result.code !== 0) {
    // A machine that never ran "apt-get update" has no lists, or old ones.
    await processes.run('apt-get', ['update'], options);
    result = await install();
  }
  if (result.code !== 0) {
    const error = new CommandError('apt-get', ['install', ...names], result);
    throw new Error(`${error.message}\nnext step: run "${byHand}" by hand and see what it says`, {
      cause: error,
    });
  }
  const still = missingPackages(packages);
  if (still.length > 0)
    throw new Error(`installed, but still not found: ${still.map((one) => one.provides).join(', ')}`);
}
