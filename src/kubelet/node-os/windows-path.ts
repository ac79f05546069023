// Paths of Windows: inside a container, on the node's drive C:, and of a volume's files. Pure.
import { parseWindowsPath } from '../../component-helpers/windows-path.ts';

/**
 * As the kubelet on Windows: a path without a drive is below `C:`, slashes may lean either way, UNC and pipe paths stay.
 * Throws for what Windows refuses: a bare drive, an alternate data stream, a NUL, a way upwards.
 */
export function windowsContainerPath(path: string): string {
  if (path === '' || path.includes('\0')) throw new Error(`invalid mount path ${JSON.stringify(path)}`);
  const text = path.replaceAll('/', '\\');
  if (text.startsWith('\\\\')) return text;
  const drive = /^[a-zA-Z]:/.exec(text)?.[0] ?? '';
  const rest = text.slice(drive.length);
  if (rest === '' || /^\\+$/.test(rest)) {
    throw new Error(`invalid mount path ${JSON.stringify(path)}: mount path must not be a drive`);
  }
  if (rest.includes(':'))
    throw new Error(`invalid mount path ${JSON.stringify(path)}: it must not contain ':'`);
  if (rest.split('\\').includes('..')) {
    throw new Error(`invalid mount path ${JSON.stringify(path)}: it must not contain '..'`);
  }
  return `${drive === '' ? 'C:' : drive}${rest.startsWith('\\') ? '' : '\\'}${rest}`;
}

/** `C:\Data\x` is `data/x` in the folder that is drive C:. A Windows manifest never names the Linux machine's files. */
export function pathOnDriveC(path: string): string {
  const parsed = parseWindowsPath(path);
  if ('error' in parsed) throw new Error(parsed.error);
  return parsed.parts.map((part) => part.toLowerCase()).join('/');
}

/** Names that Windows keeps for devices, whatever their ending. */
const device = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;

/** Why Windows would refuse a relative path with slashes; undefined when it would not. */
export function badWindowsFileName(path: string): string | undefined {
  const isBad =
    /[\\:*?"<>|]/.test(path) || path.split('/').some((part) => device.test(part) || /[. ]$/.test(part));
  return isBad ? `invalid path: Windows has no such file name: ${path}` : undefined;
}
