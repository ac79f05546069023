// ConfigMaps and Secrets that pods of this node use: read once, kept fresh by a watch of that one object each.
import { configmaps, secrets } from '../api/generated/resources.ts';
import type { ConfigMap, Pod, Secret } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { Clock } from '../base/clock.ts';
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
  readonly log: Logger;
  /** An object changed that these pods use. */
  readonly changed: (uids: readonly string[]) => void;
}

interface Entry {
  readonly users: Set<string>;
  readonly stop: AbortController;
  object: Promise<unknown>;
}

type Meta = { readonly metadata: { readonly resourceVersion?: string | undefined } };
const rewatchMs = 2000;

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

export function createObjectCache(deps: ObjectCacheDeps): ObjectCache {
  const entries = new Map<string, Entry>();
  const byPod = new Map<string, Set<string>>();
  const refs: Record<string, ResourceRef<unknown>> = { configmaps, secrets };

  async function read(ref: ResourceRef<unknown>, namespace: string, name: string): Promise<unknown> {
    try {
      return await deps.client.get(ref, { namespace, name });
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Whoever asks for the object gets the error; nobody has to, so that it must not count as unhandled. */
  function reload(
    ref: ResourceRef<unknown>,
    entry: Entry,
    { namespace, name }: { namespace: string; name: string },
  ): void {
    entry.object = read(ref, namespace, name);
    entry.object.catch(() => undefined);
  }

  /** One watch until it ends. */
  async function follow(
    ref: ResourceRef<unknown>,
    entry: Entry,
    key: { namespace: string; name: string },
  ): Promise<void> {
    const known = (await entry.object.catch(() => undefined)) as Meta | undefined;
    const resourceVersion = known?.metadata.resourceVersion;
    const events = deps.client.watch(ref, {
      namespace: key.namespace,
      fieldSelector: `metadata.name=${key.name}`,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      signal: entry.stop.signal,
    });
    for await (const event of events) {
      if (event.type === 'ERROR') return reload(ref, entry, key);
      if (event.type === 'BOOKMARK') continue;
      const version = (event.object as Meta).metadata.resourceVersion;
      const current = (await entry.object.catch(() => undefined)) as Meta | undefined;
      if (event.type !== 'DELETED' && current?.metadata.resourceVersion === version) continue;
      entry.object = Promise.resolve(event.type === 'DELETED' ? undefined : event.object);
      deps.changed([...entry.users]);
    }
  }

  async function keepFresh(
    ref: ResourceRef<unknown>,
    entry: Entry,
    key: { namespace: string; name: string },
  ): Promise<void> {
    while (!entry.stop.signal.aborted) {
      try {
        await follow(ref, entry, key);
      } catch (error) {
        if (entry.stop.signal.aborted) return;
        deps.log.debug({ error, ...key }, 'a watch of one object broke off');
        reload(ref, entry, key);
      }
      try {
        await deps.clock.sleep(rewatchMs, entry.stop.signal);
      } catch {
        return; // nobody uses it any more
      }
    }
  }

  async function get<T>(resource: string, namespace: string, name: string): Promise<T | undefined> {
    const entry = entries.get(`${namespace}/${resource}/${name}`);
    if (!entry) return (await read(refs[resource]!, namespace, name)) as T | undefined;
    try {
      return (await entry.object) as T | undefined;
    } catch {
      reload(refs[resource]!, entry, { namespace, name });
      return (await entry.object) as T | undefined;
    }
  }

  function release(uid: string, key: string): void {
    const entry = entries.get(key);
    entry?.users.delete(uid);
    if (!entry || entry.users.size > 0) return;
    entry.stop.abort();
    entries.delete(key);
  }

  function acquire(uid: string, namespace: string, path: string): void {
    const key = `${namespace}/${path}`;
    const known = entries.get(key);
    if (known) {
      known.users.add(uid);
      return;
    }
    const [resource = '', name = ''] = path.split('/');
    const ref = refs[resource]!;
    const entry: Entry = {
      users: new Set([uid]),
      stop: new AbortController(),
      object: Promise.resolve(undefined),
    };
    reload(ref, entry, { namespace, name });
    entries.set(key, entry);
    void keepFresh(ref, entry, { namespace, name });
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
      for (const entry of entries.values()) entry.stop.abort();
      entries.clear();
    },
  };
}
