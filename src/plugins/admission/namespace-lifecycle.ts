// NamespaceLifecycle: nothing is written to a namespace that is missing or ending, and the first namespaces stay.
import { namespaces } from '../../api/generated/resources.ts';
import { forbidden, notFound, StatusError } from '../../apimachinery/errors.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { isAbout } from './request/typed-request.ts';

/** One that is there and can't be read is not missing: that throws why. */
function missing(live: LiveObjects, namespace: string): StatusError {
  live.stored(namespaces, '', namespace);
  return notFound({ group: '', resource: 'namespaces' }, namespace);
}

const immortal = ['default', 'kube-system', 'kube-public'];

export function createNamespaceLifecycle(live: LiveObjects): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    admit(request) {
      const { operation, namespace, name } = request;
      if (isAbout(request, namespaces)) {
        if (operation === 'DELETE' && immortal.includes(name)) {
          throw forbidden(request.declaration, name, 'this namespace may not be deleted');
        }
        return;
      }
      if (
        operation === 'DELETE' ||
        namespace === '' ||
        request.declaration.group === 'authorization.k8s.io'
      ) {
        return;
      }
      const found = live.get(namespaces, namespace);
      if (found === undefined) throw missing(live, namespace);
      if (operation !== 'CREATE' || found.status?.phase !== 'Terminating') return;
      const refusal = forbidden(
        request.declaration,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
      );
      throw new StatusError(refusal.code, refusal.reason, refusal.message, {
        ...refusal.status.details,
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      });
    },
  };
}
