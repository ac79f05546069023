// Deletes requests for certificates that were answered, or never will be.
import { certificatesigningrequests } from '../api/generated/resources.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';
import { disposableAt } from './certificates/request-state.ts';

export const certificateCleanerController: Controller = defineController({
  name: 'certificatesigningrequest-cleaner-controller',
  serviceAccount: 'certificate-controller',
  for: certificatesigningrequests,
  access: [may('delete', certificatesigningrequests)],
  async reconcile({ name }, context) {
    const request = context.read(certificatesigningrequests).get(name);
    if (request === undefined) return undefined;
    const wait = disposableAt(request) - context.clock.now();
    if (wait > 0) return { requeueAfterMs: wait };
    try {
      await context.write.delete(certificatesigningrequests, { name });
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
    }
    return undefined;
  },
});
