// Where Porthole keeps things: data of clusters, and a cache shared by them.
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

export interface Environment {
  readonly [name: string]: string | undefined;
}

const isRoot = (): boolean => process.getuid?.() === 0;

function homeOf(env: Environment): string {
  if (env['PORTHOLE_HOME']) return env['PORTHOLE_HOME'];
  if (isRoot()) return '/var/lib/porthole';
  return join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local/state'), 'porthole');
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

/** What can be made anew: the Wine tree, templates, tools, images. `$PORTHOLE_CACHE`, else /var/cache/porthole or XDG's. */
export function portholeCache(env: Environment = process.env): string {
  if (env['PORTHOLE_CACHE']) return env['PORTHOLE_CACHE'];
  if (isRoot()) return '/var/cache/porthole';
  return join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'porthole');
}
