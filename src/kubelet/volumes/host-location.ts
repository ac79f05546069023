// A file or folder of the node as a volume: made and checked as its type says, where the node's system says it is.
import { BeneathError, type WalkOptions } from '../../os/beneath.ts';
import type { FileKind, Files } from '../../os/files.ts';
import type { HostPlace } from '../node-os/node-os.ts';
import type { VolumeContext, VolumeLocation } from './volume-plugin.ts';

const expected: Readonly<Record<string, readonly [FileKind, string]>> = {
  Directory: ['directory', 'directory'],
  File: ['file', 'file'],
  Socket: ['socket', 'socket'],
  CharDevice: ['characterDevice', 'character device'],
  BlockDevice: ['blockDevice', 'block device'],
};

interface Wanted {
  readonly kind: FileKind;
  readonly text: string;
  readonly make: 'directory' | 'file' | undefined;
}

/** Undefined: anything may be there. */
function wantedOf(path: string, type: string): Wanted | undefined {
  if (type === '') return undefined;
  const name = type.replace('OrCreate', '');
  const found = Object.hasOwn(expected, name) ? expected[name] : undefined;
  const make = type === 'DirectoryOrCreate' ? 'directory' : type === 'FileOrCreate' ? 'file' : undefined;
  if (!found || (make === undefined && name !== type)) {
    throw new Error(`hostPath type check failed: ${path} has unknown type ${type}`);
  }
  return { kind: found[0], text: found[1], make };
}

const mismatch = (path: string, wanted: Wanted): Error =>
  new Error(`hostPath type check failed: ${path} is not a ${wanted.text}`);

/** At the end of a path that only the node's owner can change. */
async function ownLocation(
  files: Files,
  { base: path }: HostPlace,
  { type, mode }: HostLocationOptions,
): Promise<VolumeLocation> {
  const wanted = wantedOf(path, type);
  let info = await files.stat(path);
  if (!info && (!wanted || wanted.make === 'directory')) {
    // As upstream's runtimes: what is mounted without a type comes to be as a folder.
    await files.makeDirectory(path, mode);
    info = await files.stat(path);
  } else if (!info && wanted?.make === 'file') {
    await files.write(path, '', { mode: 0o644, exclusive: true });
    info = await files.stat(path);
  }
  if (wanted && info?.kind !== wanted.kind) throw mismatch(path, wanted);
  return { base: path, path: '', kind: wanted?.kind };
}

/** At the end of a path that pods can change. */
async function sharedLocation(
  { files, beneath }: Pick<VolumeContext, 'files' | 'beneath'>,
  where: HostPlace,
  path: string,
  { type, mode }: HostLocationOptions,
): Promise<VolumeLocation> {
  const wanted = wantedOf(path, type);
  const make: WalkOptions['make'] =
    wanted === undefined || wanted.make === 'directory'
      ? { kind: 'directory', mode }
      : wanted.make === 'file'
        ? { kind: 'file', mode: 0o644 }
        : undefined;
  const place = { ...where, kind: wanted?.kind };
  await files.makeDirectory(where.base, 0o755);
  try {
    await beneath.open(place, { kind: wanted?.kind, make });
  } catch (error) {
    if (!(error instanceof BeneathError)) throw error;
    if (wanted && (error.step === 'kind' || error.isMissing)) throw mismatch(path, wanted);
    throw new Error(`hostPath ${JSON.stringify(path)} can't be mounted: ${error.message}`, { cause: error });
  }
  return place;
}

interface HostLocationOptions {
  readonly type: string;
  /** Of folders that are made. */
  readonly mode: number;
}

/** Throws Error with upstream's text. */
export async function hostLocation(
  context: Pick<VolumeContext, 'files' | 'beneath' | 'nodeOs'>,
  path: string,
  options: HostLocationOptions,
): Promise<VolumeLocation> {
  const place = context.nodeOs.hostPlace(path);
  return place.linkFree
    ? sharedLocation(context, place, path, options)
    : ownLocation(context.files, place, options);
}
