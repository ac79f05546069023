// Port-forward over WebSocket: a tunnel whose messages carry the bytes of a SPDY connection, as they are.
import { type BackendTarget, upgradeBackend } from '../../wire/backend.ts';
import { acceptWebSocket } from '../../wire/websocket.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { notUpgraded, unreachable } from './backend-errors.ts';
import { hijacked } from './upgrade-proxy.ts';

export const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io';

export async function tunnelPortForward(
  request: ApiRequest,
  target: BackendTarget,
  path: string,
): Promise<ApiResponse> {
  const answer = await upgradeBackend(target, {
    method: 'POST',
    path,
    headers: {
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': 'portforward.k8s.io',
      'content-length': '0',
    },
  }).catch((error: unknown) => {
    throw unreachable(error);
  });
  if (!answer.upgraded) throw await notUpgraded(answer.response);
  const { socket, head } = answer;
  const ws = await acceptWebSocket(request, [tunnelProtocol]);
  if (!ws) {
    socket.destroy();
    return hijacked;
  }
  const send = (data: Buffer): void => {
    if (ws.send(data)) return;
    socket.pause();
    void ws.drained().then(() => socket.resume());
  };
  ws.onMessage = (data) => {
    if (socket.write(data)) return;
    ws.pause();
    socket.once('drain', () => ws.resume());
  };
  ws.onClose = () => socket.destroy();
  if (head.length > 0) send(head);
  socket.on('data', send);
  socket.on('close', () => ws.close(1000, ''));
  return hijacked;
}
