// Accepts a WebSocket on an upgraded connection: chooses the subprotocol, bounds messages, hands over binary frames.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { HttpRequest } from './http-message.ts';
import { type SessionClients, sessionClients } from './session-clients.ts';
import { withoutToken } from './websocket-token.ts';

/** kubectl sends 32 KiB at a time; a message larger than this is hostile. */
const maxMessageBytes = 4 * 1024 * 1024;
const maxBufferedBytes = 1024 * 1024;
const maxUnreadPongBytes = 64 * 1024;

export interface AcceptedWebSocket {
  readonly protocol: string;
  /** False: the client reads slowly; wait for `drained`. */
  send(data: Buffer | string): boolean;
  drained(): Promise<void>;
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
  terminate(): void;
  onMessage: (data: Buffer, binary: boolean) => void;
  onClose: () => void;
}

export const isWebSocketRequest = (request: HttpRequest): boolean =>
  request.upgrade !== undefined && String(request.headers['upgrade'] ?? '').toLowerCase() === 'websocket';

export const offeredProtocols = (request: HttpRequest): string[] =>
  withoutToken(String(request.headers['sec-websocket-protocol'] ?? ''))
    .split(',')
    .map((p) => p.trim())
    .filter((p) => p !== '');

/** The handshake; undefined when the request is no proper one (the library has answered 400), or the client has left. */
export function acceptWebSocket(
  request: HttpRequest,
  supported: readonly string[],
  clients: SessionClients = sessionClients,
): Promise<AcceptedWebSocket | undefined> {
  const { socket, head } = request.upgrade!;
  const protocol = offeredProtocols(request).find((p) => supported.includes(p)) ?? '';
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    autoPong: false,
    perMessageDeflate: false,
    // One message a round of the event loop: thousands of tiny ones in a piece that was read must not hold up all others.
    allowSynchronousEvents: false,
  });
  // Kubernetes' names of protocols (`SPDY/3.1+…`) are no tokens of HTTP, which the library insists on.
  const { 'sec-websocket-protocol': _, ...headers } = request.headers;
  if (protocol !== '')
    server.on('headers', (lines) => void lines.push(`Sec-WebSocket-Protocol: ${protocol}`));
  const message = {
    method: request.method,
    url: request.url,
    headers,
    httpVersion: '1.1',
    socket,
  } as unknown as IncomingMessage;
  return new Promise((resolve) => {
    const refused = (): void => resolve(undefined);
    // Who left while the other side was being dialled is told to nobody again.
    if (socket.destroyed) {
      refused();
      return;
    }
    socket.once('close', refused);
    server.handleUpgrade(message, socket, head, (ws) => {
      socket.off('close', refused);
      // A pong that answers no ping may be sent at any time, and is not answered (RFC 6455, 5.5.3).
      clients.add(socket, { nudge: () => ws.pong() });
      resolve(wrap(ws, socket, protocol));
    });
  });
}

const drainedOrClosed = (socket: Duplex): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });

function wrap(ws: WebSocket, socket: Duplex, protocol: string): AcceptedWebSocket {
  ws.binaryType = 'nodebuffer';
  let draining: Promise<void> | undefined;
  const accepted: AcceptedWebSocket = {
    protocol,
    send(data) {
      if (ws.readyState !== WebSocket.OPEN) return true;
      ws.send(data, { binary: typeof data !== 'string' });
      return ws.bufferedAmount < maxBufferedBytes;
    },
    drained: () => {
      if (ws.readyState !== WebSocket.OPEN || !socket.writableNeedDrain)
        return new Promise((resolve) => void setImmediate(resolve));
      // One for all: each stream of a session may have messages that wait.
      draining ??= drainedOrClosed(socket).then(() => {
        draining = undefined;
      });
      return draining;
    },
    pause: () => ws.pause(),
    resume: () => ws.resume(),
    close: (code, reason) => ws.close(code, reason),
    terminate: () => ws.terminate(),
    onMessage: () => {},
    onClose: () => {},
  };
  // A client that sends pings and reads nothing must not fill our memory with answers.
  ws.on('ping', (data) => {
    if (ws.bufferedAmount < maxUnreadPongBytes) ws.pong(data);
  });
  ws.on('message', (data, binary) => accepted.onMessage(data as Buffer, binary));
  ws.on('close', () => accepted.onClose());
  ws.on('error', () => ws.terminate());
  return accepted;
}
