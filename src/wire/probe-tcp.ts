// Opens a TCP connection for a probe.
import { connect } from 'node:net';

/** Undefined: it was opened; else upstream's text of the failure. Never throws. */
export function probeTcp(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  const shown = `dial tcp ${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (text: string | undefined): void => {
      socket.destroy();
      resolve(text);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end(`${shown}: i/o timeout`));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const said = {
        ECONNREFUSED: 'connect: connection refused',
        EHOSTUNREACH: 'connect: no route to host',
        ENETUNREACH: 'connect: network is unreachable',
      }[error.code ?? ''];
      end(`${shown}: ${said ?? error.message}`);
    });
  });
}
