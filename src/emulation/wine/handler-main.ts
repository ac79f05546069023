// The one-shot behind the runc front: rewrites a bundle before `runc create` and a process before `runc exec`, then ends.
// Bundled to one small file; it imports nothing that takes time to load.
import {
  closeSync,
  constants,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { parseWindowsPath } from '../../component-helpers/windows-path.ts';
import { type FolderReader, findSnapshot } from './image-layers.ts';
import type { OciProcess, OciSpec } from './oci-spec.ts';
import { sandboxIdAnnotation } from './oci-spec.ts';
import { firstIdOfPod } from './pod-users.ts';
import { type ContainerState, type HandlerConfig, planBundle } from './wine-bundle.ts';
import { driveC } from './wine-paths.ts';
import { wineProcess } from './wine-process.ts';

const isFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

const reader: FolderReader = { isFolder, names: (path) => (isFolder(path) ? readdirSync(path) : []) };

/** A name that may be a path component; runc itself refuses others. */
const validId = /^[A-Za-z0-9_][A-Za-z0-9_.+-]*$/;

function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** A hosts file is this long at most. */
const maxTextBytes = 1 << 20;

/** It may be a file of the pod's own volume: a link, a pipe or a file without end in its place is no text. */
function readText(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
  try {
    const info = fstatSync(file);
    const { size } = info;
    if (!info.isFile() || size > maxTextBytes) return undefined;
    const buffer = Buffer.alloc(size);
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, size, 0));
  } finally {
    closeSync(file);
  }
}

function create(config: HandlerConfig, bundleArgument: string, id: string): void {
  const bundle = realpathSync(bundleArgument);
  const specFile = `${bundle}/config.json`;
  const spec = JSON.parse(readFileSync(specFile, 'utf8')) as OciSpec;
  const rootfs = realpathSync(
    spec.root?.path.startsWith('/') ? spec.root.path : `${bundle}/${spec.root?.path ?? 'rootfs'}`,
  );
  const sandbox = spec.annotations?.[sandboxIdAnnotation] ?? '';
  if (!validId.test(sandbox)) throw new Error(`invalid sandbox id ${JSON.stringify(sandbox)}`);
  const plan = planBundle({
    firstId: firstIdOfPod(config.stateDir, config.users, sandbox, dirname(bundle)),
    spec,
    config,
    bundle,
    id,
    rootfs,
    snapshot: findSnapshot(readFileSync('/proc/self/mountinfo', 'utf8'), rootfs),
    reader,
    readText,
  });
  for (const directory of plan.directories) mkdirSync(directory, { recursive: true });
  for (const [path, text] of plan.files) writeFileSync(path, text);
  for (const path of plan.owned) lchownSync(path, plan.owner.id, plan.owner.id);
  replaceFile(specFile, JSON.stringify(plan.spec));
}

function exec(config: HandlerConfig, processFile: string, id: string): void {
  const process = JSON.parse(readFileSync(processFile, 'utf8')) as OciProcess;
  const state = JSON.parse(readFileSync(`${config.stateDir}/containers/${id}`, 'utf8')) as ContainerState;
  const written = process.cwd ?? '/';
  replaceFile(
    processFile,
    JSON.stringify(
      wineProcess(process, {
        user: state.user,
        owner: state.owner,
        cwd: cwdOf(state, written),
        first: false,
      }),
    ),
  );
}

function cwdOf(state: ContainerState, written: string): string {
  if (written === state.cwd.written) return state.cwd.path;
  const parsed = parseWindowsPath(written);
  if ('error' in parsed) throw new Error(`working directory: ${parsed.error}`);
  return [driveC, ...parsed.parts].join('/');
}

/** The shim shows its caller the last error of this log. */
function report(logFile: string | undefined, error: unknown): void {
  const msg = error instanceof Error ? error.message : String(error);
  const line = JSON.stringify({ level: 'error', msg, time: new Date().toISOString() });
  if (logFile) writeFileSync(logFile, `${line}\n`, { flag: 'a' });
  else process.stderr.write(`${msg}\n`);
}

function main(args: readonly string[]): number {
  const [configFile = '', command, subject = '', id = '', logFile] = args;
  try {
    const config = JSON.parse(readFileSync(configFile, 'utf8')) as HandlerConfig;
    if (!validId.test(id)) throw new Error(`invalid container id ${JSON.stringify(id)}`);
    if (command === 'create') create(config, subject, id);
    else if (command === 'exec') exec(config, subject, id);
    else throw new Error(`unknown command ${JSON.stringify(command)} of ${dirname(configFile)}`);
    return 0;
  } catch (error) {
    report(logFile, error);
    if (command === 'create' && validId.test(id)) forget(configFile, id);
    return 1;
  }
}

function forget(configFile: string, id: string): void {
  try {
    const { stateDir } = JSON.parse(readFileSync(configFile, 'utf8')) as HandlerConfig;
    for (const kind of ['containers', 'entries']) rmSync(`${stateDir}/${kind}/${id}`, { force: true });
  } catch {
    // What could not be read holds nothing to forget.
  }
}

process.exitCode = main(process.argv.slice(2));
