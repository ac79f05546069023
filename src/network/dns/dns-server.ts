// Cluster DNS: answers for the cluster's domain from memory and forwards the rest.
import type { Answer } from 'dns-packet';
import {
  endpointslices,
  namespaces as namespacesResource,
  services as servicesResource,
} from '../../api/generated/resources.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import type { Logger } from '../../component-base/logger.ts';
import {
  type DnsListener,
  type DnsListenerOptions,
  type DnsServerAddress,
  type DnsTransport,
  listenDns,
} from '../../wire/dns-sockets.ts';
import {
  answersQuestion,
  answersTooMany,
  type DnsQuestion,
  type DnsReply,
  encodeQuery,
  type Rcode,
  rcode,
  readQuestion,
  writeRefusal,
  writeReply,
} from './dns-message.ts';
import { type ClusterView, type Resolution, Zone } from './dns-records.ts';
import { clusterView, indexed } from './dns-view.ts';
import { createForwarder, type Forwarder } from './forwarder.ts';

export interface DnsOptions {
  /** Before its `start`: indexes are added. */
  readonly informers: Pick<InformerFactory, 'informer'>;
  /** The cluster as it was known before this process; undefined while there is nothing of the kind. */
  readonly lastKnown?: () => ClusterView | undefined;
  readonly address: string;
  /** 0: any. */
  readonly port: number;
  /** Default cluster.local. */
  readonly clusterDomain?: string;
  /** The machine's resolvers, as of now; see upstreamsOf. None: other names are refused. */
  readonly upstreams: () => readonly DnsServerAddress[];
  /** How long one of them is waited for. Default 2000. */
  readonly upstreamTimeoutMs?: number;
  /** Seconds. Default 5, as CoreDNS. */
  readonly ttl?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

const maxAliases = 8;

const refusal = (question: DnsQuestion, code: Rcode, transport: DnsTransport): Buffer =>
  writeReply(question, { rcode: code, authoritative: false, answers: [] }, transport);

/** What `lastKnown` says is used until the informers have read the server's lists. */
function viewOf({ informers, lastKnown }: Pick<DnsOptions, 'informers' | 'lastKnown'>): {
  view: ClusterView;
  isKnown: () => boolean;
} {
  const services = informers.informer(servicesResource);
  const slices = informers.informer(endpointslices);
  const namespaces = informers.informer(namespacesResource);
  const live = clusterView({
    services: indexed(services),
    slices: indexed(slices),
    namespaces: indexed(namespaces),
  });
  const known = (): ClusterView | undefined =>
    [services, slices, namespaces].every((informer) => informer.hasSynced()) ? live : lastKnown?.();
  const now = (): ClusterView => known() ?? live;
  return {
    isKnown: () => known() !== undefined,
    view: {
      service: (namespace, name) => now().service(namespace, name),
      slices: (namespace, name) => now().slices(namespace, name),
      namespaceExists: (name) => now().namespaceExists(name),
      servicesByIP: (ip) => now().servicesByIP(ip),
      slicesByAddress: (ip) => now().slicesByAddress(ip),
    },
  };
}

interface Asked {
  readonly packet: Buffer;
  readonly question: DnsQuestion;
  readonly transport: DnsTransport;
  readonly source: string;
}

class DnsServer {
  readonly #options: Omit<DnsOptions, 'address' | 'port'>;
  readonly #zone: Zone;
  readonly #forwarder: Forwarder;
  readonly #isKnown: () => boolean;

  constructor(options: Omit<DnsOptions, 'address' | 'port'>) {
    const { view, isKnown } = viewOf(options);
    const { random, log, upstreams } = options;
    this.#options = options;
    this.#isKnown = isKnown;
    this.#zone = new Zone(view, {
      clusterDomain: options.clusterDomain ?? 'cluster.local',
      ttl: options.ttl ?? 5,
    });
    const { upstreamTimeoutMs: timeoutMs } = options;
    this.#forwarder = createForwarder({ upstreams, random, log, timeoutMs });
  }

  async handle(packet: Buffer, transport: DnsTransport, source: string): Promise<Buffer | undefined> {
    const read = readQuestion(packet);
    if (read.kind === 'ignore') return undefined;
    if (read.kind === 'refuse') return writeRefusal(read.id, read.rcode);
    const { question } = read;
    try {
      return await this.#answer({ packet, question, transport, source });
    } catch (error) {
      this.#options.log.error({ error, name: question.name }, 'a DNS question could not be answered');
      return refusal(question, rcode.servFail, transport);
    }
  }

  async #answer(asked: Asked): Promise<Buffer> {
    const { question, transport } = asked;
    const found = this.#resolve(question.name, asked);
    if (found.kind === 'outside') return this.#forward(asked);
    // before the first list is in, "no such name" would be a lie that clients remember
    if (!this.#isKnown()) return refusal(question, rcode.servFail, transport);
    return writeReply(question, await this.#reply(found, asked), transport);
  }

  /** No more of it than the answer can carry. */
  #resolve(name: string, { question, transport }: Asked): Resolution {
    const { random } = this.#options;
    return this.#zone.resolve(name, question.type, {
      most: answersTooMany(name, question, transport),
      first: (length) => random.uint(length),
    });
  }

  async #forward({ packet, question, transport, source }: Asked): Promise<Buffer> {
    if (this.#forwarder.isOwn(question)) {
      this.#options.log.error({ name: question.name }, 'a resolver sends questions back here: DNS loop');
      return refusal(question, rcode.refused, transport);
    }
    if (this.#options.upstreams().length === 0) return refusal(question, rcode.refused, transport);
    const answer = await this.#forwarder.forward(packet, question, transport, source);
    return answer ?? refusal(question, rcode.servFail, transport);
  }

  async #reply(found: Resolution, asked: Asked): Promise<DnsReply> {
    const soa = (): Answer[] => [this.#zone.soa(Math.floor(this.#options.clock.now() / 1000))];
    switch (found.kind) {
      case 'answers':
        return {
          rcode: rcode.noError,
          authoritative: true,
          answers: this.#shuffled(found.answers),
          additionals: found.additionals,
        };
      case 'alias': {
        const answers: Answer[] = [found.answer];
        if (asked.question.type !== 'CNAME') answers.push(...(await this.#follow(found.target, asked, 1)));
        return { rcode: rcode.noError, authoritative: true, answers };
      }
      case 'noData':
        return { rcode: rcode.noError, authoritative: true, answers: [], authorities: soa() };
      default:
        return { rcode: rcode.nxDomain, authoritative: true, answers: [], authorities: soa() };
    }
  }

  /** What an ExternalName stands for: stub resolvers don't ask a second time. */
  async #follow(target: string, asked: Asked, depth: number): Promise<readonly Answer[]> {
    if (depth > maxAliases) return [];
    const found = this.#resolve(target, asked);
    if (found.kind === 'answers') return found.answers;
    if (found.kind === 'alias')
      return [found.answer, ...(await this.#follow(found.target, asked, depth + 1))];
    if (found.kind !== 'outside' || this.#options.upstreams().length === 0) return [];
    const { type } = asked.question;
    const question = { id: 0, name: target, type, recursionDesired: true, ednsPayloadBytes: undefined };
    const answer = await this.#forwarder.forward(encodeQuery(0, target, type), question, 'udp', asked.source);
    const decoded = answer === undefined ? undefined : answersQuestion(answer, 0, question);
    return (decoded?.answers ?? []).filter((record) => record.type !== 'OPT');
  }

  /** Clients take the first address: each is first in its turn. */
  #shuffled(answers: readonly Answer[]): readonly Answer[] {
    const list = [...answers];
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.#options.random.uint(i + 1);
      [list[i], list[j]] = [list[j]!, list[i]!];
    }
    return list;
  }
}

/** The server without its sockets. */
export function createDnsHandler(
  options: Omit<DnsOptions, 'address' | 'port'>,
): DnsListenerOptions['handle'] {
  const server = new DnsServer(options);
  return (packet, transport, source) => server.handle(packet, transport, source);
}

/** Listens on UDP and TCP; its port is in the result. */
export async function startDns(options: DnsOptions): Promise<DnsListener> {
  const { address, port } = options;
  return listenDns({ address, port, handle: createDnsHandler(options) });
}
