// Knows what other API servers serve, and asks them again now and then: upstream's discovery manager.

import { aggregatedMediaType as aggregated } from '../../apimachinery/discovery/aggregated.ts';
import type { RemoteVersion } from '../../apimachinery/discovery/remote-version.ts';
import type { Json, JsonObject } from '../../apimachinery/json.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { loadOnce } from '../../base/load-once.ts';
import { parseLarge } from '../../client/parse-large.ts';
import type { Logger } from '../../component-base/logger.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import { discoveredList, discoveredVersions, openApiV3Hash } from './remote-answers.ts';
import { convertedToV3, type RemoteOpenApiV2, remoteOpenApiV2 } from './remote-openapi.ts';
import type { AskRemote, RemoteAnswer } from './remote-questions.ts';
import { groupVersionOf, isSamePlace, type RemoteService, serverKeyOf } from './remote-service.ts';

const refreshMs = 60_000;
const backoff: Backoff = { firstMs: 500, longestMs: refreshMs };
const discoveryTimeoutMs = 5_000;
const openApiTimeoutMs = 60_000;

const discoverer: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] };
const reader: UserInfo = { name: 'system:aggregator', groups: [] };

interface Known {
  readonly resources: readonly JsonObject[];
  readonly fresh: boolean;
}

const nothing: Known = { resources: [], fresh: false };

interface DescribedV2 {
  readonly etag: string;
  readonly body: string;
  /** The paths that were looked for. */
  readonly own: readonly string[];
  readonly found: RemoteOpenApiV2;
}

/** One server; several APIServices may name it. */
interface Server {
  members: readonly RemoteService[];
  readonly known: Map<string, Known>;
  readonly described: Map<string, string>;
  openApiV2: DescribedV2 | undefined;
  /** It knows no OpenAPI v3. */
  onlyV2: boolean;
  etag: string;
  failures: number;
  running: boolean;
  describing: boolean;
  /** Something changed while it was asked. */
  again: boolean;
  cancel: () => void;
}

export interface RemoteDocumentsConfig {
  readonly ask: AskRemote;
  readonly clock: Clock;
  readonly log: Logger;
  readonly changed: () => void;
}

export interface ConvertedV3 {
  readonly bytes: Buffer;
  /** Names what it was made of. */
  readonly hash: string;
}

/** Of a server that has OpenAPI v2 only and says something of that group and version there. */
function convertedHash({ onlyV2, openApiV2 }: Server, name: string): string | undefined {
  if (!onlyV2 || openApiV2?.own.includes(`/apis/${name}/`) !== true) return undefined;
  return sha256Hex(Buffer.from(`${openApiV2.body} ${name}`)).toUpperCase();
}

export class RemoteDocuments {
  readonly #config: RemoteDocumentsConfig;
  readonly #servers = new Map<string, Server>();
  /** By group and version, for as long as the server says that: whoever asks again, or meanwhile, makes no other. */
  readonly #converted = new WeakMap<RemoteOpenApiV2, Map<string, () => Promise<ConvertedV3>>>();
  #isClosed = false;

  constructor(config: RemoteDocumentsConfig) {
    this.#config = config;
  }

  /** Whoever is new or has changed is asked at once. `changed`: names of APIServices. */
  set(remotes: Iterable<RemoteService>, changed: ReadonlySet<string>): void {
    const byServer = Map.groupBy(remotes, serverKeyOf);
    for (const [key, members] of byServer) if (!this.#servers.has(key)) this.#add(key, members);
    for (const [key, server] of this.#servers)
      if (!byServer.has(key)) {
        server.cancel();
        server.members = [];
        this.#servers.delete(key);
      }
    for (const [key, members] of byServer) {
      const server = this.#servers.get(key)!;
      const isLeft = !namesOf(server.members).isSubsetOf(namesOf(members));
      server.members = members;
      forgetOthers(server);
      if (isLeft || members.some(({ name }) => changed.has(name))) this.#refresh(server);
    }
  }

  versions(): RemoteVersion[] {
    return [...this.#servers.values()].flatMap(({ members, known }) =>
      members.map(({ group, version, groupPriority, versionPriority }): RemoteVersion => {
        const { resources, fresh } = known.get(groupVersionOf(group, version)) ?? nothing;
        const freshness = fresh ? 'Current' : 'Stale';
        return { group, version, groupPriority, versionPriority, freshness, resources };
      }),
    );
  }

  openApiV3(): Map<string, string> {
    const told = new Map([...this.#servers.values()].flatMap(({ described }) => [...described]));
    for (const server of this.#servers.values())
      for (const name of namesOf(server.members)) {
        const hash = convertedHash(server, name);
        if (hash !== undefined) told.set(`apis/${name}`, hash);
      }
    return told;
  }

  /** `path` as in `openApiV3()`; undefined: its server tells it itself, or nobody does. */
  convertedV3(path: string): (() => Promise<ConvertedV3>) | undefined {
    for (const server of this.#servers.values())
      for (const name of namesOf(server.members)) {
        if (path !== `apis/${name}`) continue;
        const hash = convertedHash(server, name);
        const found = server.openApiV2?.found;
        if (hash === undefined || found === undefined) return undefined;
        return this.#conversionOf(found, name, hash);
      }
    return undefined;
  }

  #conversionOf(found: RemoteOpenApiV2, name: string, hash: string): () => Promise<ConvertedV3> {
    const known = this.#converted.get(found) ?? new Map<string, () => Promise<ConvertedV3>>();
    this.#converted.set(found, known);
    const own = [`/apis/${name}/`];
    const made =
      known.get(name) ??
      loadOnce(async () => ({ hash, bytes: await convertedToV3(found, (one) => isBelow(own, one)) }));
    known.set(name, made);
    return made;
  }

  openApiV2(): RemoteOpenApiV2[] {
    return [...this.#servers.values()].flatMap(({ openApiV2 }) => openApiV2?.found ?? []);
  }

  close(): void {
    this.#isClosed = true;
    for (const server of this.#servers.values()) server.cancel();
  }

  #add(key: string, members: readonly RemoteService[]): void {
    const server: Server = {
      members,
      known: new Map(),
      described: new Map(),
      openApiV2: undefined,
      onlyV2: false,
      etag: '',
      failures: 0,
      running: false,
      describing: false,
      again: false,
      cancel: () => {},
    };
    // Who has but other credentials serves what it served, until it says something else.
    for (const old of this.#servers.values())
      if (old.members.some((one) => isSamePlace(one, members[0]!))) {
        for (const [name, known] of old.known) server.known.set(name, known);
        for (const [place, hash] of old.described) server.described.set(place, hash);
        server.openApiV2 ??= old.openApiV2 && { ...old.openApiV2, etag: '' };
        server.onlyV2 ||= old.onlyV2;
      }
    forgetOthers(server);
    this.#servers.set(key, server);
  }

  #refresh(server: Server): void {
    server.cancel();
    if (server.running) {
      server.again = true;
      return;
    }
    server.running = true;
    void this.#read(server).then((worked) => this.#next(server, worked));
  }

  #next(server: Server, worked: boolean): void {
    server.running = false;
    if (this.#isClosed || server.members.length === 0) return;
    this.#config.changed();
    server.failures = worked ? 0 : server.failures + 1;
    if (server.again) {
      server.again = false;
      this.#refresh(server);
      return;
    }
    const ms = worked ? refreshMs : backoffMs(backoff, server.failures);
    server.cancel = this.#config.clock.timer(ms, () => this.#refresh(server));
  }

  /** Whether it told all that was asked. */
  async #read(server: Server): Promise<boolean> {
    const { log } = this.#config;
    try {
      await this.#discover(server);
    } catch (error) {
      for (const [name, { resources }] of server.known) server.known.set(name, { resources, fresh: false });
      log.debug({ error, service: server.members[0]?.service }, 'discovery of an API server failed');
      return false;
    }
    if (!server.describing) void this.#describeAll(server);
    return true;
  }

  /** Who describes nothing, or slowly, serves all the same. */
  async #describeAll(server: Server): Promise<void> {
    server.describing = true;
    const of = namesOf(server.members);
    for (const describe of [() => this.#describe(server), () => this.#describeV2(server)])
      await describe().catch((error: unknown) =>
        this.#config.log.debug(
          { error, service: server.members[0]?.service },
          'OpenAPI of an API server not read',
        ),
      );
    server.describing = false;
    const now = namesOf(server.members);
    if (this.#isClosed || now.size === 0 || of.symmetricDifference(now).size === 0) return;
    // What was read is of those that were there before.
    forgetOthers(server);
    await this.#describeAll(server);
  }

  async #discover(server: Server): Promise<void> {
    const [first] = server.members;
    if (first === undefined) return;
    const { etag } = server;
    const answer = await this.#ask(first, '/apis', { accept: aggregated, etag });
    if (answer.status === 304 && etag !== '') {
      for (const [name, { resources }] of server.known) server.known.set(name, { resources, fresh: true });
      if (server.members.every(({ group, version }) => server.known.has(groupVersionOf(group, version))))
        return;
      // Of a version that was not asked for then.
      server.etag = '';
      return this.#discover(server);
    }
    if (answer.status === 503)
      throw new Error(`service ${first.name} returned non-success response code: 503`);
    if (answer.status !== 200 || !isAggregated(answer.contentType)) return this.#discoverEach(server);
    const names = new Set(server.members.map(({ group, version }) => groupVersionOf(group, version)));
    const found = discoveredVersions(await parsed(answer), (name) => names.has(name));
    for (const name of names) server.known.set(name, { resources: found.get(name) ?? [], fresh: true });
    server.etag = answer.etag.length < 1000 ? answer.etag : '';
  }

  /** Of servers that know nothing of aggregated discovery. */
  async #discoverEach(server: Server): Promise<void> {
    server.etag = '';
    const failures: unknown[] = [];
    for (const member of server.members) {
      const { group, version } = member;
      const path = `/apis/${group}/${version}`;
      const name = groupVersionOf(group, version);
      try {
        const answer = await this.#ask(member, path, { accept: 'application/json' });
        if (answer.status !== 200)
          throw new Error(`failed to download legacy discovery for ${path}: ${answer.status}`);
        const resources = discoveredList(await parsed(answer), group, version);
        server.known.set(name, { resources, fresh: true });
      } catch (error) {
        server.known.set(name, { resources: server.known.get(name)?.resources ?? [], fresh: false });
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  #ask(
    remote: RemoteService,
    path: string,
    more: { readonly accept: string; readonly etag?: string },
  ): Promise<RemoteAnswer> {
    return this.#config.ask(remote, { path, user: discoverer, timeoutMs: discoveryTimeoutMs, ...more });
  }

  #askReader(remote: RemoteService, path: string, etag = ''): Promise<RemoteAnswer> {
    const accept = 'application/json';
    return this.#config.ask(remote, { path, user: reader, timeoutMs: openApiTimeoutMs, accept, etag });
  }

  async #describe(server: Server): Promise<void> {
    const [first] = server.members;
    if (first === undefined) return;
    const answer = await this.#askReader(first, '/openapi/v3');
    const document = answer.status === 200 ? await parsed(answer) : null;
    server.onlyV2 = answer.status === 404;
    server.described.clear();
    for (const { group, version } of server.members) {
      const path = `apis/${group}/${version}`;
      const hash = openApiV3Hash(document, path);
      if (hash !== undefined) server.described.set(path, hash);
    }
  }

  async #describeV2(server: Server): Promise<void> {
    const [first] = server.members;
    if (first === undefined) return;
    const own = ownPaths(server);
    const known = server.openApiV2;
    const isOfThese = isEqualList(known?.own, own);
    const answer = await this.#askReader(first, '/openapi/v2', isOfThese ? known?.etag : '');
    if (answer.status === 304 && isOfThese) return;
    if (answer.status !== 200) {
      server.openApiV2 = undefined;
      return;
    }
    // It may tell nothing of what it said before.
    const body = sha256Hex(Buffer.concat([answer.body, Buffer.from(own.join())]));
    if (body === known?.body) return;
    const found = await remoteOpenApiV2(await parsed(answer), (path) => isBelow(own, path));
    server.openApiV2 = { etag: answer.etag.length < 1000 ? answer.etag : '', body, own, found };
  }
}

const namesOf = (members: readonly RemoteService[]): Set<string> =>
  new Set(members.map(({ group, version }) => groupVersionOf(group, version)));

const ownPaths = ({ members }: Server): string[] =>
  [...namesOf(members)].map((name) => `/apis/${name}/`).sort();

const isEqualList = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a?.length === b.length && b.every((one, index) => a[index] === one);

const isBelow = (own: readonly string[], path: string): boolean =>
  own.some((one) => path.startsWith(one) || `${path}/` === one);

/** What it said of groups and versions that are no longer asked of it. The types are left: the next answer clears them away. */
function forgetOthers(server: Server): void {
  const names = namesOf(server.members);
  for (const name of server.known.keys()) if (!names.has(name)) server.known.delete(name);
  for (const place of server.described.keys())
    if (!names.has(place.slice('apis/'.length))) server.described.delete(place);
  const { openApiV2 } = server;
  const left = new Set(openApiV2?.own).intersection(new Set(ownPaths(server)));
  if (openApiV2 === undefined || left.size === openApiV2.own.length) return;
  const own = [...left];
  const paths = new Map([...openApiV2.found.paths].filter(([path]) => isBelow(own, path)));
  const { definitions, info } = openApiV2.found;
  // Another name than what its server says has, so that the next answer is read.
  const body = sha256Hex(Buffer.from(`${openApiV2.body} ${own.join()}`));
  server.openApiV2 =
    paths.size === 0 ? undefined : { etag: '', body, own, found: { info, paths, definitions } };
}

const parsed = async ({ body }: RemoteAnswer): Promise<Json> =>
  (await parseLarge(body.toString('utf8'))) as Json;

/** The media type that upstream's ContentTypeIsGVK asks for. */
function isAggregated(contentType: string): boolean {
  const parts = contentType.split(';', 10).map((part) => part.trim());
  return (
    parts[0] === 'application/json' &&
    ['g=apidiscovery.k8s.io', 'v=v2', 'as=APIGroupDiscoveryList'].every((part) => parts.includes(part))
  );
}
