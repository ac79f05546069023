// subPath of a volume: a place inside it that no link may lead out of, also one that is made while we look.
import { type Beneath, BeneathError, type Place } from '../../os/beneath.ts';
import type { Files } from '../../os/files.ts';

/** Throws Error when `subPath` is no path inside a volume. Pure. */
export function checkSubPath(subPath: string): void {
  if (subPath.includes('\0')) throw new Error(`unable to provision SubPath: must not contain NUL`);
  if (subPath.startsWith('/') || /^[A-Za-z]:/.test(subPath) || subPath.startsWith('\\')) {
    throw new Error(`error SubPath \`${subPath}\` must not be an absolute path`);
  }
  if (subPath.split(/[\\/]/).includes('..')) {
    throw new Error(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  }
}

const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes(String((error as { code?: unknown }).code));

/**
 * The way to a subPath without the links that are on it now, as upstream: files of a ConfigMap are links. Nothing rests on
 * the answer being still true when it is used: the walk follows no link, so a link that is made since then ends it.
 */
async function withoutLinks(files: Files, volume: string, parts: readonly string[]): Promise<string> {
  const base = await files.realPath(volume);
  for (let known = parts.length; ; known--) {
    try {
      const real = await files.realPath([base, ...parts.slice(0, known)].join('/'));
      if (!isInside(real, base)) {
        throw new Error(`subpath "${parts.join('/')}" not within volume path "${volume}"`);
      }
      return [real.slice(base === '/' ? 1 : base.length + 1), ...parts.slice(known)].join('/');
    } catch (error) {
      if (known === 0 || !isMissing(error)) throw error;
    }
  }
}

export interface SubPathInput {
  readonly volume: Place;
  readonly subPath: string;
  /** Where it is to be mounted: a path that no pod can change. */
  readonly target: string;
  /** False: links inside the volume are not followed either. */
  readonly linksInside: boolean;
}

/** Makes what is missing and mounts what was found. Throws Error. */
export async function mountSubPath(
  host: { readonly files: Files; readonly beneath: Beneath },
  { volume, subPath, target, linksInside }: SubPathInput,
): Promise<void> {
  checkSubPath(subPath);
  const parts = subPath.split(/[\\/]/).filter((part) => part !== '' && part !== '.');
  const inside = linksInside ? await withoutLinks(host.files, volume.base, parts) : parts.join('/');
  const path = volume.path === '' ? inside : `${volume.path}/${inside}`;
  await host.beneath.mount({ base: volume.base, path }, target, { make: { kind: 'directory' } });
}

/** Whether it failed at what was not there yet. */
export const failedToMake = (error: unknown): boolean =>
  error instanceof BeneathError && error.step === 'make';
