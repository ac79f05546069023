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

/** `preferred` when it is free on `host` and not in `taken`, else one that the system chooses. */
export async function freePort(
  host: string,
  preferred: number,
  taken: readonly number[] = [],
): Promise<number> {
  for (const candidate of [preferred, 0, 0, 0]) {
    if (taken.includes(candidate)) continue;
    const port = await tryListen(host, candidate);
    if (port !== undefined && !taken.includes(port)) return port;
  }
  throw new Error(`no free port on ${host}`);
}
