// Empties namespaces that are being deleted, then lets them go.
import { namespaces, pods } from '../api/generated/resources.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { anything, may } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';
import { deleteContent } from './namespace/delete-content.ts';
import { deletionConditions, isDone } from './namespace/namespace-conditions.ts';

const finalizer = 'kubernetes';
/** What holds up content other than pods makes no event here. */
const lookAgainMs = 5000;

export const namespaceController: Controller = defineController({
  name: 'namespace-controller',
  queue: 'namespace',
  serviceAccount: 'namespace-controller',
  for: namespaces,
  access: [
    may('get', namespaces),
    may('update', namespaces, 'status'),
    may('update', namespaces, 'finalize'),
    may(['delete', 'deletecollection', 'list'], anything),
  ],
  concurrency: 10,
  watches: [
    watching(pods, ({ metadata }, { type }, context) => {
      const name = metadata.namespace ?? '';
      const namespace = type === 'deleted' ? context.read(namespaces).get(name) : undefined;
      return namespace?.metadata.deletionTimestamp === undefined ? [] : [name];
    }),
  ],
  async reconcile({ name }, context) {
    const seen = context.read(namespaces).get(name);
    if (seen?.metadata.deletionTimestamp === undefined) return undefined;
    if (!(seen.spec?.finalizers ?? []).includes(finalizer)) return undefined;
    const deletion = await deleteContent(context.write, await context.discover(), name);
    try {
      let current = await context.write.get(namespaces, { name });
      if (current.metadata.uid !== seen.metadata.uid) return undefined;
      const conditions = deletionConditions(current.status?.conditions, deletion, context.clock.now());
      const hasNews = !isDone(deletion) || (current.status?.conditions ?? []).length > 0;
      if (hasNews && !semanticEqual(conditions, current.status?.conditions)) {
        const status = { ...current.status, conditions };
        current = await context.write.update(namespaces, { ...current, status }, { subresource: 'status' });
      }
      if (!isDone(deletion)) return { requeueAfterMs: lookAgainMs };
      const finalizers = (current.spec?.finalizers ?? []).filter((other) => other !== finalizer);
      const finalized = { ...current, spec: { ...current.spec, finalizers } };
      await context.write.update(namespaces, finalized, { subresource: 'finalize' });
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
    }
    return undefined;
  },
});
