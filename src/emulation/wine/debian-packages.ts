// Fetches Debian 13's packages with an apt root of its own: the machine's apt state is neither read nor changed.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Processes, runOrThrow } from '../../os/processes.ts';
import { type AptSource, debianMirror, parseDeb822Sources, parseSourcesList } from './apt-sources.ts';
import type { OnProgress } from './progress.ts';

const suite = 'trixie';
const archiveKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** The sources in /etc/apt, in apt's order. */
async function readAptSources(etcApt = '/etc/apt'): Promise<readonly AptSource[]> {
  const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
  const parts = join(etcApt, 'sources.list.d');
  const names = (await readdir(parts).catch((): string[] => [])).sort();
  const sources = [...parseSourcesList(await read(join(etcApt, 'sources.list')))];
  for (const name of names) {
    const text = name.endsWith('.list') || name.endsWith('.sources') ? await read(join(parts, name)) : '';
    sources.push(...(name.endsWith('.list') ? parseSourcesList(text) : parseDeb822Sources(text)));
  }
  return sources;
}

function aptOptions(root: string): readonly string[] {
  const options = {
    'Dir::State': join(root, 'state'),
    'Dir::State::status': join(root, 'status'),
    'Dir::Cache': join(root, 'cache'),
    'Dir::Etc::sourcelist': join(root, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::Etc::preferences': '-',
    'Dir::Etc::preferencesparts': '-',
    'APT::Architecture': 'amd64',
    'APT::Architectures': 'amd64',
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    // Else an unreachable mirror is only a warning of `update`.
    'APT::Update::Error-Mode': 'any',
    'APT::Status-Fd': '1',
  };
  return Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

async function makeAptRoot(root: string, mirror: string): Promise<void> {
  await mkdir(join(root, 'state/lists/partial'), { recursive: true });
  await mkdir(join(root, 'cache/archives/partial'), { recursive: true });
  await writeFile(join(root, 'status'), '');
  await writeFile(join(root, 'sources.list'), `deb [signed-by=${archiveKeyring}] ${mirror} ${suite} main\n`);
}

/** Runs apt-get and reports the lines of its status channel. */
async function apt(
  processes: Processes,
  root: string,
  args: readonly string[],
  onPercent: (percent: number, text: string) => void,
): Promise<string> {
  const child = processes.spawn('apt-get', [...aptOptions(root), ...args], {
    env: { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' },
  });
  child.stdin?.end();
  let output = '';
  let errors = '';
  child.stdout?.on('data', (data: Buffer) => {
    output += data.toString();
    const status = [...data.toString().matchAll(/^dlstatus:\d+:([\d.]+):(.*)$/gm)].at(-1);
    if (status) onPercent(Number(status[1]), status[2] ?? '');
  });
  child.stderr?.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const code = await child.exited.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT')
      throw new Error('apt-get is not there: the Wine runtime needs a Debian machine');
    throw error;
  });
  if (code !== 0) {
    const reasons = errors.split('\n').filter((line) => line.startsWith('E:'));
    const reason = reasons.length > 0 ? reasons.slice(0, 2).join(' ') : errors.slice(-500);
    throw new Error(
      `Fetching Debian ${suite}'s packages failed: ${reason.trim()} ` +
        `Check the network and the mirror in ${join(root, 'sources.list')}, then run the same command again: ` +
        'what is fetched already is kept.',
    );
  }
  return output;
}

export interface FetchedPackages {
  /** `name_version_arch.deb`, sorted. */
  readonly names: readonly string[];
  /** Absolute paths in the same order. */
  readonly files: readonly string[];
}

/** Downloads packages with all they depend on, verified by the archive's keys; what is there already is not fetched again. */
export async function fetchDebianPackages(options: {
  readonly processes: Processes;
  readonly root: string;
  readonly packages: readonly string[];
  /** Default: the mirror that the machine's own apt sources name. */
  readonly mirror?: string | undefined;
  readonly onProgress?: OnProgress | undefined;
}): Promise<FetchedPackages> {
  const { processes, root, packages, onProgress } = options;
  const mirror = options.mirror ?? debianMirror(await readAptSources())?.uri;
  if (mirror === undefined) {
    throw new Error(
      "This machine's apt sources name no Debian mirror. Set PORTHOLE_DEBIAN_MIRROR to the URL of one.",
    );
  }
  await readFile(archiveKeyring).catch((error: unknown) => {
    throw new Error(`${archiveKeyring} is missing. Install it with: apt-get install debian-archive-keyring`, {
      cause: error,
    });
  });
  await makeAptRoot(root, mirror);
  const report = (text: string) => (percent: number) =>
    onProgress?.({ step: 'wine packages', done: Math.round(percent), total: 100, text });
  await apt(processes, root, ['update'], report("reading Debian 13's package lists"));
  const install = ['install', '--yes', '--no-install-recommends'];
  const plan = await apt(processes, root, [...install, '--simulate', ...packages], () => undefined);
  const names = plannedFiles(plan);
  await apt(
    processes,
    root,
    [...install, '--download-only', ...packages],
    report(`fetching Wine 10 from Debian 13: ${names.length} packages`),
  );
  return { names, files: names.map((name) => join(root, 'cache/archives', name)) };
}

/** The archive's file names for the lines `Inst name (version source [arch])` of a simulated installation. */
function plannedFiles(plan: string): readonly string[] {
  const lines = plan.matchAll(/^Inst (\S+) \((\S+) .*\[(\w+)\]\)/gm);
  return [...lines]
    .map(([, name = '', version = '', arch = '']) => `${name}_${version.replaceAll(':', '%3a')}_${arch}.deb`)
    .sort();
}

export async function unpackDebianPackages(
  processes: Processes,
  files: readonly string[],
  target: string,
  onProgress?: OnProgress,
): Promise<void> {
  await mkdir(target, { recursive: true });
  for (const [index, file] of files.entries()) {
    await runOrThrow(processes, 'dpkg-deb', ['--extract', file, target], { timeoutMs: 300_000 });
    onProgress?.({
      step: 'wine runtime',
      done: index + 1,
      total: files.length,
      text: `unpacking ${basename(file)}`,
    });
  }
}
