// NamespaceAutoProvision: a namespace that is not there is made when something is to be created in it.
import { namespaces } from '../../api/generated/resources.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { refuse } from './request/refuse.ts';
import { isAbout } from './request/typed-request.ts';

/** Makes a namespace as the server itself. */
export type CreateNamespace = (namespace: JsonObject) => Promise<unknown>;

export function createNamespaceAutoProvision(live: LiveObjects, create: CreateNamespace): AdmissionPlugin {
  return {
    name: 'NamespaceAutoProvision',
    operations: ['CREATE'],
    async admit(request) {
      const { namespace: name, dryRun } = request;
      // As upstream: nothing is made for what is not stored, and NamespaceLifecycle says what is missing.
      if (name === '' || dryRun || isAbout(request, namespaces) || live.has(namespaces, name, '')) return;
      try {
        await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      } catch (error) {
        if (!isStatusError(error, 'AlreadyExists')) refuse(request, (error as Error).message);
      }
    },
  };
}
