// Requests that are sent in one go over HTTP/1.1, without credentials and without waiting for answers.
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import type { Target } from './load-job.ts';

/** Opens the connections, then floods all of them at once; until each request is answered. */
export async function pipelined(
  { origin, ca }: Target,
  connections: number,
  requests: number,
  answered: (status: number) => void,
): Promise<void> {
  const { hostname: host, port } = new URL(origin);
  const open = async (): Promise<TLSSocket> => {
    const socket = connect({ host, port: Number(port), ca, ALPNProtocols: ['http/1.1'] });
    await once(socket, 'secureConnect');
    return socket;
  };
  const sockets = await Promise.all(Array.from({ length: connections }, open));
  const flood = 'GET /version HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests);
  await Promise.all(
    sockets.map(async (socket) => {
      socket.write(flood);
      let left = requests;
      let rest = '';
      while (left > 0) {
        const [bytes] = (await once(socket, 'data')) as [Buffer];
        const parts = `${rest}${bytes.toString('latin1')}`.split(/HTTP\/1\.1 (?=\d{3})/);
        for (const part of parts.slice(1)) {
          answered(Number(part.slice(0, 3)));
          left--;
        }
        // A first line may come in two pieces.
        rest = parts.at(-1)!.slice(-11);
      }
      socket.destroy();
    }),
  );
}
