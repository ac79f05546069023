// The Wine runtime: Debian 13's Wine 10 as a small private tree that every emulated container has as its root.
import {
  chmod,
  cp,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { contentKey } from '../../component-base/content-hash.ts';
import { withFileLock } from '../../os/file-lock.ts';
import type { Processes } from '../../os/processes.ts';
import { fetchDebianPackages, unpackDebianPackages } from './debian-packages.ts';
import { neededLibraries } from './elf-needed.ts';
import type { OnProgress } from './progress.ts';
import {
  exitCodeMount,
  libraries,
  ownPrograms,
  wine,
  wineData,
  wineDlls,
  wineLibraries,
  winePrefix,
  winePrograms,
  wineServer,
  wineUnixParts,
} from './wine-paths.ts';

/** Counts up when the way the tree is made changes: trees of different recipes live side by side. */
const recipe = '2';
const packages = ['wine64', 'catatonit', 'libc-bin'];

export const wineWinsock = 'ws2_wine';

/** Loaded by name at run time, so no file lists them as needed. */
const loadedByName = [
  'libgnutls.so.30',
  'libresolv.so.2',
  'libnss_files.so.2',
  'libnss_dns.so.2',
  'libc.so.6',
  'libfreetype.so.6',
  'libfontconfig.so.1',
  'libgcc_s.so.1',
];
/** Wine's Unix halves of screens, sound, cameras, printers: a server container has none. */
const notForServers =
  /^lib(gst|glib|gobject|gphoto|sane|usb|X|pulse|asound|cups|pcap|OpenCL|av|wayland|xkb|capi|udev|pcsc)/;

export interface WineRuntime {
  /** A container's root folder: usr, links into it, empty mount points. */
  readonly root: string;
  /** `10.0~repack-6` */
  readonly wineVersion: string;
  /** Names the tree's content: what is built with it is kept under this key. */
  readonly key: string;
}

export interface InstallOptions {
  readonly processes: Processes;
  /** Shared by all clusters of this machine, for example /var/cache/porthole. */
  readonly cacheDir: string;
  readonly mirror?: string | undefined;
  readonly onProgress?: OnProgress | undefined;
}

/** The runtime in the cache; fetches and builds it first when it is not there. A second call takes no time. */
export async function installWineRuntime(options: InstallOptions): Promise<WineRuntime> {
  const home = join(options.cacheDir, 'wine');
  await mkdir(home, { recursive: true });
  const found = await findWineRuntime(options.cacheDir);
  if (found) return found;
  return withFileLock(options.processes, join(home, 'runtime.lock'), async () => {
    return (await findWineRuntime(options.cacheDir)) ?? build(options, home);
  });
}

const pointerOf = (home: string): string => join(home, `runtime-recipe-${recipe}.json`);

/** The runtime when it is installed already. */
async function findWineRuntime(cacheDir: string): Promise<WineRuntime | undefined> {
  const home = join(cacheDir, 'wine');
  const text = await readFile(pointerOf(home), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const pointer = JSON.parse(text) as { key: string; wineVersion: string };
  const root = join(home, `runtime-${pointer.key}`);
  const whole = await stat(join(root, '.complete')).catch(() => undefined);
  return whole ? { root, ...pointer } : undefined;
}

async function build(options: InstallOptions, home: string): Promise<WineRuntime> {
  const { processes, onProgress } = options;
  const fetched = await fetchDebianPackages({
    processes,
    root: join(home, 'apt'),
    packages,
    mirror: options.mirror,
    onProgress,
  });
  const key = contentKey([recipe, ...fetched.names]);
  const wineVersion = /^libwine_(.*)_amd64\.deb$/m.exec(fetched.names.join('\n'))?.[1] ?? 'unknown';
  const root = join(home, `runtime-${key}`);
  const unpacked = join(home, `unpacked-${key}`);
  const partial = `${root}.partial`;
  await rm(unpacked, { recursive: true, force: true });
  await rm(partial, { recursive: true, force: true });
  await unpackDebianPackages(processes, fetched.files, unpacked, onProgress);
  onProgress?.({ step: 'wine runtime', done: 1, total: 1, text: 'making it small' });
  await makeSmallTree(processes, unpacked, partial);
  await writeFile(join(partial, '.complete'), `${fetched.names.join('\n')}\n`);
  await rm(root, { recursive: true, force: true });
  await rename(partial, root);
  await writeFile(`${pointerOf(home)}.new`, JSON.stringify({ key, wineVersion }));
  await rename(`${pointerOf(home)}.new`, pointerOf(home));
  await rm(unpacked, { recursive: true, force: true });
  await rm(join(home, 'apt/cache/archives'), { recursive: true, force: true });
  return { root, key, wineVersion };
}

async function makeSmallTree(processes: Processes, from: string, to: string): Promise<void> {
  await mkdir(join(to, 'usr/lib64'), { recursive: true });
  await mkdir(join(to, 'usr/bin'), { recursive: true });
  for (const directory of [winePrograms, wineLibraries, wineData]) {
    await cp(join(from, directory), join(to, directory), { recursive: true, verbatimSymlinks: true });
  }
  // Wine takes the code page of file names and variables from the locale: C.UTF-8.
  await cp(join(from, 'usr/lib/locale/C.utf8'), join(to, 'usr/lib/locale/C.utf8'), { recursive: true });
  await addZlib(from, to);
  await addSecondWinsock(to);
  await stripDebugData(processes, join(to, wineDlls));
  await copyLibraries(from, to);
  const loader = await realpath(join(from, libraries, 'ld-linux-x86-64.so.2'));
  await cp(loader, join(to, 'usr/lib64/ld-linux-x86-64.so.2'));
  await cp(await realpath(join(from, 'usr/bin/catatonit')), join(to, 'usr/bin/catatonit'));
  await chmod(join(to, 'usr/bin/catatonit'), 0o755);
  for (const name of ['lib', 'lib64', 'bin']) await symlink(`usr/${name}`, join(to, name));
  await addMountPoints(to);
}

const builtinMark = 'Wine builtin DLL';

/** What libwine's installation script does: mingw's zlib becomes one of Wine's own DLLs, else user32 does not load. */
async function addZlib(from: string, to: string): Promise<void> {
  const target = join(to, wineDlls, 'zlib1.dll');
  if (await stat(target).catch(() => undefined)) return;
  const dll = Buffer.from(await readFile(join(from, 'usr/x86_64-w64-mingw32/lib/zlib1.dll')));
  dll.fill(0, 64, 96);
  dll.write(builtinMark, 64, 'latin1');
  await writeFile(target, dll);
}

/** Wine's socket library under a second name, for ours of the first name to forward to (see native/windows/ws2_32.c). */
async function addSecondWinsock(to: string): Promise<void> {
  await cp(join(to, wineDlls, 'ws2_32.dll'), join(to, wineDlls, `${wineWinsock}.dll`));
  await cp(join(to, wineUnixParts, 'ws2_32.so'), join(to, wineUnixParts, `${wineWinsock}.so`));
}

/** 744 MB become 262 MB. The mark that tells Wine its own DLLs must survive. */
async function stripDebugData(processes: Processes, directory: string): Promise<void> {
  const files: string[] = [];
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if ((await readHead(path, 2)).toString('latin1') === 'MZ') files.push(path);
  }
  const strip = 'x86_64-w64-mingw32-strip';
  try {
    for (let start = 0; start < files.length; start += 200) {
      const run = ['--strip-debug', ...files.slice(start, start + 200)];
      // Exit code 1 with "file format not recognized" for a few 16-bit programs; they stay as they are.
      await processes.run(strip, run, { timeoutMs: 300_000 });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(
      `${strip} is not installed. Install it with: apt-get install gcc-mingw-w64-x86-64-win32`,
      {
        cause: error,
      },
    );
  }
  for (const name of ['kernel32.dll', 'ntdll.dll', 'ws2_32.dll']) {
    const mark = (await readHead(join(directory, name), 96)).toString('latin1', 64, 64 + builtinMark.length);
    if (mark !== builtinMark) {
      throw new Error(`${strip} removed Wine's mark from ${name}: binutils 2.38 or newer is needed`);
    }
  }
}

async function readHead(path: string, length: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const buffer = Buffer.alloc(length);
    await file.read(buffer, 0, length, 0);
    return buffer;
  } finally {
    await file.close();
  }
}

/** The shared libraries that the kept parts of Wine need, and theirs. */
async function copyLibraries(from: string, to: string): Promise<void> {
  const wanted = [...loadedByName];
  const unixParts = join(to, wineUnixParts);
  for (const name of await readdir(unixParts)) {
    const path = join(unixParts, name);
    const needs = neededLibraries(await readFile(path));
    if (name.endsWith('.so') && name !== 'ntdll.so' && needs.some((library) => notForServers.test(library))) {
      await rm(path);
    } else {
      wanted.push(...needs);
    }
  }
  for (const program of [wine, wineServer]) {
    wanted.push(...neededLibraries(await readFile(join(to, program))));
  }
  const copied = new Set<string>();
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (copied.has(name) || name !== basename(name)) continue;
    copied.add(name);
    const source = await realpath(join(from, libraries, name)).catch(() => undefined);
    if (source === undefined) continue;
    await cp(source, join(to, libraries, name));
    wanted.push(...neededLibraries(await readFile(source)));
  }
}

/** The tree is also the read-only root of every container: mount points and the few files that glibc reads. */
async function addMountPoints(root: string): Promise<void> {
  const ours = [dirname(exitCodeMount), winePrefix, ownPrograms];
  for (const name of ['dev', 'etc/fonts', 'proc', 'sys', 'root', 'tmp', ...ours]) {
    await mkdir(join(root, name), { recursive: true });
  }
  await chmod(join(root, 'tmp'), 0o1777);
  await symlink(winePrefix, join(root, 'root/.wine'));
  const files: Readonly<Record<string, string>> = {
    'etc/hosts': '',
    'etc/hostname': '',
    'etc/resolv.conf': '',
    [exitCodeMount]: '',
    'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    'etc/passwd': 'root:x:0:0:root:/root:/bin/false\n',
    'etc/group': 'root:x:0:\n',
    // Without it fontconfig writes an error into the program's output.
    'etc/fonts/fonts.conf':
      '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">' +
      '<fontconfig><cachedir>/tmp/fontconfig</cachedir></fontconfig>\n',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
}
