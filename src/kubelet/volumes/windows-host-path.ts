// Host paths of an emulated Windows node: its drive C: is a folder of the Linux machine. Pure.
import { parseWindowsPath } from '../../component-helpers/windows-path.ts';

/** `C:\Data\x` is `data/x` in the node's own folder: a Windows manifest never names the Linux machine's files. */
export function windowsHostPath(path: string): string {
  const parsed = parseWindowsPath(path);
  if ('error' in parsed) throw new Error(parsed.error);
  return parsed.parts.map((p) => p.toLowerCase()).join('/');
}
