// Port-forward over WebSocket: a tunnel whose messages carry the bytes of a SPDY connection, as they are.
import type { BackendTarget } from '../../wire/backend.ts';
import { acceptWebSocket } from '../../wire/websocket.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { upgradeToSpdy } from './spdy-upgrade.ts';
import { hijacked } from './upgrade-proxy.ts';

export const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io';

export async function tunnelPortForward(
  request: ApiRequest,
  target: BackendTarget,
  path: string,
): Promise<ApiResponse> {
  const { socket, head } = await upgradeToSpdy(target, path, 'portforward.k8s.io');
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
  if (socket.destroyed) ws.close(1000, '');
  return hijacked;
}
