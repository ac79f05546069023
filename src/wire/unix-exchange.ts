// A unix socket with one question and one answer a connection: the client half-closes, the server answers and closes.
import { createServer, type Socket } from 'node:net';

export interface UnixExchangeServer {
  close(): Promise<void>;
}

export interface UnixExchangeOptions {
  readonly path: string;
  /** A longer question ends the connection. */
  readonly maxQuestionBytes: number;
  readonly idleTimeoutMs: number;
  answer(question: Buffer): Promise<Buffer>;
}

function serve(socket: Socket, options: UnixExchangeOptions): void {
  const parts: Buffer[] = [];
  let total = 0;
  socket.setTimeout(options.idleTimeoutMs, () => socket.destroy());
  socket.on('error', () => socket.destroy()); // the client went away
  socket.on('data', (data: Buffer) => {
    total += data.length;
    if (total > options.maxQuestionBytes) socket.destroy();
    else parts.push(data);
  });
  socket.on('end', () => {
    socket.setTimeout(0);
    options.answer(Buffer.concat(parts)).then(
      (answer) => socket.end(answer),
      () => socket.destroy(),
    );
  });
}

/** The path must not exist: the caller, who holds the lock of its folder, removes a stale socket. */
export function serveUnixExchanges(options: UnixExchangeOptions): Promise<UnixExchangeServer> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serve(socket, options);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path: options.path }, () => {
      server.removeListener('error', reject);
      resolve({
        close: () =>
          new Promise((done) => {
            server.close(() => done());
            for (const socket of sockets) socket.destroy();
          }),
      });
    });
  });
}
