// OwnerReferencesPermissionEnforcement: nobody has the garbage collector delete, or keep, what they could not themselves.
import { pods } from '../../api/generated/resources.ts';
import type { OwnerReference } from '../../api/generated/types/meta-v1.ts';
import type { Json, JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { meta } from '../../apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { AuthorizationAttributes, Authorizer } from '../../apiserver/authorization/authorizer.ts';
import { refuse } from './request/refuse.ts';
import { isAbout } from './request/typed-request.ts';

const ownersOf = (object: JsonObject | undefined): readonly OwnerReference[] => {
  const owners = meta(object ?? {})['ownerReferences'];
  return Array.isArray(owners) ? (owners as unknown as OwnerReference[]) : [];
};

/** Those that hold up the deletion of their owner and did not before. */
function newlyBlocking(now: readonly OwnerReference[], before: readonly OwnerReference[]): OwnerReference[] {
  const blocked = new Set(before.filter((one) => one.blockOwnerDeletion === true).map(({ uid }) => uid));
  return now.filter((one) => one.blockOwnerDeletion === true && !blocked.has(one.uid));
}

function gvkOf({ apiVersion, kind }: OwnerReference): { group: string; version: string; kind: string } {
  const slash = apiVersion.indexOf('/');
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1), kind };
}

export function createOwnerReferencesPermissionEnforcement(
  scheme: Scheme,
  authorizer: Authorizer,
): AdmissionPlugin {
  const ask = async (
    request: AdmissionRequest,
    what: Pick<AuthorizationAttributes, 'verb' | 'group' | 'version' | 'resource' | 'subresource'> & {
      namespace: string;
      name: string;
    },
  ): Promise<string | undefined> => {
    const { decision, reason } = await authorizer.authorize({
      user: request.user,
      isResource: true,
      path: '',
      ...what,
    });
    return decision === 'allow' ? undefined : `${reason}, <nil>`;
  };

  const checkOwner = async (request: AdmissionRequest, owner: OwnerReference): Promise<void> => {
    const gvk = gvkOf(owner);
    const declaration: ResourceDeclaration | undefined = scheme.kind(gvk);
    if (declaration === undefined)
      return refuse(
        request,
        `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${owner.apiVersion} Kind ${owner.kind}: no matches for kind ${JSON.stringify(owner.kind)} in version ${JSON.stringify(owner.apiVersion)}`,
      );
    const { group, version, resource, namespaced } = declaration;
    const namespace = namespaced ? request.namespace : '';
    const why = await ask(request, {
      ...{ verb: 'update', group, version, resource, subresource: 'finalizers' },
      ...{ namespace, name: owner.name },
    });
    if (why !== undefined)
      refuse(
        request,
        `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${why}`,
      );
  };

  return {
    name: 'OwnerReferencesPermissionEnforcement',
    operations: ['CREATE', 'UPDATE'],
    async validate(request) {
      // As upstream: kubelets wrote them wrong once, and a status changes no owners.
      if (isAbout(request, pods, 'status')) return;
      const [now, before] = [ownersOf(request.object), ownersOf(request.oldObject)];
      if (jsonEqual(now as unknown as Json, before as unknown as Json)) return;
      const { group, version, resource } = request.declaration;
      const { namespace, name, subresource } = request;
      const why = await ask(request, {
        verb: 'delete',
        group,
        version,
        resource,
        subresource,
        namespace,
        name,
      });
      if (why !== undefined) refuse(request, `cannot set an ownerRef on a resource you can't delete: ${why}`);
      const blocking = newlyBlocking(now, before);
      if (blocking.length === 0) return;
      const anything = { verb: 'update', group: '*', version: '*', resource: '*', subresource: 'finalizers' };
      if ((await ask(request, { ...anything, namespace: '', name: '' })) === undefined) return;
      for (const owner of blocking) await checkOwner(request, owner);
    },
  };
}
