// Makes the bootstrap objects that are missing and repairs those that the server keeps up to date by itself.
import type { PolicyRule } from '../api/generated/types/rbac-v1.ts';
import type { JsonObject, ResourceDeclaration, Scheme } from '../apimachinery/declaration.ts';
import { jsonEqual } from '../apimachinery/equality.ts';
import { meta, objs, str, strs } from '../apimachinery/json-access.ts';
import { withNils } from '../apimachinery/nil-values.ts';
import { decodeEntry, encodeDraft } from '../apiserver/registry/encode.ts';
import { openCache } from '../apiserver/registry/stored-resource.ts';
import type { Clock } from '../base/clock.ts';
import { rfc3339 } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { atOnce } from '../base/turns.ts';
import { uncoveredRules } from '../plugins/authorization/rbac/policy-rules.ts';
import type { Draft } from '../storage/storage.ts';
import type { CachedObject, CacheSource } from '../storage/watch/resource-cache.ts';
import { autoupdate, type BootstrapObject, tokenTrackingMap } from './bootstrap-objects.ts';

export interface BootstrapDeps {
  readonly scheme: Scheme;
  readonly caches: CacheSource;
  readonly clock: Clock;
  readonly random: Random;
}

const rbac = 'rbac.authorization.k8s.io';

/** Fields that follow the running server at each start. */
const followed: Readonly<Record<string, readonly string[]>> = {
  '/endpoints': ['subsets'],
  'discovery.k8s.io/endpointslices': ['endpoints', 'ports'],
  '/services': ['spec'],
};

/** The stored object with what it lacks, or undefined when it lacks nothing. */
function repaired(wanted: BootstrapObject, current: JsonObject): JsonObject | undefined {
  const { group, resource, object } = wanted;
  if (group === rbac) return repairedAccess(wanted, current);
  if (resource === 'configmaps' && str(meta(object).name) === 'extension-apiserver-authentication') {
    return jsonEqual(object.data, current.data) ? undefined : { ...current, data: object.data };
  }
  if (resource === 'configmaps' && str(meta(object).name) === tokenTrackingMap) {
    const since = (current.data as JsonObject | undefined)?.['since'];
    const isDay = typeof since === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(since);
    return isDay
      ? undefined
      : { ...current, data: { ...(current.data as JsonObject | undefined), ...(object.data as JsonObject) } };
  }
  const fields = followed[`${group}/${resource}`] ?? [];
  if (fields.every((field) => jsonEqual(object[field], current[field]))) return undefined;
  return { ...current, ...Object.fromEntries(fields.map((field) => [field, object[field]])) };
}

/** As upstream: missing rules and subjects come back, additions of others stay, unless autoupdate is off. */
function repairedAccess(wanted: BootstrapObject, current: JsonObject): JsonObject | undefined {
  const annotations = meta(current).annotations;
  const mode =
    typeof annotations === 'object' && annotations !== null
      ? (annotations as JsonObject)[autoupdate]
      : undefined;
  if (mode !== 'true') return undefined;
  const { object } = wanted;
  if (wanted.resource === 'roles' || wanted.resource === 'clusterroles') {
    const held = objs(current.rules) as unknown as PolicyRule[];
    const missing = uncoveredRules(held, objs(object.rules) as unknown as PolicyRule[]);
    if (missing.length === 0) return undefined;
    return { ...current, rules: [...objs(current.rules), ...(missing as unknown as JsonObject[])] };
  }
  if (!jsonEqual(object.roleRef, current.roleRef)) {
    return { ...current, roleRef: object.roleRef, subjects: object.subjects };
  }
  const lacking = objs(object.subjects).filter(
    (subject) => !objs(current.subjects).some((held) => jsonEqual(held, subject)),
  );
  return lacking.length === 0 ? undefined : { ...current, subjects: [...objs(current.subjects), ...lacking] };
}

export async function ensureBootstrap(
  deps: BootstrapDeps,
  objects: readonly BootstrapObject[],
): Promise<{ readonly created: number; readonly repaired: number }> {
  const now = rfc3339(deps.clock.now());
  const draftOf = ({ type }: ResourceDeclaration, object: JsonObject): Draft =>
    encodeDraft(atOnce(withNils(deps.scheme.plans, type, object)));
  let created = 0;
  let mended = 0;
  const ensure = async (wanted: BootstrapObject): Promise<void> => {
    const declaration = deps.scheme.resource(wanted.group, wanted.version, wanted.resource);
    if (declaration === undefined) return;
    const cache = openCache(deps.caches, declaration);
    const name = str(meta(wanted.object).name);
    const namespace = str(meta(wanted.object).namespace);
    const current: CachedObject | undefined = cache.get(namespace, name);
    if (current !== undefined) {
      const change = repaired(wanted, decodeEntry(current.value));
      if (change === undefined) return;
      mended++;
      await cache.update(namespace, name, draftOf(declaration, change), change, current.revision);
      return;
    }
    created++;
    const object: JsonObject = {
      kind: declaration.kind,
      apiVersion:
        declaration.group === '' ? declaration.version : `${declaration.group}/${declaration.version}`,
      ...wanted.object,
      metadata: {
        ...meta(wanted.object),
        uid: deps.random.uuid(),
        creationTimestamp: now,
        ...(declaration.hasGeneration ? { generation: 1 } : {}),
      },
    };
    if (strs(meta(object).finalizers).length === 0) delete meta(object).finalizers;
    await cache.create(namespace, name, draftOf(declaration, object), object);
  };
  // All at once: the store commits what comes together in one batch.
  await Promise.all(objects.map(ensure));
  return { created, repaired: mended };
}
