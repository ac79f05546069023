// Deletes bootstrap tokens that have expired: nobody can join with them, and each is a secret that could leak.
import { secrets } from '../api/generated/resources.ts';
import type { Secret } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { readRfc3339 } from '../base/rfc3339.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';

/** Milliseconds since the epoch; undefined for what is no token, or one that stays. A time that can't be read has passed, as upstream. */
function expiresAt({ type, data, metadata }: Secret): number | undefined {
  if (type !== 'bootstrap.kubernetes.io/token' || metadata.namespace !== 'kube-system') return undefined;
  const text = Buffer.from(data?.['expiration'] ?? '', 'base64').toString('utf8');
  if (text === '') return undefined;
  const at = readRfc3339(text);
  return typeof at === 'number' ? at : 0;
}

export const tokenCleanerController: Controller = defineController({
  name: 'token-cleaner-controller',
  queue: 'token_cleaner',
  serviceAccount: 'token-cleaner',
  for: secrets,
  namespace: 'kube-system',
  access: [may('delete', secrets)],
  async reconcile(key, context) {
    const secret = context.read(secrets).get(key.name, key.namespace);
    const at = secret && expiresAt(secret);
    if (at === undefined) return undefined;
    const wait = at - context.clock.now();
    if (wait > 0) return { requeueAfterMs: wait };
    try {
      await context.write.delete(secrets, key, { preconditions: { uid: secret?.metadata.uid ?? '' } });
    } catch (error) {
      if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
    }
    return undefined;
  },
});
