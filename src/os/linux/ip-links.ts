// Links by iproute2: changes through `ip -batch`, facts through `ip -j`.
import { type LinkChange, type LinkInfo, type Links, LinksError, type RouteInfo } from '../links.ts';
import { type Processes, runOrThrow } from '../processes.ts';
import { renderLinkChange } from './ip-render.ts';

interface IpAddress {
  readonly ifname: string;
  readonly ifindex: number;
  readonly flags: readonly string[];
  readonly mtu: number;
  readonly address?: string;
  readonly master?: string;
  readonly addr_info?: readonly {
    readonly family: string;
    readonly local?: string;
    readonly prefixlen: number;
  }[];
}
interface IpRoute {
  readonly dst: string;
  readonly type?: string;
  readonly gateway?: string;
  readonly dev?: string;
  readonly protocol: string;
}

async function apply(
  processes: Processes,
  changes: readonly LinkChange[],
  options: Parameters<Links['apply']>[1] = {},
): Promise<void> {
  if (changes.length === 0) return;
  const lines = changes.map(renderLinkChange);
  const force = options.keepGoing === undefined ? [] : ['-force'];
  const result = await processes.run('ip', [...force, '-batch', '-'], { input: `${lines.join('\n')}\n` });
  if (result.code === 0 || options.keepGoing === 'silently') return;
  throw new LinksError(failures(lines, result.stderr.toString()));
}

/** Each line that failed with what ip said before it named it. */
function failures(lines: readonly string[], said: string): string {
  const found: string[] = [];
  let cause: string[] = [];
  for (const line of said.split('\n')) {
    const number = /^Command failed -:([0-9]+)$/.exec(line)?.[1];
    if (number === undefined) cause.push(line);
    else found.push(`ip ${lines[Number(number) - 1]}: ${cause.join('\n').trim()}`);
    if (number !== undefined) cause = [];
  }
  return found.length > 0 ? found.join('; ') : `ip ${lines.join('; ')}: ${said.trim()}`;
}

async function links(processes: Processes): Promise<readonly LinkInfo[]> {
  const found = JSON.parse(await runOrThrow(processes, 'ip', ['-j', 'address', 'show'])) as IpAddress[];
  // ip 6.1 prints an empty object for a link that vanished meanwhile
  return found
    .filter((link) => typeof link.ifname === 'string')
    .map((link) => ({
      name: link.ifname,
      index: link.ifindex,
      mac: link.address ?? '',
      mtu: link.mtu,
      up: link.flags.includes('UP'),
      ...(link.master === undefined ? {} : { master: link.master }),
      addresses: (link.addr_info ?? [])
        .filter((a) => a.family === 'inet' && a.local !== undefined)
        .map((a) => `${a.local}/${a.prefixlen}`),
    }));
}

async function routes(
  processes: Processes,
  options: { readonly protocol?: number } = {},
): Promise<readonly RouteInfo[]> {
  const filter = options.protocol === undefined ? [] : ['proto', String(options.protocol)];
  const text = await runOrThrow(processes, 'ip', ['-N', '-4', '-j', 'route', 'show', ...filter]);
  return (JSON.parse(text.trim() === '' ? '[]' : text) as IpRoute[]).map((route) => ({
    to: route.dst,
    ...(route.gateway === undefined ? {} : { via: route.gateway }),
    ...(route.dev === undefined ? {} : { dev: route.dev }),
    unreachable: route.type === 'unreachable',
    // with a filter, ip leaves the protocol out of the answer
    protocol: route.protocol ?? String(options.protocol),
  }));
}

function watch(processes: Processes, changed: () => void, signal: AbortSignal): void {
  if (signal.aborted) return;
  const child = processes.spawn('ip', ['-o', '-4', 'monitor', 'link', 'address', 'route']);
  const stop = (): void => child.kill('SIGKILL');
  child.stdout?.on('data', changed);
  child.stderr?.resume();
  child.stdin?.end();
  signal.addEventListener('abort', stop, { once: true });
  void child.exited
    .catch(() => 1)
    .then(() => {
      signal.removeEventListener('abort', stop);
      // the monitor loses its socket when the kernel's queue overflows: all may have changed
      if (!signal.aborted) changed();
    });
}

export function linuxLinks(processes: Processes): Links {
  return {
    apply: (changes, options) => apply(processes, changes, options),
    links: () => links(processes),
    routes: (options) => routes(processes, options),
    watch: (changed, signal) => watch(processes, changed, signal),
  };
}
