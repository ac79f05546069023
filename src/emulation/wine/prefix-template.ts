// The prefix template of a Windows version: a 3 MB folder of links and registry that all containers share as a lower layer.
import {
  chmod,
  copyFile,
  cp,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { join, relative } from 'node:path';
import { contentKey } from '../../component-base/content-hash.ts';
import { windowsVersionOf, windowsVersions } from '../../component-helpers/windows-image-match.ts';
import { withFileLock } from '../../os/file-lock.ts';
import { type Processes, runOrThrow } from '../../os/processes.ts';
import type { OnProgress } from './progress.ts';
import { RegistryFile } from './registry-file.ts';
import type { WineRuntime } from './runtime-tree.ts';
import { makeLean, preferOwn, setVersion } from './template-registry.ts';
import type { WindowsPrograms } from './windows-programs.ts';
import { bootPrefix, checkRunc } from './wine-boot.ts';
import { wineData, wineDlls, wineDlls32 } from './wine-paths.ts';

/** Counts up when the way a template is made changes. */
const recipe = '4';
const windowsUsers: readonly string[] = ['ContainerAdministrator', 'ContainerUser'];

export interface PrefixTemplate {
  /** Lower layer of a container's Wine prefix; drive_c in it of its C:. */
  readonly prefix: string;
  /** Empty but for whiteouts that hide an image's own C:\Windows, in each letter case, from the overlay of C:. */
  readonly hideWindows: string;
  /** The same for System32 and its like in the overlay of C:\Windows. */
  readonly hideSystem: string;
  readonly build: number;
}

export interface TemplateOptions {
  readonly processes: Processes;
  readonly cacheDir: string;
  readonly runtime: WineRuntime;
  readonly programs: WindowsPrograms;
  /** 17763, 20348, 25398 or 26100. */
  readonly build: number;
  readonly runc?: string;
  readonly onProgress?: OnProgress | undefined;
}

/** The template of a Windows version; made once (8 to 20 seconds for the first version, under one for the others). */
export async function installPrefixTemplate(options: TemplateOptions): Promise<PrefixTemplate> {
  const { processes, cacheDir, runtime, programs } = options;
  const version = windowsVersionOf(options.build);
  if (!version) {
    const known = windowsVersions.map(({ build }) => build).join(', ');
    throw new Error(`No Windows Server has build ${options.build}. Choose one of ${known}.`);
  }
  const home = join(cacheDir, 'wine', `templates-${contentKey([recipe, runtime.key])}`);
  const prefix = join(home, `${version.build}-${programs.key}`);
  const hideWindows = join(home, 'hide-windows');
  const hideSystem = join(home, 'hide-system');
  const template = { prefix, hideWindows, hideSystem, build: version.build };
  if (await isThere(prefix)) return template;

  await mkdir(home, { recursive: true });
  return withFileLock(processes, join(home, 'lock'), async () => {
    if (await isThere(prefix)) return template;
    options.onProgress?.({ step: 'windows template', done: 0, total: 1, text: 'making the Windows folder' });
    await makeWhiteouts(processes, hideWindows, ['Windows', 'WINDOWS']);
    await makeWhiteouts(processes, hideSystem, ['System32', 'SYSTEM32', 'SysWOW64', 'SysWow64', 'SYSWOW64']);
    const base = await makeBase(options, home);
    const partial = `${prefix}.partial`;
    await rm(partial, { recursive: true, force: true });
    await cp(base, partial, { recursive: true, verbatimSymlinks: true });
    await editRegistry(partial, (system, user) => {
      setVersion(system, version);
      preferOwn(user, programs.system.keys());
    });
    for (const [name, program] of programs.system) {
      const target = join(partial, 'drive_c/windows/system32', name);
      await rm(target, { force: true });
      await copyFile(program, target);
    }
    await rename(partial, prefix);
    options.onProgress?.({ step: 'windows template', done: 1, total: 1, text: version.productName });
    return template;
  });
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Overlayfs reads a character device 0:0 as "nothing of this name below". */
async function makeWhiteouts(
  processes: Processes,
  directory: string,
  names: readonly string[],
): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const name of names) {
    const path = join(directory, name);
    if (!(await isThere(path))) await runOrThrow(processes, 'mknod', [path, 'c', '0', '0']);
  }
}

async function makeBase(options: TemplateOptions, home: string): Promise<string> {
  const { processes, runtime } = options;
  const runc = options.runc ?? 'runc';
  const base = join(home, 'base');
  if (await isThere(base)) return base;
  await checkRunc(processes, runc);
  const partial = join(home, 'base.partial');
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  await bootPrefix({ processes, runc, runtimeRoot: runtime.root, prefix: partial, workDir: home });
  if (!(await isThere(join(partial, 'system.reg')))) {
    throw new Error('wineboot left no registry: the Wine runtime does not work on this machine');
  }
  await linkUnchangedFiles(runtime.root, partial);
  await rm(join(partial, 'drive_c/windows/system32/winemenubuilder.exe'), { force: true });
  await editRegistry(partial, makeLean);
  await makeUsers(partial);
  for (const name of await readdir(join(partial, 'dosdevices'))) {
    if (name !== 'c:') await unlink(join(partial, 'dosdevices', name));
  }
  await useWindowsLetterCase(join(partial, 'drive_c'));
  await makeEtcFiles(partial);
  // It names the server's folder, and each pod's own user must read it.
  await chmod(join(partial, 'wineserver'), 0o444);
  // Else each start of a container would bring the prefix up to date again.
  await writeFile(join(partial, '.update-timestamp'), 'disable\n');
  await rename(partial, base);
  return base;
}

async function editRegistry(
  prefix: string,
  edit: (system: RegistryFile, user: RegistryFile) => void,
): Promise<void> {
  const read = async (name: string): Promise<RegistryFile> =>
    new RegistryFile(await readFile(join(prefix, name), 'latin1'));
  const [system, user] = await Promise.all([read('system.reg'), read('user.reg')]);
  edit(system, user);
  await writeFile(join(prefix, 'system.reg'), system.toString(), 'latin1');
  await writeFile(join(prefix, 'user.reg'), user.toString(), 'latin1');
}

/** wineboot copies 700 MB of DLLs; those that equal the runtime's become links: one page cache for all containers. */
async function linkUnchangedFiles(runtimeRoot: string, prefix: string): Promise<void> {
  const originals = new Map<string, string[]>();
  for (const directory of [wineDlls, wineDlls32, wineData]) {
    for (const file of await filesBelow(join(runtimeRoot, directory))) {
      const name = file.toLowerCase().slice(file.lastIndexOf('/') + 1);
      const path = `/${relative(runtimeRoot, file)}`;
      originals.set(name, [...(originals.get(name) ?? []), path]);
    }
  }
  for (const file of await filesBelow(join(prefix, 'drive_c'))) {
    const candidates = originals.get(file.toLowerCase().slice(file.lastIndexOf('/') + 1)) ?? [];
    for (const candidate of candidates) {
      if (!(await sameContent(file, join(runtimeRoot, candidate)))) continue;
      await unlink(file);
      await symlink(candidate, file);
      break;
    }
  }
}

async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function sameContent(a: string, b: string): Promise<boolean> {
  const [first, second] = await Promise.all([stat(a), stat(b)]);
  return first.size === second.size && (await readFile(a)).equals(await readFile(b));
}

/** Folders instead of Wine's links to the home folder of whoever ran it. */
async function makeUsers(prefix: string): Promise<void> {
  const users = join(prefix, 'drive_c/users');
  for (const user of windowsUsers) {
    await mkdir(join(users, user, 'AppData/Local/Temp'), { recursive: true });
  }
  for (const entry of await readdir(users, { withFileTypes: true, recursive: true })) {
    if (!entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    await unlink(path);
    await mkdir(path);
  }
}

/** Programs read the hosts file here; the container's own is mounted over it. */
async function makeEtcFiles(prefix: string): Promise<void> {
  const directory = join(prefix, 'drive_c/windows/system32/drivers/etc');
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'hosts'), '', { flag: 'a' });
}

/** As Windows spells them. `windows`, `system32` and `syswow64` stay lower case: Wine's server makes them so. */
async function useWindowsLetterCase(driveC: string): Promise<void> {
  const names: readonly (readonly [string, string])[] = [
    ['users', 'Users'],
    ['windows/temp', 'windows/Temp'],
    ['windows/tasks', 'windows/Tasks'],
    ['windows/help', 'windows/Help'],
    ['windows/logs', 'windows/Logs'],
    ['windows/globalization', 'windows/Globalization'],
    ['windows/resources', 'windows/Resources'],
    ['windows/winsxs', 'windows/WinSxS'],
  ];
  for (const [from, to] of names) {
    if (await isThere(join(driveC, from))) await rename(join(driveC, from), join(driveC, to));
  }
}
