// NamespaceExists: nothing is written to a namespace that is not there.
import { namespaces } from '../../api/generated/resources.ts';
import { notFound } from '../../apimachinery/errors.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { isAbout } from './request/typed-request.ts';

export function createNamespaceExists(live: LiveObjects): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    validate(request) {
      const { namespace } = request;
      if (namespace === '' || isAbout(request, namespaces) || live.has(namespaces, namespace, '')) return;
      throw notFound({ group: '', resource: 'namespaces' }, namespace);
    },
  };
}
