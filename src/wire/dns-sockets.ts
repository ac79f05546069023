// DNS over UDP and TCP: a listener on one address for both, and one question to another server.
import { createSocket, type RemoteInfo } from 'node:dgram';
import { connect, createServer, type Server, type Socket } from 'node:net';

export type DnsTransport = 'udp' | 'tcp';

export interface DnsListenerOptions {
  readonly address: string;
  /** 0: any that is free for both. */
  readonly port: number;
  /** Undefined: no answer is sent. */
  handle(packet: Buffer, transport: DnsTransport): Promise<Buffer | undefined>;
}

export interface DnsListener {
  readonly port: number;
  close(): Promise<void>;
}

const idleTimeoutMs = 10_000;
const maxConnections = 1024;
/** Answers of one connection that are still being made. */
const maxPipelined = 32;

/** Calls back for each message: two bytes of length, then the message. */
function readFrames(socket: Socket, message: (packet: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
    while (rest.length >= 2) {
      const end = 2 + rest.readUInt16BE(0);
      if (rest.length < end) return;
      const packet = rest.subarray(2, end);
      rest = rest.subarray(end);
      message(packet);
    }
  });
}

function framed(packet: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(packet.length);
  return Buffer.concat([length, packet]);
}

function serveTcp(options: DnsListenerOptions, sockets: Set<Socket>): Server {
  const server = createServer((socket) => {
    let pending = 0;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy()); // the client went away
    socket.setTimeout(idleTimeoutMs, () => socket.destroy());
    readFrames(socket, (packet) => {
      if (++pending > maxPipelined) {
        socket.destroy();
        return;
      }
      options.handle(packet, 'tcp').then(
        (answer) => {
          pending--;
          if (answer !== undefined && socket.writable) socket.write(framed(answer));
        },
        () => socket.destroy(),
      );
    });
  });
  server.maxConnections = maxConnections;
  return server;
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

async function listenOnce(options: DnsListenerOptions): Promise<DnsListener> {
  const sockets = new Set<Socket>();
  const tcp = serveTcp(options, sockets);
  const port = await listenTcp(tcp, options.address, options.port);
  const udp = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 });
  udp.on('message', (packet: Buffer, from: RemoteInfo) => {
    options
      .handle(packet, 'udp')
      .then((answer) => {
        if (answer !== undefined) udp.send(answer, from.port, from.address, () => undefined);
      })
      // a packet may claim to come from port 0, which send refuses, and the socket may be closed by now
      .catch(() => undefined);
  });
  const closeTcp = (): Promise<void> =>
    new Promise((done) => {
      tcp.close(() => done());
      for (const socket of sockets) socket.destroy();
    });
  try {
    await new Promise<void>((resolve, reject) => {
      udp.once('error', reject);
      udp.bind(port, options.address, () => {
        udp.removeListener('error', reject);
        udp.on('error', () => undefined); // of one datagram: the next may do
        resolve();
      });
    });
  } catch (error) {
    await closeTcp();
    throw error;
  }
  return {
    port,
    close: async () => {
      await new Promise<void>((done) => udp.close(() => done()));
      await closeTcp();
    },
  };
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
    readFrames(socket, (answer) => {
      if (options.accepts(answer)) end(() => resolve(Buffer.from(answer)));
    });
    socket.once('connect', () => socket.write(framed(packet)));
  });
}
