// Paths inside a Windows container: which file of drive C: a mount path, working directory or program path means.

export type WindowsPath =
  | { readonly drive: 'C'; readonly parts: readonly string[] }
  | { readonly error: string };

const reservedNames = /^(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(\.|$)/i;

/**
 * `C:\etc\foo`, `C:/scratch`, `/cache` and `cache` all name a file below C:\. `.` and `..` are resolved and never leave it.
 * Pipes, network shares and other drives are errors, as is a name that Windows refuses.
 */
export function parseWindowsPath(path: string): WindowsPath {
  const error = (reason: string): WindowsPath => ({
    error: `invalid path ${JSON.stringify(path)}: ${reason}`,
  });
  if (path === '') return error('it is empty');
  if (/[\0-\x1f]/.test(path)) return error('it has a control character');
  let rest = path.replaceAll('/', '\\');
  if (/^\\\\\.\\pipe\\/i.test(rest)) return error('a named pipe is not a file of the container');
  if (/^\\\\[?.]\\[a-z]:/i.test(rest)) rest = rest.slice(4);
  else if (rest.startsWith('\\\\')) return error('network shares are not supported');
  const drive = /^([a-z]):/i.exec(rest)?.[1];
  if (drive !== undefined) {
    if (drive.toUpperCase() !== 'C') return error(`the container has no drive ${drive.toUpperCase()}:`);
    rest = rest.slice(2);
  }
  const parts: string[] = [];
  for (const part of rest.split('\\')) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      parts.pop();
      continue;
    }
    if (/[<>:"|?*]/.test(part)) return error(`${JSON.stringify(part)} has a character that Windows refuses`);
    if (reservedNames.test(part)) return error(`${JSON.stringify(part)} is a device`);
    parts.push(part);
  }
  return { drive: 'C', parts };
}
