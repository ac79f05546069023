// What a node may create of pods: mirrors of its own static pods, that name nothing its kubelet could read by them.
import { nodes } from '../../../api/generated/resources.ts';
import type { Node, Pod } from '../../../api/generated/types/core-v1.ts';
import { notFound } from '../../../apimachinery/errors.ts';
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';
import { configMapsOf, secretsOf } from '../../../component-helpers/pod-references.ts';
import { quote, refusal, refuse } from '../request/refuse.ts';

function checkOwner(request: AdmissionRequest, node: string, pod: Pod, registered: Node | undefined): void {
  const owners = pod.metadata?.ownerReferences ?? [];
  if (owners.length > 1) {
    refuse(request, `node ${quote(node)} can only create pods with a single owner reference set to itself`);
  }
  const [owner] = owners;
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    throw refusal(request, `node ${quote(node)} can only create pods with an owner reference set to itself`);
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
export function checkMirrorPod(
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
