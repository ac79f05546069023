// Writes a set of files so that readers see all of the old or all of the new: a timestamped folder behind `..data`.
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Files } from '../../os/files.ts';

export interface FileToWrite {
  readonly data: Uint8Array;
  readonly mode: number;
  readonly uid?: number;
}

export type Payload = ReadonlyMap<string, FileToWrite>;

/** Why `path` can't be a file of a volume; undefined when it can. Upstream: validatePath. */
export function badPayloadPath(path: string): string | undefined {
  if (path === '') return 'invalid path: must not be empty';
  if (path.includes('\0')) return `invalid path: must not contain NUL: ${JSON.stringify(path)}`;
  if (path.length > 4096) return `invalid path: must be less than or equal to 4096 characters`;
  if (path.startsWith('/')) return `invalid path: must be relative path: ${path}`;
  const parts = path.split('/');
  if (parts.includes('..')) return `invalid path: must not contain '..': ${path}`;
  if (path.startsWith('..')) return `invalid path: must not start with '..': ${path}`;
  if (parts.some((p) => p === '' || p === '.')) return `invalid path: must not have empty parts: ${path}`;
  if (parts.some((p) => Buffer.byteLength(p) > 255))
    return 'invalid path: filename must be less than or equal to 255 characters';
  return undefined;
}

export interface AtomicWriterDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly random: Random;
}

async function isSame(files: Files, dir: string, payload: Payload): Promise<boolean> {
  const found: string[] = [];
  const walk = async (relative: string): Promise<void> => {
    for (const name of await files.list(relative === '' ? dir : `${dir}/${relative}`)) {
      const path = relative === '' ? name : `${relative}/${name}`;
      if ((await files.lstat(`${dir}/${path}`))?.kind === 'directory') await walk(path);
      else found.push(path);
    }
  };
  await walk('');
  if (found.length !== payload.size) return false;
  for (const path of found) {
    const wanted = payload.get(path);
    if (!wanted || !(await files.read(`${dir}/${path}`)).equals(wanted.data)) return false;
  }
  return true;
}

async function writeAll(
  files: Files,
  dir: string,
  payload: Payload,
  group: number | undefined,
): Promise<void> {
  for (const [path, { data, mode, uid }] of payload) {
    const full = `${dir}/${path}`;
    const slash = path.lastIndexOf('/');
    if (slash > 0) await files.makeDirectory(`${dir}/${path.slice(0, slash)}`, 0o755);
    await files.write(full, data, { mode, exclusive: true });
    if (uid !== undefined || group !== undefined) await files.changeOwner(full, uid ?? -1, group ?? -1);
  }
}

/** Returns whether anything changed. `group` owns the files when it is given. */
export async function writeAtomically(
  deps: AtomicWriterDeps,
  target: string,
  payload: Payload,
  group?: number,
): Promise<boolean> {
  const { files } = deps;
  for (const path of payload.keys()) {
    const bad = badPayloadPath(path);
    if (bad) throw new Error(bad);
  }
  await files.makeDirectory(target, 0o755);
  const link = `${target}/..data`;
  const isLinked = (await files.lstat(link))?.kind === 'symlink';
  const linked = isLinked ? await files.readLink(link) : '';
  // Only a folder that was written here: who could change the link does not choose what is read and removed.
  const old = /^\.\.[\d_]+\.\d+$/.test(linked) ? linked : undefined;
  if (old !== undefined && (await isSame(files, `${target}/${old}`, payload))) return false;
  const stamp = new Date(deps.clock.now()).toISOString().slice(0, 19).replace(/[-:T]/g, '_');
  const fresh = `..${stamp}.${deps.random.uint(2 ** 31)}`;
  await files.makeDirectory(`${target}/${fresh}`, 0o755);
  await writeAll(files, `${target}/${fresh}`, payload, group);
  await files.remove(`${target}/..data_tmp`);
  await files.symlink(fresh, `${target}/..data_tmp`);
  await files.rename(`${target}/..data_tmp`, link);
  const tops = new Set([...payload.keys()].map((path) => path.split('/')[0]!));
  for (const name of tops) {
    if ((await files.lstat(`${target}/${name}`)) === undefined) {
      await files.symlink(`..data/${name}`, `${target}/${name}`);
    }
  }
  for (const name of await files.list(target)) {
    if (!name.startsWith('..') && !tops.has(name)) await files.remove(`${target}/${name}`);
  }
  if (old !== undefined) await files.remove(`${target}/${old}`);
  return true;
}
