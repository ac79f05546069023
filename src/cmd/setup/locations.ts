// Where Porthole keeps things: data of clusters, and a cache shared by them.
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Environment {
  readonly [name: string]: string | undefined;
}

const isRoot = (): boolean => process.getuid?.() === 0;

/** `$PORTHOLE_HOME`, else /var/lib/porthole for root, else the XDG state folder. */
export function portholeHome(env: Environment = process.env): string {
  if (env['PORTHOLE_HOME']) return env['PORTHOLE_HOME'];
  if (isRoot()) return '/var/lib/porthole';
  return join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local/state'), 'porthole');
}

/** What can be made anew: the Wine tree, templates, tools, images. `$PORTHOLE_CACHE`, else /var/cache/porthole or XDG's. */
export function portholeCache(env: Environment = process.env): string {
  if (env['PORTHOLE_CACHE']) return env['PORTHOLE_CACHE'];
  if (isRoot()) return '/var/cache/porthole';
  return join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'porthole');
}
