// hostPath: a file or folder of the node, checked for its type.
import type { FileKind, Files } from '../../../os/files.ts';
import type { VolumePlugin } from '../volume-plugin.ts';
import { windowsHostPath } from '../windows-host-path.ts';

const expected: Readonly<Record<string, readonly [FileKind, string]>> = {
  Directory: ['directory', 'directory'],
  File: ['file', 'file'],
  Socket: ['socket', 'socket'],
  CharDevice: ['characterDevice', 'character device'],
  BlockDevice: ['blockDevice', 'block device'],
};

async function prepare(files: Files, path: string, type: string): Promise<void> {
  const info = await files.stat(path);
  if (type === 'DirectoryOrCreate' && !info) return files.makeDirectory(path, 0o755);
  if (type === 'FileOrCreate' && !info) return files.write(path, '', { mode: 0o644, exclusive: true });
  const kind = type.replace('OrCreate', '');
  const wanted = Object.hasOwn(expected, kind) ? expected[kind] : undefined;
  if (!wanted) throw new Error(`hostPath type check failed: ${path} has unknown type ${type}`);
  if (info?.kind !== wanted[0]) throw new Error(`hostPath type check failed: ${path} is not a ${wanted[1]}`);
}

export const hostPath: VolumePlugin = {
  name: 'kubernetes.io/host-path',
  supports: (volume) => volume.hostPath !== undefined,
  refreshes: false,
  writable: true,
  setUp: async (context) => {
    const { path, type } = context.volume.hostPath!;
    if (path.includes('\0') || path.split(/[\\/]/).includes('..')) {
      throw new Error(`hostPath ${JSON.stringify(path)} must not contain '..' or NUL`);
    }
    const real = context.nodeOs.name === 'windows' ? windowsHostPath(context.hostDrive, path) : path;
    if (!real.startsWith('/')) throw new Error(`hostPath ${JSON.stringify(path)} is not an absolute path`);
    if ((type ?? '') !== '') await prepare(context.files, real, type!);
    // As upstream's runtimes: what is mounted without a type comes to be as a folder.
    else if ((await context.files.stat(real)) === undefined) await context.files.makeDirectory(real, 0o755);
    return real;
  },
};
