// Registry credentials from a pod's imagePullSecrets, and those of its node.
import type { Pod, Secret } from '../../api/generated/types/core-v1.ts';
import { withoutTrailing } from '../../base/without-trailing.ts';
import type { Logger } from '../../component-base/logger.ts';
import { parseImageReference, repositoryOf } from '../../component-helpers/image-reference.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { AuthConfig } from '../../rpc-api/generated/cri-v1.ts';
import type { NodeRuntime } from '../node-runtime.ts';
import { podNamespace } from '../pod-format.ts';
import type { ObjectSource } from './env-vars.ts';
import { entriesFor } from './registry-keyring.ts';

interface AuthEntry {
  readonly username?: unknown;
  readonly password?: unknown;
  readonly auth?: unknown;
  readonly identitytoken?: unknown;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** As upstream, the secret's type says which of its keys is read. */
function configOf(secret: Secret): { readonly raw: string; readonly whole: boolean } | undefined {
  const json = secret.data?.['.dockerconfigjson'];
  if (secret.type === 'kubernetes.io/dockerconfigjson' && json) return { raw: json, whole: true };
  const old = secret.data?.['.dockercfg'];
  return secret.type === 'kubernetes.io/dockercfg' && old ? { raw: old, whole: false } : undefined;
}

function entriesOf(secret: Secret): [string, AuthEntry][] {
  const config = configOf(secret);
  return config ? entriesIn(Buffer.from(config.raw, 'base64').toString('utf8'), config.whole) : [];
}

/** `whole`: as `docker login` writes it; else what is beneath its `auths`. */
function entriesIn(config: string, whole: boolean): [string, AuthEntry][] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(config);
  } catch {
    return []; // not JSON: upstream ignores such a secret too
  }
  if (typeof parsed !== 'object' || parsed === null) return [];
  const auths: unknown = whole ? (parsed as { auths?: unknown }).auths : parsed;
  if (typeof auths !== 'object' || auths === null) return [];
  return Object.entries(auths).filter(([, entry]) => typeof entry === 'object' && entry !== null);
}

/**
 * No serverAddress: the entry was chosen for the image here, and containerd compares it as a URL, which most keys are not.
 * As in a Docker configuration, `auth` counts before the two fields that it says at once.
 */
function authConfig(entry: AuthEntry): AuthConfig {
  const auth = withoutTrailing(Buffer.from(text(entry.auth), 'base64').toString('utf8'), '\0');
  const colon = auth.indexOf(':');
  return {
    username: colon < 0 ? text(entry.username) : auth.slice(0, colon),
    password: colon < 0 ? text(entry.password) : auth.slice(colon + 1),
    identityToken: text(entry.identitytoken),
  };
}

/** One way into a registry, and the secret that it is from; undefined: the node's own, which is every pod's there. */
export interface PullCredential {
  readonly auth: AuthConfig;
  readonly source: { readonly uid: string; readonly namespace: string; readonly name: string } | undefined;
  /** Tells whether two are the same without saying what they are. */
  readonly hash: string;
}

const credentialOf = (entry: AuthEntry, source: PullCredential['source']): PullCredential => {
  const auth = authConfig(entry);
  return { auth, source, hash: sha256Hex(JSON.stringify(auth)) };
};

export interface CredentialSources {
  readonly objects: Pick<ObjectSource, 'secret'>;
  readonly registryLogins: NodeRuntime['registryLogins'];
  readonly log: Pick<Logger, 'warn'>;
}

/** As upstream, a file that can't be read is none: most images need no password. */
const loginsOf = ({ registryLogins, log }: CredentialSources): Promise<string | undefined> =>
  registryLogins().catch((error: unknown) => {
    log.warn({ error }, 'the registry passwords of the node could not be read');
    return undefined;
  });

/** The pod's own first. */
export async function imageCredentials(
  sources: CredentialSources,
  pod: Pod,
  image: string,
): Promise<readonly PullCredential[]> {
  if (!parseImageReference(image)) return [];
  const namespace = podNamespace(pod);
  const entries: [string, PullCredential][] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    const secret = await sources.objects.secret(namespace, name);
    if (!secret) continue;
    const source = { uid: secret.metadata.uid ?? '', namespace, name };
    for (const [key, entry] of entriesOf(secret)) entries.push([key, credentialOf(entry, source)]);
  }
  const nodes = entriesIn((await loginsOf(sources)) ?? '', true).map(
    ([key, entry]) => [key, credentialOf(entry, undefined)] as const,
  );
  return [...entriesFor(entries, repositoryOf(image)), ...entriesFor(nodes, repositoryOf(image))];
}
