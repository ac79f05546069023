// subPath of a volume: a place inside it that no link may lead out of.
import type { Files } from '../../os/files.ts';

/** Throws Error when `subPath` is no path inside a volume. Pure. */
export function checkSubPath(subPath: string): void {
  if (subPath.includes('\0')) throw new Error('subPath must not contain NUL');
  if (subPath.startsWith('/') || /^[A-Za-z]:/.test(subPath) || subPath.startsWith('\\')) {
    throw new Error(`subPath "${subPath}" must not be an absolute path`);
  }
  if (subPath.split(/[\\/]/).includes('..')) throw new Error(`subPath "${subPath}" must not contain ".."`);
}

const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/**
 * The real host path of a subPath; missing folders are made, one by one, never through a link that leaves the volume.
 * What is mounted is the resolved path, so a link that is changed afterwards has no effect.
 */
export async function resolveSubPath(files: Files, volumePath: string, subPath: string): Promise<string> {
  checkSubPath(subPath);
  const base = await files.realPath(volumePath);
  let current = base;
  for (const part of subPath.split(/[\\/]/)) {
    if (part === '' || part === '.') continue;
    const next = `${current}/${part}`;
    if ((await files.lstat(next)) === undefined) await files.makeDirectory(next, 0o750);
    current = await files.realPath(next);
    if (!isInside(current, base)) {
      throw new Error(`subpath "${subPath}" is not within volume path "${volumePath}"`);
    }
  }
  return current;
}
