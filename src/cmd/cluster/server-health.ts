// What a server that answers says of itself: ready, or which check fails and why.
import { readFile } from 'node:fs/promises';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { readAll } from '../../client/transport.ts';
import { httpTransport } from '../../client/transport-http.ts';
import { systemClock } from '../../component-base/system-clock.ts';

const timeoutMs = 2_000;
const maxBytes = 1 << 16;
const full = /ENOSPC|EDQUOT|no space left|disk is full/i;

/** Names of the checks that fail in an answer of /readyz?verbose. Pure. */
export const failedChecks = (verbose: string): string[] =>
  [...verbose.matchAll(/^\[-\](\S+) failed/gm)].map(([, name = '']) => name);

/** A check's own answer without the words that stand before every reason; a full disk with what to do. Pure. */
export function reasonText(name: string, answer: string): string {
  const reason = answer.trim().replace(/^internal server error: /, '');
  if (reason === '' || reason === 'ok') return `${name} failed`;
  return full.test(reason)
    ? `writes are refused, the disk is full (${reason}): free some space, and it goes on by itself`
    : `${name} failed: ${reason}`;
}

/** Undefined when it is ready, or does not answer: its process tells that. Reasons are for administrators only. */
export async function whyNotReady(kubeconfig: string): Promise<string | undefined> {
  try {
    const { transport } = await loadKubeconfig(kubeconfig, (path) => readFile(path));
    const server = httpTransport(systemClock, { ...transport, connectTimeoutMs: timeoutMs });
    const ask = async (path: string): Promise<string> => {
      const signal = AbortSignal.timeout(timeoutMs);
      const answer = await server.request({ method: 'GET', path, headers: {}, signal });
      return (await readAll(answer.body, maxBytes)).toString();
    };
    try {
      const failed = failedChecks(await ask('/readyz?verbose'));
      const reasons = await Promise.all(
        failed.map(async (name) => reasonText(name, await ask(`/readyz/${name}`))),
      );
      return reasons.length === 0 ? undefined : reasons.join('; ');
    } finally {
      await server.close();
    }
  } catch {
    return undefined;
  }
}
