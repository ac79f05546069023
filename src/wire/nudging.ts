// What the client of an upgraded connection may be sent between the frames of its server, where those are known.
import type { Duplex } from 'node:stream';
import type { SessionOptions } from './session-clients.ts';
import { SpdyBoundaries, unaskedAnswer } from './spdy-boundaries.ts';
import { unaskedPong, WebSocketBoundaries } from './websocket-boundaries.ts';

const framings = {
  'spdy/3.1': { boundaries: () => new SpdyBoundaries(), idle: unaskedAnswer },
  websocket: { boundaries: () => new WebSocketBoundaries(), idle: unaskedPong },
};

/** `protocol`: of the backend's answer, of which `head` is what came with it. Nothing for others: their bytes are not ours to add to. */
export function nudging(
  protocol: string | undefined,
  { client, backend, head }: { readonly client: Duplex; readonly backend: Duplex; readonly head: Buffer },
): Pick<SessionOptions, 'nudge'> {
  const name = protocol?.toLowerCase();
  if (name !== 'spdy/3.1' && name !== 'websocket') return {};
  const { boundaries: make, idle } = framings[name];
  const boundaries = make();
  boundaries.read(head);
  backend.on('data', (data: Buffer) => boundaries.read(data));
  return { nudge: () => void (boundaries.between && client.writable && client.write(idle)) };
}
