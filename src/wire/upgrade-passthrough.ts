// Hands an upgraded connection (SPDY, WebSocket) on to another server on this machine, bytes both ways.
import * as http from 'node:http';
import type { HttpHeaders, HttpRequest, HttpResponse } from './http-message.ts';
import { joinSockets } from './join-sockets.ts';
import { nudging } from './nudging.ts';
import { type SessionClients, sessionClients } from './session-clients.ts';

const connectMs = 30_000;
const maxRefusalBytes = 64 << 10;

/** Only what belongs to the upgrade goes on; no credentials. */
const passed = /^(connection|upgrade|x-stream-protocol-version|sec-websocket-.*|origin)$/;

function passedHeaders(headers: HttpHeaders): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || !passed.test(name)) continue;
    result[name] = typeof value === 'string' ? value : [...value];
  }
  return result;
}

function headText(response: http.IncomingMessage): string {
  const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage}`];
  for (let i = 0; i + 1 < response.rawHeaders.length; i += 2) {
    lines.push(`${response.rawHeaders[i]}: ${response.rawHeaders[i + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/**
 * `target`: an http URL. Answers the target's refusal, or `hijacked` once the bytes flow. `over`: what the session is for
 * has ended, and it may go when nothing moves any more.
 */
export function passUpgradeThrough(
  request: HttpRequest,
  target: string,
  over: () => boolean,
  clients: SessionClients = sessionClients,
): Promise<HttpResponse> {
  const { upgrade } = request;
  if (!upgrade) throw new Error('the request is no upgrade');
  return new Promise((resolve) => {
    const failed = (text: string): void =>
      resolve({
        status: 502,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: Buffer.from(`error dialing backend: ${text}\n`),
      });
    const outgoing = http.request(target, {
      method: request.method,
      headers: passedHeaders(request.headers),
      agent: false,
      timeout: connectMs,
    });
    outgoing.on('error', (error) => failed(error.message));
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${connectMs} ms`)));
    outgoing.on('response', (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on('data', (data: Buffer) => {
        size += data.length;
        if (size <= maxRefusalBytes) parts.push(data);
        else response.destroy();
      });
      response.on('error', () => undefined); // what came so far is the answer
      response.on('close', () =>
        resolve({
          status: response.statusCode ?? 502,
          headers: { 'content-type': response.headers['content-type'] ?? 'text/plain' },
          body: Buffer.concat(parts),
        }),
      );
    });
    outgoing.on('upgrade', (response, socket, head) => {
      socket.setTimeout(0);
      upgrade.socket.write(headText(response));
      if (head.length > 0) upgrade.socket.write(head);
      if (upgrade.head.length > 0) socket.write(upgrade.head);
      joinSockets(upgrade.socket, socket);
      const ends = { client: upgrade.socket, backend: socket, head };
      clients.add(upgrade.socket, { over, ...nudging(response.headers.upgrade, ends) });
      resolve({ status: 101, headers: {}, body: undefined, hijacked: true });
    });
    outgoing.end();
  });
}
