// Every namespace has the service account `default`.
import { namespaces, serviceaccounts } from '../api/generated/resources.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';

const defaultAccount = 'default';

export const serviceAccountController: Controller = defineController({
  name: 'serviceaccount-controller',
  queue: 'serviceaccount',
  serviceAccount: 'service-account-controller',
  for: namespaces,
  access: [may('create', serviceaccounts)],
  watches: [
    watching(serviceaccounts, ({ metadata }, { type }) =>
      type === 'deleted' && metadata.name === defaultAccount ? [metadata.namespace ?? ''] : [],
    ),
  ],
  async reconcile({ name }, context) {
    const namespace = context.read(namespaces).get(name);
    if (namespace === undefined || namespace.status?.phase === 'Terminating') return undefined;
    if (namespace.metadata.deletionTimestamp !== undefined) return undefined;
    if (context.read(serviceaccounts).get(defaultAccount, name) !== undefined) return undefined;
    try {
      await context.write.create(serviceaccounts, { metadata: { name: defaultAccount, namespace: name } });
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return undefined;
      // The namespace began to go away meanwhile.
      if (!isStatusError(error, 'Forbidden') && !isStatusError(error, 'NotFound')) throw error;
    }
    return undefined;
  },
});
