// Picks a port of this machine that nobody uses.
import { createServer } from 'node:net';

function tryListen(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined));
    });
  });
}

/** `preferred` when it is free on `host`, else one that the system chooses. */
export async function freePort(host: string, preferred: number): Promise<number> {
  const port = (await tryListen(host, preferred)) ?? (await tryListen(host, 0));
  if (port === undefined) throw new Error(`no free port on ${host}`);
  return port;
}
