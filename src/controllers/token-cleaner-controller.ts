// Deletes bootstrap tokens that have expired: nobody can join with them, and each is a secret that could leak.
import { secrets } from '../api/generated/resources.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { expirationOf, isBootstrapToken } from '../component-helpers/bootstrap-token.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';

export const tokenCleanerController: Controller = defineController({
  name: 'token-cleaner-controller',
  queue: 'token_cleaner',
  serviceAccount: 'token-cleaner',
  for: secrets,
  namespace: 'kube-system',
  access: [may('delete', secrets)],
  async reconcile(key, context) {
    const secret = context.read(secrets).get(key.name, key.namespace);
    const at = secret && isBootstrapToken(secret) ? expirationOf(secret) : undefined;
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
