// Tokens of the service accounts that pods of this node run as: asked for once, and again before they end.
import { serviceaccounts } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { podNamespace, podUid } from '../pod-format.ts';

interface Token {
  readonly text: string;
  readonly refreshAtMs: number;
}

export interface PodTokens {
  get(pod: Pod, audience: string, expirationSeconds: number): Promise<string>;
  forget(pod: Pod): void;
  /** When the first of the pod's tokens is to be renewed, milliseconds from now. */
  refreshInMs(pod: Pod): number | undefined;
}

/** Tokens are renewed at 80 % of their life, and daily at the latest. */
const latestRefreshMs = 86_400_000;

export function createPodTokens({
  client,
  clock,
}: {
  readonly client: Client;
  readonly clock: Clock;
}): PodTokens {
  const tokens = new Map<string, Map<string, Token>>();

  async function get(pod: Pod, audience: string, expirationSeconds: number): Promise<string> {
    const ofPod = tokens.get(podUid(pod)) ?? new Map<string, Token>();
    tokens.set(podUid(pod), ofPod);
    const key = `${audience} ${expirationSeconds}`;
    const known = ofPod.get(key);
    const now = clock.now();
    if (known && now < known.refreshAtMs) return known.text;
    const name = pod.spec.serviceAccountName || 'default';
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        audiences: audience === '' ? [] : [audience],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: podUid(pod) },
      },
    };
    const answer = (await client.createSubresource(
      serviceaccounts,
      { name, namespace: podNamespace(pod) },
      'token',
      request,
    )) as { status?: { token?: string; expirationTimestamp?: string } };
    const text = answer.status?.token ?? '';
    const lifeMs =
      (Date.parse(answer.status?.expirationTimestamp ?? '') || now + expirationSeconds * 1000) - now;
    ofPod.set(key, { text, refreshAtMs: now + Math.min(lifeMs * 0.8, latestRefreshMs) });
    return text;
  }

  return {
    get,
    forget: (pod) => void tokens.delete(podUid(pod)),
    refreshInMs: (pod) => {
      const due = [...(tokens.get(podUid(pod))?.values() ?? [])].map((t) => t.refreshAtMs);
      return due.length === 0 ? undefined : Math.max(Math.min(...due) - clock.now(), 1000);
    },
  };
}
