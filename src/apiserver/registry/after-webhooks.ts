// What a webhook may not make of an object's metadata, whatever it answers: owners twice, and ownership that nobody can read.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { managedFieldsFault, managedFieldsOf } from '../../apimachinery/fieldmanager/managed-fields.ts';
import { objs, str } from '../../apimachinery/json-access.ts';
import { ensureMeta } from './object-meta.ts';
import type { StoredResource, WriteOptions } from './stored-resource.ts';
import { stepped } from './write-rules.ts';

const dedups = 'API server dedups owner references in 1.20+, and may reject such requests as early as 1.24';

/** Each owner once, as upstream: before mutating plugins for what a client sends whole, and after them. */
export function uniqueOwners(object: JsonObject, options: WriteOptions, afterAdmission: boolean): void {
  const metadata = ensureMeta(object);
  const owners = objs(metadata['ownerReferences']);
  if (owners.length < 2) return;
  const seen = new Set<string>();
  const again: string[] = [];
  const unique = owners.filter(({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }) => {
    const key = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
    const isNew = !seen.has(key);
    if (isNew) seen.add(key);
    else if (again.length < maxToldOwners) again.push(str(uid));
    return isNew;
  });
  if (again.length === 0) return;
  metadata['ownerReferences'] = unique;
  const when = afterAdmission ? ' after mutating admission happens' : '';
  options.context?.warn(
    `.metadata.ownerReferences contains duplicate entries${when}; ${dedups}; please fix your requests; duplicate UID(s) observed: ${again.join(', ')}`,
  );
}

/** A header has room for no more. */
const maxToldOwners = 100;

/**
 * `admitted` with the ownership that was worked out without its webhooks: as upstream, what they change is nobody's. What
 * they make of managedFields themselves (`shown`: as it was when they were asked) stands when it makes sense.
 */
export async function keepOwnership(
  store: StoredResource,
  options: WriteOptions,
  admitted: JsonObject,
  shown: JsonObject,
  tracked: JsonObject,
): Promise<void> {
  const metadata = ensureMeta(admitted);
  const left = metadata['managedFields'];
  if (!jsonEqual(left ?? null, managedFieldsOf(shown) ?? null)) {
    const fault = await stepped(store, options, managedFieldsFault(left));
    if (fault === undefined) return;
    options.context?.warn(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${fault}`,
    );
  }
  const entries = managedFieldsOf(tracked);
  if (entries === undefined) delete metadata['managedFields'];
  else metadata['managedFields'] = entries;
}
