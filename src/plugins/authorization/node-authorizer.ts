// The node authorizer: a kubelet reads what its own pods need, and nothing of other nodes.
import type { PolicyRule } from '../../api/generated/types/rbac-v1.ts';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '../../apiserver/authorization/authorizer.ts';
import { nodeNameOf } from '../../component-helpers/node-identity.ts';
import type { NodeAccess, NodeNeed } from './node/node-access.ts';
import { ruleAllows } from './rbac/policy-rules.ts';

const allow: AuthorizationDecision = { decision: 'allow', reason: '' };
const noOpinion = (reason = ''): AuthorizationDecision => ({ decision: 'no-opinion', reason });
const reads = ['get', 'list', 'watch'];

const related = (
  access: NodeAccess,
  node: string,
  what: NodeNeed,
  a: AuthorizationAttributes,
): AuthorizationDecision => {
  if (a.name === '') return noOpinion('No Object name found');
  return access.needs(node, what, a.name, a.namespace)
    ? allow
    : noOpinion(`no relationship found between node '${node}' and this object`);
};

const readNamespaced = (
  access: NodeAccess,
  node: string,
  what: NodeNeed,
  a: AuthorizationAttributes,
): AuthorizationDecision => {
  if (!reads.includes(a.verb)) return noOpinion('can only read resources of this type');
  if (a.subresource !== '') return noOpinion('cannot read subresource');
  if (a.namespace === '') return noOpinion('can only read namespaced object of this type');
  return related(access, node, what, a);
};

const getOnly = (
  access: NodeAccess,
  node: string,
  what: NodeNeed,
  a: AuthorizationAttributes,
): AuthorizationDecision => {
  if (a.verb !== 'get') return noOpinion('can only get individual resources of this type');
  if (a.subresource !== '') return noOpinion('cannot get subresource');
  return related(access, node, what, a);
};

const claimStatus = (access: NodeAccess, node: string, a: AuthorizationAttributes): AuthorizationDecision =>
  a.verb === 'update' || a.verb === 'patch'
    ? related(access, node, 'persistentvolumeclaims', a)
    : noOpinion('can only update status of a pvc');

const serviceAccount = (
  access: NodeAccess,
  node: string,
  a: AuthorizationAttributes,
): AuthorizationDecision => {
  if (a.verb === 'get' && a.subresource === '') return related(access, node, 'serviceaccounts', a);
  if (a.verb !== 'create' || a.subresource !== 'token') {
    return noOpinion('can only get individual service accounts, or create tokens for them');
  }
  return related(access, node, 'serviceaccounts', a);
};

const lease = (node: string, a: AuthorizationAttributes): AuthorizationDecision => {
  if (!['get', 'create', 'update', 'patch', 'delete'].includes(a.verb)) {
    return noOpinion('can only get, create, update, patch, or delete a node lease');
  }
  if (a.namespace !== 'kube-node-lease') {
    return noOpinion('can only access leases in the "kube-node-lease" system namespace');
  }
  return a.verb === 'create' || a.name === node
    ? allow
    : noOpinion('can only access node lease with the same name as the requesting node');
};

const csiNode = (node: string, a: AuthorizationAttributes): AuthorizationDecision => {
  if (!['get', 'create', 'update', 'patch', 'delete'].includes(a.verb)) {
    return noOpinion('can only get, create, update, patch, or delete a CSINode');
  }
  if (a.subresource !== '') return noOpinion('cannot authorize CSINode subresources');
  return a.verb === 'create' || a.name === node
    ? allow
    : noOpinion('can only access CSINode with the same name as the requesting node');
};

const resourceSlice = (
  access: NodeAccess,
  node: string,
  a: AuthorizationAttributes,
): AuthorizationDecision => {
  if (a.subresource !== '') return noOpinion('cannot authorize ResourceSlice subresources');
  if (a.verb === 'create') return allow;
  if (['get', 'update', 'patch', 'delete'].includes(a.verb))
    return related(access, node, 'resourceslices', a);
  if (!['list', 'watch', 'deletecollection'].includes(a.verb))
    return noOpinion(
      'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
    );
  return a.fields?.['spec.nodeName'] === node
    ? allow
    : noOpinion('can only list/watch/deletecollection resourceslices with spec.nodeName field selector');
};

const nodeObject = (node: string, a: AuthorizationAttributes): AuthorizationDecision => {
  if (a.subresource === 'status' && (a.verb === 'update' || a.verb === 'patch')) return allow;
  if (a.subresource !== '') {
    return noOpinion(`nodes cannot access the subresource ${JSON.stringify(a.subresource)}`);
  }
  // The NodeRestriction plugin sees to it that the node is the user's own.
  if (['create', 'update', 'patch'].includes(a.verb)) return allow;
  if (reads.includes(a.verb)) {
    if (a.name === node) return allow;
    if (a.name === '') return noOpinion(`node '${node}' cannot read all nodes, only its own Node object`);
    return noOpinion(`node '${node}' cannot read '${a.name}', only its own Node object`);
  }
  return noOpinion();
};

const pod = (access: NodeAccess, node: string, a: AuthorizationAttributes): AuthorizationDecision => {
  if (a.subresource === 'status') return ['update', 'patch'].includes(a.verb) ? allow : noOpinion();
  if (a.subresource === 'eviction') return a.verb === 'create' ? allow : noOpinion();
  if (a.subresource !== '') return noOpinion();
  if (a.verb === 'create' || a.verb === 'delete') return allow;
  if (a.verb === 'get') {
    return access.isBound(node, a.name, a.namespace)
      ? allow
      : noOpinion(`no relationship found between node '${node}' and this object`);
  }
  if (a.verb === 'list' || a.verb === 'watch') {
    if (a.fields?.['spec.nodeName'] === node) return allow;
    if (a.name !== '' && access.isBound(node, a.name, a.namespace)) return allow;
    return noOpinion(`can only list/watch pods with spec.nodeName field selector`);
  }
  return noOpinion();
};

export function createNodeAuthorizer(deps: {
  readonly access: NodeAccess;
  /** Upstream's static NodeRules: the ClusterRole system:node. */
  readonly nodeRules: readonly PolicyRule[];
}): Authorizer {
  return {
    authorize(a) {
      const node = nodeNameOf(a.user);
      if (node === undefined) return noOpinion();
      if (node === '') return noOpinion(`unknown node for user ${JSON.stringify(a.user.name)}`);
      if (a.isResource) {
        switch (`${a.group}/${a.resource}`) {
          case '/secrets':
            return readNamespaced(deps.access, node, 'secrets', a);
          case '/configmaps':
            return readNamespaced(deps.access, node, 'configmaps', a);
          case '/persistentvolumeclaims':
            return a.subresource === 'status'
              ? claimStatus(deps.access, node, a)
              : getOnly(deps.access, node, 'persistentvolumeclaims', a);
          case '/persistentvolumes':
            return getOnly(deps.access, node, 'persistentvolumes', a);
          case 'resource.k8s.io/resourceclaims':
            return getOnly(deps.access, node, 'resourceclaims', a);
          case 'storage.k8s.io/volumeattachments':
            return getOnly(deps.access, node, 'volumeattachments', a);
          case '/serviceaccounts':
            return serviceAccount(deps.access, node, a);
          case 'coordination.k8s.io/leases':
            return lease(node, a);
          case 'storage.k8s.io/csinodes':
            return csiNode(node, a);
          case 'resource.k8s.io/resourceslices':
            return resourceSlice(deps.access, node, a);
          case '/nodes':
            return nodeObject(node, a);
          case '/pods':
            return pod(deps.access, node, a);
        }
      }
      return deps.nodeRules.some((rule) => ruleAllows(rule, a)) ? allow : noOpinion();
    },
    rulesFor: (user) =>
      nodeNameOf(user) === undefined
        ? { rules: [], incomplete: false, errors: [] }
        : {
            rules: [],
            incomplete: true,
            errors: ['node authorizer does not support user rule resolution'],
          },
  };
}
