// A containerd whose store is damaged, as after a power cut, runs on without its CRI: it is given a new store, or named.
import type { Clock } from '../../base/clock.ts';
import type { Files } from '../../os/files.ts';
import { createCri } from '../../rpc-api/cri.ts';
import { createGrpcClient, isGrpcError } from '../../wire/grpc-client.ts';
import {
  type ContainerdDeps,
  type EnsureContainerdOptions,
  ensureContainerd,
  type RunningContainerd,
  removeContainerd,
} from './containerd-process.ts';

const marker = '.damaged-';
const logTailChars = 64_000;

/** What bbolt says of a file that is none of its own: not of a full disk, nor of one that can't be read. */
const damage = /\b(invalid database|checksum error|version mismatch|file size too small)\b/;
/** Of images, snapshots and containers. */
const database = 'io.containerd.metadata.v1.bolt';

const lastFailure = (log: string, plugin: string): string | undefined =>
  log.split('\n').findLast((line) => line.includes('failed to load plugin') && line.includes(plugin));

/** Of a log of containerd's last start. Pure. */
export const saysDamaged = (log: string): boolean => damage.test(lastFailure(log, database) ?? '');

/** Why it has no CRI, and what to do. Pure. */
export function noCriText(log: string, logFile: string, root: string): string {
  const line = lastFailure(log, 'io.containerd.grpc.v1.cri')?.trim() ?? 'it does not say why';
  return `containerd runs without its CRI: ${line} (${logFile}); next: mend what it names; if it is its store, move ${root} away, porthole up, and load the images again`;
}

async function hasCri(clock: Clock, address: string): Promise<boolean> {
  const grpc = createGrpcClient(clock, `unix://${address}`);
  try {
    await createCri(grpc).runtime.version();
    return true;
  } catch (error) {
    return !isGrpcError(error, 'Unimplemented'); // the kubelet says what else is wrong
  } finally {
    grpc.close();
  }
}

/** What it has said since it started last: the log is of all starts. */
async function lastStart(files: Files, logFile: string): Promise<string> {
  const log = (await files.readIfThere(logFile))?.toString().slice(-logTailChars) ?? '';
  return log.slice(Math.max(0, log.lastIndexOf('starting containerd')));
}

/** One is kept to look at, the last: each holds all images. */
async function moveAside(deps: ContainerdDeps, root: string): Promise<string> {
  const { files, beneath } = deps.host;
  const cut = root.lastIndexOf('/') + 1;
  const [folder, prefix] = [root.slice(0, cut), `${root.slice(cut)}${marker}`];
  for (const name of await files.list(folder))
    if (name.startsWith(prefix)) await (beneath?.remove ?? files.remove)(`${folder}${name}`);
  const aside = `${root}${marker}${new Date(deps.clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  await files.rename(root, aside);
  return aside;
}

/**
 * As ensureContainerd, and its CRI is there. A damaged store is moved aside: containers are made anew as after a reboot of the
 * node, images are pulled again. Throws Error with the next step when something else is wrong.
 */
export async function ensureCri(
  deps: ContainerdDeps,
  options: EnsureContainerdOptions & { readonly cgroupRoot?: string },
): Promise<RunningContainerd> {
  const running = await ensureContainerd(deps, options);
  if (await hasCri(deps.clock, options.address)) return running;
  const logFile = `${options.dir}/containerd.log`;
  const log = await lastStart(deps.host.files, logFile);
  if (!saysDamaged(log)) throw new Error(noCriText(log, logFile, options.root));
  await removeContainerd(deps, options);
  const aside = await moveAside(deps, options.root);
  deps.log.error(
    { aside, log: logFile },
    "containerd's store was damaged and was moved aside; containers start anew, images that were loaded must be loaded again: porthole image load",
  );
  const anew = await ensureContainerd(deps, options);
  if (await hasCri(deps.clock, options.address)) return anew;
  throw new Error(noCriText(await lastStart(deps.host.files, logFile), logFile, options.root));
}
