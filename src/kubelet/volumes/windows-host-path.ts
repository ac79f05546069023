// Host paths of an emulated Windows node: its drive C: is a folder of the Linux machine. Pure.
import { parseWindowsPath } from '../../component-helpers/windows-path.ts';

/** `C:\data` lies in `drive`, the node's own folder, so a Windows manifest never reaches the Linux machine's files. */
export function windowsHostPath(drive: string, path: string): string {
  const parsed = parseWindowsPath(path);
  if ('error' in parsed) throw new Error(parsed.error);
  return [drive, ...parsed.parts.map((p) => p.toLowerCase())].join('/');
}
