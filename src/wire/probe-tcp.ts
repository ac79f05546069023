// Opens a TCP connection for a probe.

import { connect } from 'node:net';
import { hostPort } from '../base/ip.ts';

export interface TcpProbe {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

/** Undefined: it was opened; else upstream's text of the failure. Never throws. `signal`: nobody wants to know any more. */
export function probeTcp(
  { host, port, timeoutMs }: TcpProbe,
  signal: AbortSignal,
): Promise<string | undefined> {
  const shown = `dial tcp ${hostPort(host, port)}`;
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (text: string | undefined): void => {
      signal.removeEventListener('abort', stop);
      socket.destroy();
      resolve(text);
    };
    const stop = (): void => end(`${shown}: operation was canceled`);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
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
