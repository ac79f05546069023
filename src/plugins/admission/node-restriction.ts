// NodeRestriction: a kubelet changes its own Node, its own pods' status and its own lease, and nothing else.
import { csinodes, leases, nodes, pods, serviceaccounts } from '../../api/generated/resources.ts';
import type { TokenRequest } from '../../api/generated/types/authentication-v1.ts';
import type { Node, Pod } from '../../api/generated/types/core-v1.ts';
import type { Json } from '../../apimachinery/declaration.ts';
import { forbidden, notFound } from '../../apimachinery/errors.ts';
import { jsonEqual } from '../../apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { nodeNameOf } from '../../component-helpers/node-identity.ts';
import { configMapsOf, secretsOf } from '../authorization/node/node-access.ts';
import { isAbout, previous, requested } from './request/typed-request.ts';

const refuse = (request: AdmissionRequest, why: string): never => {
  throw forbidden(request.declaration, request.name, why);
};
const quote = (text: string): string => JSON.stringify(text);

/** Labels below kubernetes.io and k8s.io that a kubelet may set on itself. */
const kubeletLabels: readonly string[] = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];
const kubeletDomains = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const within = (domain: string, parent: string): boolean =>
  domain === parent || domain.endsWith(`.${parent}`);

function isForbiddenLabel(label: string): boolean {
  const slash = label.indexOf('/');
  if (slash < 0) return false;
  const domain = label.slice(0, slash);
  if (within(domain, 'node-restriction.kubernetes.io')) return true;
  if (!within(domain, 'kubernetes.io') && !within(domain, 'k8s.io')) return false;
  return !kubeletLabels.includes(label) && !kubeletDomains.some((allowed) => within(domain, allowed));
}

function changedLabels(now: Node, old: Node | undefined): string[] {
  const before: Record<string, string | undefined> = old?.metadata?.labels ?? {};
  const after: Record<string, string | undefined> = now.metadata?.labels ?? {};
  const value = (labels: Record<string, string | undefined>, name: string): string | undefined =>
    Object.hasOwn(labels, name) ? labels[name] : undefined;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => value(before, name) !== value(after, name))
    .sort();
}

function checkOwner(request: AdmissionRequest, node: string, pod: Pod, registered: Node | undefined): void {
  const owners = pod.metadata?.ownerReferences ?? [];
  if (owners.length > 1) {
    refuse(request, `node ${quote(node)} can only create pods with a single owner reference set to itself`);
  }
  const [owner] = owners;
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    throw forbidden(
      request.declaration,
      request.name,
      `node ${quote(node)} can only create pods with an owner reference set to itself`,
    );
  }
  if (owner.controller !== true) {
    refuse(
      request,
      `node ${quote(node)} can only create pods with a controller owner reference set to itself`,
    );
  }
  if (owner.blockOwnerDeletion === true) {
    refuse(request, `node ${quote(node)} must not set blockOwnerDeletion on an owner reference`);
  }
  if (registered === undefined) throw notFound(nodes, node);
  const uid = registered.metadata?.uid ?? '';
  if (owner.uid !== uid) refuse(request, `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`);
}

/** What a pod names its kubelet may read: a node that could choose would read everything. */
function checkMirrorPod(
  request: AdmissionRequest,
  node: string,
  pod: Pod,
  registered: () => Node | undefined,
): void {
  if (pod.metadata?.annotations?.['kubernetes.io/config.mirror'] === undefined) {
    refuse(
      request,
      `pod does not have "kubernetes.io/config.mirror" annotation, node ${quote(node)} can only create mirror pods`,
    );
  }
  if (pod.spec?.nodeName !== node) {
    refuse(request, `node ${quote(node)} can only create pods with spec.nodeName set to itself`);
  }
  checkOwner(request, node, pod, registered());
  const references = (what: string): never =>
    refuse(request, `node ${quote(node)} can not create pods that reference ${what}`);
  if ((pod.spec?.serviceAccountName ?? '') !== '') references('a service account');
  if (secretsOf(pod).length > 0) references('secrets');
  if (configMapsOf(pod).length > 0) references('configmaps');
  for (const volume of pod.spec?.volumes ?? []) {
    if (volume.projected !== undefined) references('projected volumes');
    if (volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined)
      references('persistentvolumeclaims');
  }
  if ((pod.spec?.resourceClaims ?? []).length > 0) references('resourceclaims');
}

export function createNodeRestriction(live: LiveObjects): AdmissionPlugin {
  const ownPod = (request: AdmissionRequest, node: string, what: string): void => {
    const pod = live.get(pods, request.name, request.namespace);
    if (pod !== undefined && pod.spec?.nodeName !== node) {
      refuse(request, `node ${quote(node)} ${what} pods with spec.nodeName set to itself`);
    }
  };

  const checkPod = (request: AdmissionRequest, node: string): void => {
    switch (`${request.operation} ${request.subresource}`) {
      case 'CREATE ':
        checkMirrorPod(request, node, request.object as unknown as Pod, () => live.get(nodes, node));
        break;
      case 'DELETE ':
        ownPod(request, node, 'can only delete');
        break;
      case 'UPDATE status': {
        const before = previous(request, pods);
        if (before?.spec?.nodeName !== node) {
          refuse(
            request,
            `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`,
          );
        }
        const now = requested(request, pods, 'status');
        const same = jsonEqual(
          (before?.metadata?.labels ?? {}) as Json,
          (now?.metadata?.labels ?? {}) as Json,
        );
        if (!same) refuse(request, `node ${quote(node)} cannot update labels through pod status`);
        // These name the resource claims that the node may read.
        const claims = (pod: Pod | undefined): Json =>
          (pod?.status?.resourceClaimStatuses ?? []) as unknown as Json;
        if (!jsonEqual(claims(before), claims(now)))
          refuse(request, `node ${quote(node)} cannot update resource claim statues`);
        break;
      }
      case 'CREATE eviction':
        ownPod(request, node, 'can only evict');
        break;
      default:
        refuse(
          request,
          `unexpected operation ${request.operation}, node ${quote(node)} can only create and delete mirror pods`,
        );
    }
  };

  const checkNode = (request: AdmissionRequest, node: string): void => {
    if (request.name !== node) {
      refuse(request, `node ${quote(node)} is not allowed to modify node ${quote(request.name)}`);
    }
    const now = requested(request, nodes) ?? requested(request, nodes, 'status');
    if (now === undefined) return;
    const old = previous(request, nodes);
    if (request.operation === 'UPDATE') {
      // Nobody may shed taints that keep pods away; the first ones are set when it registers.
      if (
        !jsonEqual((old?.spec?.taints ?? []) as unknown as Json, (now.spec?.taints ?? []) as unknown as Json)
      ) {
        refuse(request, `node ${quote(node)} is not allowed to modify taints`);
      }
      // An owner that does not exist has the node collected as garbage, and it comes back as it likes (CVE-2025-5187).
      const owners = (object: Node | undefined): Json =>
        (object?.metadata?.ownerReferences ?? []) as unknown as Json;
      if (!jsonEqual(owners(old), owners(now)))
        refuse(request, `node ${quote(node)} is not allowed to modify ownerReferences`);
    }
    const bad = changedLabels(now, old).filter(isForbiddenLabel);
    if (bad.length === 0) return;
    refuse(
      request,
      request.operation === 'CREATE'
        ? `node ${quote(node)} is not allowed to set the following labels: ${bad.join(', ')}`
        : `is not allowed to modify labels: ${bad.join(', ')}`,
    );
  };

  const checkToken = (request: AdmissionRequest, node: string): void => {
    const reference = (request.object as unknown as TokenRequest).spec?.boundObjectRef;
    if (reference?.kind !== 'Pod' || reference.apiVersion !== 'v1') {
      throw forbidden(request.declaration, request.name, 'node requested token not bound to a pod');
    }
    if ((reference.uid ?? '') === '')
      refuse(request, 'node requested token with a pod binding without a uid');
    const pod = live.get(pods, reference.name ?? '', request.namespace);
    if (pod === undefined)
      throw forbidden(request.declaration, request.name, `pod ${quote(reference.name ?? '')} not found`);
    if (pod.metadata?.uid !== reference.uid) {
      refuse(
        request,
        `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      );
    }
    if (pod.spec?.nodeName !== node) {
      refuse(request, 'node requested token bound to a pod scheduled on a different node');
    }
  };

  return {
    name: 'NodeRestriction',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    validate(request) {
      const node = nodeNameOf(request.user);
      if (node === undefined) return;
      if (node === '')
        refuse(request, `could not determine node identity from user ${quote(request.user.name)}`);
      const { group, resource } = request.declaration;
      if (group === pods.group && resource === pods.resource) checkPod(request, node);
      if (group === nodes.group && resource === nodes.resource) checkNode(request, node);
      if (isAbout(request, serviceaccounts, 'token')) checkToken(request, node);
      if (isAbout(request, leases)) {
        if (request.namespace !== 'kube-node-lease') {
          refuse(request, 'can only access leases in the "kube-node-lease" system namespace');
        }
        if (request.name !== node) {
          refuse(request, 'can only access node lease with the same name as the requesting node');
        }
      }
      if (isAbout(request, csinodes) && request.name !== node) {
        refuse(request, 'can only access CSINode with the same name as the requesting node');
      }
    },
  };
}
