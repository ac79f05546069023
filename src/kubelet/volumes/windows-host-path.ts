// Host paths of an emulated Windows node: its drive C: is a folder of the Linux machine. Pure.
import { parseWindowsPath } from '../../component-helpers/windows-path.ts';

/** Where drive C: of the emulated hosts lies. */
export const emulatedHostDrive = '/var/lib/porthole/windows-host/c';

/** `C:\data` lies in the node's own drive folder, so a Windows manifest never reaches the Linux machine's files. */
export function windowsHostPath(path: string): string {
  const parsed = parseWindowsPath(path);
  if ('error' in parsed) throw new Error(parsed.error);
  return [emulatedHostDrive, ...parsed.parts.map((p) => p.toLowerCase())].join('/');
}
