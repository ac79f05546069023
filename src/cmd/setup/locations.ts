// Where Porthole keeps things: data of clusters, and a cache shared by them.
import { realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

export interface Environment {
  readonly [name: string]: string | undefined;
}

const isRoot = (): boolean => process.getuid?.() === 0;

/** A folder that a variable of XDG's names, or HOME: one that is not absolute counts as none, by their rules. */
export function folderNamed(env: Environment, name: string): string | undefined {
  const folder = env[name];
  return folder !== undefined && isAbsolute(folder) ? folder : undefined;
}

/** Whom nothing names, as a user of a container is that the machine does not know, has none. */
export function userHome(env: Environment): string | undefined {
  const named = folderNamed(env, 'HOME');
  if (named !== undefined) return named;
  try {
    const { homedir } = userInfo();
    return isAbsolute(homedir) ? homedir : undefined;
  } catch {
    return undefined;
  }
}

/** `inHome`: where it is unless the variable says. */
function userFolder(env: Environment, variable: string, inHome: string): string | undefined {
  const named = folderNamed(env, variable);
  if (named !== undefined) return named;
  const home = userHome(env);
  return home === undefined ? undefined : join(home, inHome);
}

const homeless = (variable: string): Error =>
  Object.assign(new Error('this user has no home folder'), {
    next: `set HOME, or ${variable} to a folder that this user may write to`,
  });

function homeOf(env: Environment): string {
  if (env['PORTHOLE_HOME']) return env['PORTHOLE_HOME'];
  if (isRoot()) return '/var/lib/porthole';
  const folder = userFolder(env, 'XDG_STATE_HOME', '.local/state');
  if (folder === undefined) throw homeless('PORTHOLE_HOME');
  return join(folder, 'porthole');
}

/** Without links, as far as the path is there. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return join(realPath(dirname(path)), basename(path));
  }
}

/**
 * `$PORTHOLE_HOME`, else /var/lib/porthole for root, else the XDG state folder. A real path: names of what a cluster has on the
 * machine are made of it, and one home is one home whichever way it is reached.
 */
export const portholeHome = (env: Environment = process.env): string => realPath(resolve(homeOf(env)));

/** Where nodes look how registries are to be asked, unless another folder is named: one for all clusters of a home. */
export const registryConfigOf = (home: string): string => join(home, 'certs.d');

/** Undefined for a user that has no place at all. */
export function cacheIfAny(env: Environment = process.env): string | undefined {
  if (env['PORTHOLE_CACHE']) return resolve(env['PORTHOLE_CACHE']);
  if (isRoot()) return '/var/cache/porthole';
  const folder = userFolder(env, 'XDG_CACHE_HOME', '.cache');
  if (folder !== undefined) return join(folder, 'porthole');
  return env['PORTHOLE_HOME'] ? join(resolve(env['PORTHOLE_HOME']), 'cache') : undefined;
}

/** What can be made anew: the Wine tree, templates, tools, images. `$PORTHOLE_CACHE`, else /var/cache/porthole or XDG's. */
export function portholeCache(env: Environment = process.env): string {
  const cache = cacheIfAny(env);
  if (cache === undefined) throw homeless('PORTHOLE_CACHE');
  return cache;
}
