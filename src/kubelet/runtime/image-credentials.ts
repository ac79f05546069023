// Registry credentials from a pod's imagePullSecrets.
import type { Pod, Secret } from '../../api/generated/types/core-v1.ts';
import type { AuthConfig } from '../../rpc-api/generated/cri-v1.ts';
import { podNamespace } from '../pod-format.ts';
import type { ObjectSource } from './env-vars.ts';
import { parseImageReference } from './image-reference.ts';

interface AuthEntry {
  readonly username?: unknown;
  readonly password?: unknown;
  readonly auth?: unknown;
  readonly identitytoken?: unknown;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `https://index.docker.io/v1/` and `docker.io` are one registry. */
function hostOf(key: string): string {
  const bare = key.replace(/^https?:\/\//, '').split('/')[0]!;
  return bare === 'index.docker.io' || bare === 'registry-1.docker.io' ? 'docker.io' : bare;
}

function entriesOf(secret: Secret): [string, AuthEntry][] {
  const raw = secret.data?.['.dockerconfigjson'] ?? secret.data?.['.dockercfg'];
  if (raw === undefined) return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(raw, 'base64').toString('utf8'));
  } catch {
    return []; // not JSON: upstream ignores such a secret too
  }
  if (typeof parsed !== 'object' || parsed === null) return [];
  const auths: unknown = secret.data?.['.dockerconfigjson'] ? (parsed as { auths?: unknown }).auths : parsed;
  return typeof auths === 'object' && auths !== null ? Object.entries(auths) : [];
}

function authConfig(server: string, entry: AuthEntry): AuthConfig {
  const [user, ...password] = Buffer.from(text(entry.auth), 'base64').toString('utf8').split(':');
  return {
    username: text(entry.username) || (user ?? ''),
    password: text(entry.password) || password.join(':'),
    identityToken: text(entry.identitytoken),
    serverAddress: server,
  };
}

export async function imageCredentials(
  objects: ObjectSource,
  pod: Pod,
  image: string,
): Promise<readonly AuthConfig[]> {
  const registry = parseImageReference(image)?.registry;
  if (registry === undefined) return [];
  const found: AuthConfig[] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    const secret = await objects.secret(podNamespace(pod), name);
    if (!secret) continue;
    for (const [server, entry] of entriesOf(secret)) {
      if (hostOf(server) === registry) found.push(authConfig(server, entry));
    }
  }
  return found;
}
