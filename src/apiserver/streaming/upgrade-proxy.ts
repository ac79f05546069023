// Passes an upgraded connection through: SPDY of old clients, whose bytes the kubelet understands itself, and whatever a pod speaks.
import { type BackendTarget, type Upgraded, upgradeBackend } from '../../wire/backend.ts';
import { joinSockets } from '../../wire/join-sockets.ts';
import { nudging } from '../../wire/nudging.ts';
import { type SessionClients, sessionClients } from '../../wire/session-clients.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { unreachable } from './backend-errors.ts';

export const hijacked: ApiResponse = { status: 101, headers: {}, body: undefined, hijacked: true };

/** Credentials stay here: the kubelet knows the API server, not its clients. */
const kept = /^(connection|upgrade|x-stream-protocol-version|sec-websocket-.*)$/;

function upgradeHeaders(request: ApiRequest): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined && kept.test(name)) headers[name] = value;
  return headers;
}

export async function passUpgrade(
  request: ApiRequest,
  target: BackendTarget,
  path: string,
  headers: Readonly<Record<string, string | readonly string[]>> = upgradeHeaders(request),
  clients: SessionClients = sessionClients,
): Promise<ApiResponse> {
  const answer = await upgradeBackend(target, { method: request.method, path, headers }).catch(
    (error: unknown) => {
      throw unreachable(error);
    },
  );
  // A backend that does not switch must not get the connection: its next request would pass for the API server's. As upstream,
  // its client gets all that it says: who asks in vain for another protocol may be content with an answer in this one.
  return answer.upgraded ? takeOver(request, answer, clients) : answer.response;
}

/** From now on the client's connection and the backend's are one. */
export function takeOver(
  request: ApiRequest,
  answer: Upgraded & { readonly upgraded: true },
  clients: SessionClients = sessionClients,
): ApiResponse {
  const { socket, head } = request.upgrade!;
  socket.write(answer.rawHead);
  if (answer.head.length > 0) socket.write(answer.head);
  if (head.length > 0) answer.socket.write(head);
  joinSockets(socket, answer.socket);
  const ends = { client: socket, backend: answer.socket, head: answer.head };
  clients.add(socket, nudging(answer.protocol, ends));
  return hijacked;
}
