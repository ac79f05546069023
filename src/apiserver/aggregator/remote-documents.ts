// Knows what other API servers serve, and asks them again now and then: upstream's discovery manager.

import { aggregatedMediaType } from '../../apimachinery/discovery/aggregated.ts';
import type { RemoteVersion } from '../../apimachinery/discovery/remote-version.ts';
import type { Json, JsonObject } from '../../apimachinery/json.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { parseLarge } from '../../client/parse-large.ts';
import type { Logger } from '../../component-base/logger.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import { discoveredList, discoveredVersions, openApiV3Hash } from './remote-answers.ts';
import { type RemoteOpenApiV2, remoteOpenApiV2 } from './remote-openapi.ts';
import type { AskRemote, RemoteAnswer } from './remote-questions.ts';
import { groupVersionOf, type RemoteService, serverKeyOf } from './remote-service.ts';

const refreshMs = 60_000;
const backoff: Backoff = { firstMs: 500, longestMs: refreshMs };
const discoveryTimeoutMs = 5_000;
const openApiTimeoutMs = 60_000;

const discoverer: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] };
const reader: UserInfo = { name: 'system:aggregator', groups: [] };
const aggregated = aggregatedMediaType('v2');

interface Known {
  readonly resources: readonly JsonObject[];
  readonly fresh: boolean;
}

const nothing: Known = { resources: [], fresh: false };

/** One server; several APIServices may name it. */
interface Server {
  members: readonly RemoteService[];
  readonly known: Map<string, Known>;
  readonly described: Map<string, string>;
  openApiV2: { readonly etag: string; readonly body: string; readonly found: RemoteOpenApiV2 } | undefined;
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

export class RemoteDocuments {
  readonly #config: RemoteDocumentsConfig;
  readonly #servers = new Map<string, Server>();
  #isClosed = false;

  constructor(config: RemoteDocumentsConfig) {
    this.#config = config;
  }

  /** Whoever is new or has changed is asked at once. `changed`: names of APIServices. */
  set(remotes: Iterable<RemoteService>, changed: ReadonlySet<string>): void {
    const byServer = Map.groupBy(remotes, serverKeyOf);
    for (const [key, server] of this.#servers)
      if (!byServer.has(key)) {
        server.cancel();
        server.members = [];
        this.#servers.delete(key);
      }
    for (const [key, members] of byServer) {
      const server = this.#servers.get(key) ?? this.#add(key);
      server.members = members;
      const names = new Set(members.map(({ group, version }) => groupVersionOf(group, version)));
      for (const known of server.known.keys()) if (!names.has(known)) server.known.delete(known);
      if (!members.some(({ name }) => changed.has(name))) continue;
      // What is known is of those that were there before.
      server.openApiV2 = server.openApiV2 && { ...server.openApiV2, etag: '' };
      this.#refresh(server);
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
    return new Map([...this.#servers.values()].flatMap(({ described }) => [...described]));
  }

  openApiV2(): RemoteOpenApiV2[] {
    return [...this.#servers.values()].flatMap(({ openApiV2 }) => openApiV2?.found ?? []);
  }

  close(): void {
    this.#isClosed = true;
    for (const server of this.#servers.values()) server.cancel();
  }

  #add(key: string): Server {
    const server: Server = {
      members: [],
      known: new Map(),
      described: new Map(),
      openApiV2: undefined,
      etag: '',
      failures: 0,
      running: false,
      describing: false,
      again: false,
      cancel: () => {},
    };
    this.#servers.set(key, server);
    return server;
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
    for (const describe of [() => this.#describe(server), () => this.#describeV2(server)])
      await describe().catch((error: unknown) =>
        this.#config.log.debug(
          { error, service: server.members[0]?.service },
          'OpenAPI of an API server not read',
        ),
      );
    server.describing = false;
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
    const own = server.members.map(({ group, version }) => `/apis/${group}/${version}/`);
    const known = server.openApiV2;
    const answer = await this.#askReader(first, '/openapi/v2', known?.etag);
    if (answer.status === 304 && known !== undefined) return;
    if (answer.status !== 200) {
      server.openApiV2 = undefined;
      return;
    }
    // It may tell nothing of what it said before.
    const body = sha256Hex(Buffer.concat([answer.body, Buffer.from(own.join())]));
    if (body === known?.body) return;
    const isOwn = (path: string): boolean => own.some((one) => path.startsWith(one) || `${path}/` === one);
    const found = await remoteOpenApiV2(await parsed(answer), isOwn);
    server.openApiV2 = { etag: answer.etag.length < 1000 ? answer.etag : '', body, found };
  }
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
