// Hands questions about other names to the resolvers outside: in turn, bounded in time and number, fair to those who ask, never in a circle.
import type { Random } from '../../base/random.ts';
import type { Logger } from '../../component-base/logger.ts';
import { type DnsServerAddress, type DnsTransport, exchangeDns } from '../../wire/dns-sockets.ts';
import { answersQuestion, type DnsQuestion } from './dns-message.ts';
import { createForwardShares } from './forward-shares.ts';

export interface Forwarder {
  /** The upstream's packet with the client's id; undefined when nobody answered, or when `source` has too many on their way. */
  forward(
    packet: Buffer,
    question: DnsQuestion,
    transport: DnsTransport,
    source: string,
  ): Promise<Buffer | undefined>;
  /** True when a question that came in is one that this forwarder sent out. */
  isOwn(question: DnsQuestion): boolean;
}

export interface ForwarderOptions {
  readonly upstreams: () => readonly DnsServerAddress[];
  readonly random: Random;
  readonly log: Logger;
  /** For one upstream. Default 2000. */
  readonly timeoutMs?: number | undefined;
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  const pending = new Map<string, number>();
  const shares = createForwardShares();
  let preferred = 0;
  const keyOf = (id: number, question: DnsQuestion): string =>
    `${id} ${question.type} ${question.name.toLowerCase()}`;

  async function askOne(
    upstream: DnsServerAddress,
    packet: Buffer,
    question: DnsQuestion,
    transport: DnsTransport,
  ): Promise<Buffer> {
    const id = options.random.uint(65_536);
    const key = keyOf(id, question);
    const query = Buffer.from(packet);
    query.writeUInt16BE(id, 0);
    pending.set(key, (pending.get(key) ?? 0) + 1);
    try {
      const answer = await exchangeDns(upstream, query, {
        transport,
        timeoutMs: options.timeoutMs ?? 2000,
        accepts: (candidate) => answersQuestion(candidate, id, question) !== undefined,
      });
      const reply = Buffer.from(answer);
      reply.writeUInt16BE(question.id, 0);
      return reply;
    } finally {
      const left = (pending.get(key) ?? 1) - 1;
      if (left > 0) pending.set(key, left);
      else pending.delete(key);
    }
  }

  return {
    isOwn: (question) => pending.has(keyOf(question.id, question)),
    forward: async (packet, question, transport, source) => {
      if (!shares.begin(source)) return undefined;
      try {
        const upstreams = options.upstreams();
        const { length } = upstreams;
        for (let i = 0; i < length; i++) {
          const index = (preferred + i) % length;
          try {
            const answer = await askOne(upstreams[index]!, packet, question, transport);
            preferred = index;
            return answer;
          } catch (error) {
            options.log.debug({ error, upstream: upstreams[index] }, 'resolver did not answer');
          }
        }
        return undefined;
      } finally {
        shares.end(source);
      }
    },
  };
}
