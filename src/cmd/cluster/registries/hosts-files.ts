// What a cluster's own nodes are told of registries: hosts.toml files, made of the mirrors and the registry of `up`.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../../../component-base/durable-file.ts';
import type { Mirrors } from './mirrors.ts';

export interface OwnRegistries {
  /** The machine's address on the fabric: what is loopback for the machine is there for nodes. */
  readonly gateway: string;
  /** Of the registry beside the cluster. */
  readonly registryPort: number | undefined;
  readonly mirrors: Mirrors | undefined;
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

const isLoopback = (url: URL): boolean => loopback.test(url.hostname);

function urlForNodes(text: string, gateway: string): string {
  const url = new URL(text);
  if (isLoopback(url)) url.hostname = gateway;
  return url.href.replace(/\/$/, '');
}

/** `server` is left out: after the mirrors containerd then asks the registry itself, in the way that is usual for it. */
const hostsFile = (urls: readonly string[]): string =>
  urls.map((url) => `[host.${JSON.stringify(url)}]\n  capabilities = ["pull", "resolve"]\n`).join('\n');

/** By its name it would be asked last on the node's own loopback, where nobody listens, and a missing image be "refused". */
const ownFile = (url: string): string => `server = ${JSON.stringify(url)}\n${hostsFile([url])}`;

/** By name of the registry. */
export function hostsFilesOf({ gateway, registryPort, mirrors }: OwnRegistries): ReadonlyMap<string, string> {
  const own = registryPort === undefined ? [] : [`localhost:${registryPort}`, `127.0.0.1:${registryPort}`];
  return new Map([
    ...own.map((name): [string, string] => [name, ownFile(`http://${gateway}:${registryPort}`)]),
    ...Object.entries(mirrors ?? {}).map(([name, urls]): [string, string] => [
      name,
      hostsFile(urls.map((url) => urlForNodes(url, gateway))),
    ]),
  ]);
}

/** Of the machine, what nodes have to reach for them. */
export function portsOfMirrors(mirrors: Mirrors | undefined): readonly number[] {
  const urls = Object.values(mirrors ?? {})
    .flat()
    .map((text) => new URL(text))
    .filter(isLoopback);
  return urls.map(({ port, protocol }) => Number(port) || (protocol === 'https:' ? 443 : 80));
}

/** Read with each pull: nobody has to be started again. What is named no more goes. */
export function writeHostsFiles(directory: string, files: ReadonlyMap<string, string>): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const [name, text] of files) {
    mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
    writeDurably(join(directory, name, 'hosts.toml'), text);
  }
  for (const name of readdirSync(directory))
    if (!files.has(name)) rmSync(join(directory, name), { recursive: true, force: true });
}
