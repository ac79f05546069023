// NodeRestriction: a kubelet writes its own Node, its own pods' status, lease, CSINode and slices, and nothing else.
import {
  certificatesigningrequests,
  csinodes,
  leases,
  nodes,
  persistentvolumeclaims,
  pods,
  resourceslices,
  serviceaccounts,
} from '../../api/generated/resources.ts';
import type { TokenRequest } from '../../api/generated/types/authentication-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { ResourceSlice } from '../../api/generated/types/resource-v1.ts';
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { notFound } from '../../apimachinery/errors.ts';
import { meta, status } from '../../apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { Authorizer } from '../../apiserver/authorization/authorizer.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { nodeNameOf } from '../../component-helpers/node-identity.ts';
import { checkMirrorPod } from './node-restriction/mirror-pod.ts';
import { checkNodeCertificate } from './node-restriction/node-request.ts';
import { checkOwnNode } from './node-restriction/own-node.ts';
import { checkTokenAudience } from './node-restriction/token-audience.ts';
import { quote, refuse } from './request/refuse.ts';
import { previous, requested } from './request/typed-request.ts';

type Check = (request: AdmissionRequest, node: string) => void | Promise<void>;

function checkPodStatus(request: AdmissionRequest, node: string): void {
  const before = previous(request, pods);
  if (before?.spec?.nodeName !== node)
    refuse(
      request,
      `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`,
    );
  const now = requested(request, pods, 'status');
  const labels = (pod: Pod | undefined): Json => (pod?.metadata?.labels ?? {}) as Json;
  if (!jsonEqual(labels(before), labels(now)))
    refuse(request, `node ${quote(node)} cannot update labels through pod status`);
  // These name the resource claims that the node may read.
  const claims = (pod: Pod | undefined): Json =>
    (pod?.status?.resourceClaimStatuses ?? []) as unknown as Json;
  if (!jsonEqual(claims(before), claims(now)))
    refuse(request, `node ${quote(node)} cannot update resource claim statues`);
}

const claimStatus = ['capacity', 'conditions', 'allocatedResourceStatuses', 'allocatedResources'];

/** The claim without what a node may write of it. */
function othersOfClaim(claim: JsonObject): JsonObject {
  const { resourceVersion, managedFields, ...metadata } = meta(claim);
  const rest = Object.entries(status(claim)).filter(([field]) => !claimStatus.includes(field));
  return { ...claim, metadata, status: Object.fromEntries(rest) };
}

const checkClaim: Check = (request, node) => {
  if (request.subresource !== 'status') refuse(request, 'may only update PVC status');
  if (request.operation !== 'UPDATE') refuse(request, `unexpected operation ${quote(request.operation)}`);
  if (!jsonEqual(othersOfClaim(request.oldObject ?? {}), othersOfClaim(request.object ?? {})))
    refuse(
      request,
      `node ${quote(node)} is not allowed to update fields other than status.capacity and status.conditions`,
    );
};

const checkLease: Check = (request, node) => {
  if (request.namespace !== 'kube-node-lease')
    refuse(request, 'can only access leases in the "kube-node-lease" system namespace');
  if (request.name !== node)
    refuse(request, 'can only access node lease with the same name as the requesting node');
};

const checkCsiNode: Check = (request, node) => {
  if (request.name !== node)
    refuse(request, 'can only access CSINode with the same name as the requesting node');
};

/** The authorizer sees no content: whose devices a new slice tells of, and which slices a collection holds. */
const checkSlice: Check = (request, node) => {
  const of = (slice: JsonObject | undefined): string | undefined =>
    slice === undefined ? node : (slice as unknown as ResourceSlice).spec?.nodeName;
  if (of(request.object) === node && of(request.oldObject) === node) return;
  const verb = request.operation.toLowerCase();
  refuse(request, `can only ${verb} ResourceSlice with the same NodeName as the requesting node`);
};

/** Of a pod of its own alone, and for whom that pod asks. */
const checkToken =
  (live: LiveObjects, authorizer: Authorizer): Check =>
  (request) => {
    if (request.subresource !== 'token' || request.operation !== 'CREATE') return;
    const { spec } = request.object as unknown as TokenRequest;
    const reference = spec?.boundObjectRef;
    const name = reference?.name ?? '';
    if (reference?.kind !== 'Pod' || reference.apiVersion !== 'v1' || name === '')
      return refuse(request, 'node requested token not bound to a pod');
    if ((reference.uid ?? '') === '')
      refuse(request, 'node requested token with a pod binding without a uid');
    const pod = live.get(pods, name, request.namespace);
    if (pod === undefined) throw notFound(pods, name);
    if (pod.metadata?.uid !== reference.uid)
      refuse(
        request,
        `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      );
    if (pod.spec?.nodeName !== nodeNameOf(request.user))
      refuse(request, 'node requested token bound to a pod scheduled on a different node');
    return checkTokenAudience({ live, authorizer }, request, pod, spec?.audiences ?? []);
  };

export function createNodeRestriction(live: LiveObjects, authorizer: Authorizer): AdmissionPlugin {
  const ownPod = (request: AdmissionRequest, node: string, sentence: string): void => {
    const pod = live.get(pods, request.name, request.namespace);
    if (pod === undefined) throw notFound(pods, request.name);
    if (pod.spec?.nodeName !== node) refuse(request, `${sentence} pods with spec.nodeName set to itself`);
  };

  const checkPod: Check = (request, node) => {
    const { operation, subresource } = request;
    if (subresource === 'status' && operation === 'UPDATE') return checkPodStatus(request, node);
    if (subresource === 'eviction' && operation === 'CREATE')
      return ownPod(request, node, `node ${node} can only evict`);
    if (subresource !== '')
      return refuse(
        request,
        `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`,
      );
    if (operation === 'CREATE')
      return checkMirrorPod(request, node, request.object as unknown as Pod, () => live.get(nodes, node));
    if (operation === 'DELETE') return ownPod(request, node, `node ${quote(node)} can only delete`);
    return refuse(
      request,
      `unexpected operation ${quote(operation)}, node ${quote(node)} can only create and delete mirror pods`,
    );
  };

  const checks: readonly (readonly [{ readonly group: string; readonly resource: string }, Check])[] = [
    [pods, checkPod],
    [nodes, (request, node) => checkOwnNode(request, node, () => live.list(nodes))],
    [persistentvolumeclaims, checkClaim],
    [serviceaccounts, checkToken(live, authorizer)],
    [certificatesigningrequests, checkNodeCertificate],
    [leases, checkLease],
    [csinodes, checkCsiNode],
    [resourceslices, checkSlice],
  ];
  const byResource = new Map(checks.map(([about, check]) => [`${about.group}/${about.resource}`, check]));

  return {
    name: 'NodeRestriction',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    // As upstream, before the rules of the kind drop or refuse what the node must not even ask for.
    admit(request) {
      const node = nodeNameOf(request.user);
      if (node === undefined) return;
      if (node === '') refuse(request, `could not determine node from user ${quote(request.user.name)}`);
      const { group, resource } = request.declaration;
      return byResource.get(`${group}/${resource}`)?.(request, node);
    },
  };
}
