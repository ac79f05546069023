// DNS over UDP and TCP: a listener on one address for both, and one question to another server.
import { createSocket, type RemoteInfo } from 'node:dgram';
import { connect, type Server } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { FairQueue, type FairQueueLimits } from '../base/fair-queue.ts';
import { systemClock } from '../component-base/system-clock.ts';
import { DnsFrames, framed } from './dns-frames.ts';
import { maxQuestionsOfSource, serveDnsTcp } from './dns-tcp-server.ts';

export type DnsTransport = 'udp' | 'tcp';

export interface DnsListenerOptions {
  readonly address: string;
  /** 0: any that is free for both. */
  readonly port: number;
  /** Further ports for UDP: sockets of their own, one filled by no other. Those that are taken are left out. */
  readonly lanes?: readonly number[];
  /** For connections that nobody uses. Default: the machine's clock. */
  readonly clock?: Pick<Clock, 'monotonic' | 'timer'>;
  /** `source`: the address of who asks. Undefined: no answer is sent. */
  handle(packet: Buffer, transport: DnsTransport, source: string): Promise<Buffer | undefined>;
}

export interface DnsListener {
  readonly port: number;
  /** Those of the further ports that were free. */
  readonly lanes: readonly number[];
  close(): Promise<void>;
}

/** No question is longer; an answer may be. */
const maxQuestionBytes = 4096;
/** Questions that wait; more of one source can't come over TCP. */
const waitingLimits: FairQueueLimits = { each: maxQuestionsOfSource, all: 4 * maxQuestionsOfSource };
/** Answered between two looks at the sockets. A look gives 32 datagrams: what is too much is dropped by us, not by the kernel. */
const atOnce = 8;

/** Undefined: there is no room for it. */
type Ask = (
  packet: Buffer,
  transport: DnsTransport,
  source: string,
) => Promise<Buffer | undefined> | undefined;

/** Sources take turns: a flood of one costs the others the time of reading it. */
function inTurns(handle: DnsListenerOptions['handle']): Ask {
  const waiting = new FairQueue<() => void>(waitingLimits);
  let due = false;
  const round = (): void => {
    for (let i = 0; i < atOnce; i++) waiting.take()?.();
    due = waiting.length > 0;
    if (due) setImmediate(round);
  };
  return (packet, transport, source) => {
    if (packet.length > maxQuestionBytes) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
    const answer = (): void => void handle(packet, transport, source).then(resolve, reject);
    if (!waiting.put(`${transport} ${source}`, answer)) return undefined;
    if (!due) {
      due = true;
      setImmediate(round);
    }
    return promise;
  };
}

function listenTcp(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.removeListener('error', reject);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  });
}

/** Rejects when the port is taken, with no socket left open. */
async function listenUdp(address: string, port: number, ask: Ask): Promise<() => Promise<void>> {
  const udp = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 });
  udp.on('message', (packet: Buffer, from: RemoteInfo) => {
    ask(packet, 'udp', from.address)
      ?.then((answer) => {
        if (answer !== undefined) udp.send(answer, from.port, from.address, () => undefined);
      })
      // a packet may claim to come from port 0, which send refuses, and the socket may be closed by now
      .catch(() => undefined);
  });
  // Also of a socket that got no address: it has a descriptor all the same.
  const close = (): Promise<void> => new Promise((done) => udp.close(() => done()));
  try {
    await new Promise<void>((resolve, reject) => {
      udp.once('error', reject);
      udp.bind(port, address, () => {
        udp.removeListener('error', reject);
        udp.on('error', () => undefined); // of one datagram: the next may do
        resolve();
      });
    });
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}

async function listenOnce(options: DnsListenerOptions): Promise<DnsListener> {
  const { address } = options;
  const ask = inTurns((packet, transport, source) => options.handle(packet, transport, source));
  const { server: tcp, cut } = serveDnsTcp({
    clock: options.clock ?? systemClock,
    handle: (packet, source) => ask(packet, 'tcp', source) ?? Promise.reject(new Error('no room')),
  });
  const port = await listenTcp(tcp, address, options.port);
  const sockets: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(sockets.map((closeSocket) => closeSocket()));
    await new Promise<void>((done) => {
      tcp.close(() => done());
      cut();
    });
  };
  try {
    sockets.push(await listenUdp(address, port, ask));
  } catch (error) {
    await close();
    throw error;
  }
  const lanes: number[] = [];
  for (const lane of options.lanes ?? []) {
    const closeLane = await listenUdp(address, lane, ask).catch(() => undefined);
    if (closeLane === undefined) continue;
    sockets.push(closeLane);
    lanes.push(lane);
  }
  return { port, lanes, close };
}

export async function listenDns(options: DnsListenerOptions): Promise<DnsListener> {
  for (let tries = 5; ; tries--) {
    try {
      return await listenOnce(options);
    } catch (error) {
      // a port that is free for TCP may be taken for UDP
      if (options.port !== 0 || tries === 0) throw error;
    }
  }
}

export interface DnsServerAddress {
  readonly address: string;
  readonly port: number;
}

export interface DnsExchangeOptions {
  readonly transport: DnsTransport;
  readonly timeoutMs: number;
  /** Packets that are not the answer are passed over. */
  accepts(packet: Buffer): boolean;
}

/** Each question has a socket, and so a source port, of its own. */
export function exchangeDns(
  server: DnsServerAddress,
  packet: Buffer,
  options: DnsExchangeOptions,
): Promise<Buffer> {
  return options.transport === 'udp'
    ? exchangeUdp(server, packet, options)
    : exchangeTcp(server, packet, options);
}

function exchangeUdp(server: DnsServerAddress, packet: Buffer, options: DnsExchangeOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(server.address.includes(':') ? 'udp6' : 'udp4');
    let ended = false;
    const end = (finish: () => void): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      socket.close();
      finish();
    };
    const timer = setTimeout(
      () => end(() => reject(new Error(`no answer from ${server.address} in ${options.timeoutMs} ms`))),
      options.timeoutMs,
    );
    socket.on('error', (error) => end(() => reject(error)));
    socket.on('message', (answer: Buffer) => {
      if (options.accepts(answer)) end(() => resolve(answer));
    });
    // connected: the kernel takes answers from this server alone, and says when nobody listens there
    socket.connect(server.port, server.address, (error?: Error) => {
      // without a route there is an error here, and no 'error' event
      if (error) end(() => reject(error));
      else if (!ended) socket.send(packet);
    });
  });
}

function exchangeTcp(server: DnsServerAddress, packet: Buffer, options: DnsExchangeOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.address, port: server.port });
    const end = (finish: () => void): void => {
      clearTimeout(timer);
      socket.destroy();
      finish();
    };
    const timer = setTimeout(
      () => end(() => reject(new Error(`no answer from ${server.address} in ${options.timeoutMs} ms`))),
      options.timeoutMs,
    );
    socket.once('error', (error) => end(() => reject(error)));
    socket.once('close', () => end(() => reject(new Error(`${server.address} closed the connection`))));
    const frames = new DnsFrames();
    socket.on('data', (data: Buffer) => {
      frames.push(data);
      for (let answer = frames.next(); answer !== undefined; answer = frames.next()) {
        const whole = answer;
        if (options.accepts(whole)) end(() => resolve(Buffer.from(whole)));
      }
    });
    socket.once('connect', () => socket.write(framed(packet)));
  });
}
