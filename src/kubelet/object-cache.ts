// ConfigMaps and Secrets that pods of this node use: listed once, kept fresh by a watch of that one object each.
import { configmaps, secrets } from '../api/generated/resources.ts';
import type { ConfigMap, Pod, Secret } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { reflect } from '../client/cache/reflector.ts';
import type { Client } from '../client/client.ts';
import type { Logger } from '../component-base/logger.ts';
import { podNamespace, podUid } from './pod-format.ts';
import type { ObjectSource } from './runtime/env-vars.ts';

export interface ObjectCache extends ObjectSource {
  /** Which objects a pod uses; those that nobody uses are no longer watched. */
  uses(pod: Pod): void;
  forget(uid: string): void;
  stop(): void;
}

export interface ObjectCacheDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** An object changed that these pods use. */
  readonly changed: (uids: readonly string[]) => void;
}

interface Key {
  readonly namespace: string;
  readonly name: string;
}
type Kept = { readonly metadata: { readonly resourceVersion?: string | undefined } };
type Ref = ResourceRef<Kept>;

/** Names of the ConfigMaps and Secrets of a pod, as `configmaps/x` and `secrets/y`. Pure. */
function objectsOfPod(pod: Pod): Set<string> {
  const found = new Set<string>();
  const configMap = (name: string | undefined): void => void (name && found.add(`configmaps/${name}`));
  const secret = (name: string | undefined): void => void (name && found.add(`secrets/${name}`));
  for (const c of [
    ...(pod.spec.initContainers ?? []),
    ...pod.spec.containers,
    ...(pod.spec.ephemeralContainers ?? []),
  ]) {
    for (const from of c.envFrom ?? []) {
      configMap(from.configMapRef?.name);
      secret(from.secretRef?.name);
    }
    for (const { valueFrom } of c.env ?? []) {
      configMap(valueFrom?.configMapKeyRef?.name);
      secret(valueFrom?.secretKeyRef?.name);
    }
  }
  for (const volume of pod.spec.volumes ?? []) {
    configMap(volume.configMap?.name);
    secret(volume.secret?.secretName);
    for (const source of volume.projected?.sources ?? []) {
      configMap(source.configMap?.name);
      secret(source.secret?.name);
    }
  }
  for (const { name } of pod.spec.imagePullSecrets ?? []) secret(name);
  return found;
}

/** One object, listed and watched on its own. What is known of it stays known while the server is away. */
class Entry {
  readonly users: Set<string> = new Set();
  readonly #changed: ObjectCacheDeps['changed'];
  readonly #stop = new AbortController();
  readonly #listed = Promise.withResolvers<void>();
  #state: 'new' | 'refused' | 'synced' = 'new';
  #object: Kept | undefined;

  constructor(deps: ObjectCacheDeps, ref: Ref, { namespace, name }: Key) {
    this.#changed = deps.changed;
    // A refusal reaches who asks meanwhile. Nobody has to, so that it must not count as unhandled.
    this.#listed.promise.catch(() => undefined);
    const { client, clock, random } = deps;
    const log = deps.log.child({ namespace, name });
    const watchErrorHandler = (error: unknown): void => this.#refused(error);
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    const sink = {
      replace: ([object]: readonly Kept[]): void => this.#put(object),
      set: (object: Kept): void => this.#put(object),
      remove: (): void => this.#put(undefined),
    };
    void reflect({ client, clock, random, log, watchErrorHandler }, ref, scope, sink, this.#stop.signal).then(
      () => this.#refused(new Error('nobody uses it any more')),
    );
  }

  #refused(error: unknown): void {
    if (this.#state !== 'synced') this.#state = 'refused';
    this.#listed.reject(error);
  }

  #put(object: Kept | undefined): void {
    const isSame = this.#object?.metadata.resourceVersion === object?.metadata.resourceVersion;
    // Who was refused here has read it elsewhere, and may have read another state of it.
    const isNews = this.#state === 'refused' || (this.#state === 'synced' && !isSame);
    this.#object = object;
    this.#state = 'synced';
    this.#listed.resolve();
    if (isNews) this.#changed([...this.users]);
  }

  /** Rejects when it could not be listed yet. */
  async object(): Promise<Kept | undefined> {
    if (this.#state !== 'synced') await this.#listed.promise;
    return this.#object;
  }

  stop(): void {
    this.#stop.abort();
  }
}

export function createObjectCache(deps: ObjectCacheDeps): ObjectCache {
  const entries = new Map<string, Entry>();
  const byPod = new Map<string, Set<string>>();
  const refs: Record<string, Ref> = { configmaps, secrets };

  async function read(ref: Ref, key: Key): Promise<Kept | undefined> {
    try {
      return await deps.client.get(ref, key);
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async function get<T>(resource: string, namespace: string, name: string): Promise<T | undefined> {
    const fresh = (): Promise<Kept | undefined> => read(refs[resource]!, { namespace, name });
    const entry = entries.get(`${namespace}/${resource}/${name}`);
    return (await (entry?.object().catch(fresh) ?? fresh())) as T | undefined;
  }

  function release(uid: string, key: string): void {
    const entry = entries.get(key);
    entry?.users.delete(uid);
    if (!entry || entry.users.size > 0) return;
    entry.stop();
    entries.delete(key);
  }

  function acquire(uid: string, namespace: string, path: string): void {
    const key = `${namespace}/${path}`;
    let entry = entries.get(key);
    if (entry === undefined) {
      const [resource = '', name = ''] = path.split('/');
      entry = new Entry(deps, refs[resource]!, { namespace, name });
      entries.set(key, entry);
    }
    entry.users.add(uid);
  }

  return {
    configMap: (namespace, name) => get<ConfigMap>('configmaps', namespace, name),
    secret: (namespace, name) => get<Secret>('secrets', namespace, name),
    uses: (pod) => {
      const uid = podUid(pod);
      const namespace = podNamespace(pod);
      const wanted = new Set([...objectsOfPod(pod)].map((path) => `${namespace}/${path}`));
      for (const key of byPod.get(uid) ?? []) if (!wanted.has(key)) release(uid, key);
      for (const key of wanted) acquire(uid, namespace, key.slice(namespace.length + 1));
      byPod.set(uid, wanted);
    },
    forget: (uid) => {
      for (const key of byPod.get(uid) ?? []) release(uid, key);
      byPod.delete(uid);
    },
    stop: () => {
      for (const entry of entries.values()) entry.stop();
      entries.clear();
    },
  };
}
