// Paths inside a Windows container. Pure.

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
