// Opens a SPDY connection to a kubelet, for exec, attach and port-forward.
import { type BackendTarget, type Upgraded, upgradeBackend } from '../../wire/backend.ts';
import { notUpgraded, unreachable } from './backend-errors.ts';

/** Throws StatusError when the kubelet can't be reached or does not switch. */
export async function upgradeToSpdy(
  target: BackendTarget,
  path: string,
  subprotocol: string,
): Promise<Extract<Upgraded, { upgraded: true }>> {
  const answer = await upgradeBackend(target, {
    method: 'POST',
    path,
    headers: {
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': subprotocol,
      'content-length': '0',
    },
  }).catch((error: unknown) => {
    throw unreachable(error);
  });
  if (!answer.upgraded) throw await notUpgraded(answer.response);
  return answer;
}
