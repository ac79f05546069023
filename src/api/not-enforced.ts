// What is accepted and stored although nothing acts on it yet. Each write of such an object says so in a `Warning`
// header: a line goes from here when what it names is enforced.
import type { JsonObject } from '../apimachinery/declaration.ts';
import { obj, objs, spec, str, strs } from '../apimachinery/json-access.ts';
import { compareQuantities, tryParseQuantity } from '../apimachinery/quantity.ts';

interface NotEnforced {
  readonly group: string;
  readonly resources: readonly string[];
  /** Objects that are concerned; all of them when it is absent. */
  readonly when?: (object: JsonObject) => boolean;
  readonly warning: string;
}

const notEnforced: readonly NotEnforced[] = [
  {
    group: 'networking.k8s.io',
    resources: ['networkpolicies'],
    warning: 'not enforced: the pod network does not apply network policies yet; all traffic passes',
  },
  {
    group: 'resource.k8s.io',
    resources: ['resourceclaims', 'resourceclaimtemplates'],
    warning: 'not enforced: devices are allocated, but no node prepares them yet; pods run without them',
  },
  {
    group: '',
    resources: ['pods'],
    when: (pod) => objs(spec(pod)['resourceClaims']).length > 0,
    warning:
      'spec.resourceClaims: not enforced: devices are allocated, but no node prepares them yet; the pod runs without them',
  },
  {
    group: '',
    resources: ['pods'],
    when: (pod) =>
      [...objs(spec(pod)['containers']), ...objs(spec(pod)['initContainers'])].some(
        (container) => obj(container['lifecycle'])['stopSignal'] !== undefined,
      ),
    warning:
      "not enforced: lifecycle.stopSignal is for the node's container runtime to obey, and containerd 1 sends the image's own signal",
  },
  {
    group: 'storage.k8s.io',
    resources: ['storageclasses'],
    when: (storageClass) => storageClass['allowVolumeExpansion'] === true,
    warning: 'not enforced: nothing makes volumes larger yet; a claim that asks for more keeps what it has',
  },
  {
    group: 'storage.k8s.io',
    resources: ['volumeattributesclasses'],
    warning: 'not enforced: nothing changes attributes of volumes yet; they stay as they were made',
  },
  {
    group: '',
    resources: ['persistentvolumeclaims'],
    when: (claim) => str(spec(claim)['volumeAttributesClassName']) !== '',
    warning:
      'not enforced: nothing changes attributes of volumes yet; volumeAttributesClassName is without effect',
  },
  {
    group: '',
    resources: ['persistentvolumeclaims'],
    when: (claim) => {
      const has = tryParseQuantity(obj(obj(claim['status'])['capacity'])['storage']);
      const asks = tryParseQuantity(obj(obj(spec(claim)['resources'])['requests'])['storage']);
      return has !== undefined && asks !== undefined && compareQuantities(asks, has) > 0;
    },
    warning: 'not enforced: nothing makes volumes larger yet; the claim keeps what it has',
  },
  {
    group: 'storage.k8s.io',
    resources: ['volumeattachments'],
    warning: 'not enforced: nothing attaches volumes to nodes yet',
  },
  {
    group: 'networking.k8s.io',
    resources: ['servicecidrs'],
    when: (cidr) => strs(spec(cidr)['cidrs']).some((text) => text.includes(':')),
    warning: 'not enforced: Services get addresses of IPv4 only; ranges of IPv6 are not used yet',
  },
];

type Warnings = (object: JsonObject) => readonly string[];

/** undefined when everything that the kind promises is done. */
export function notEnforcedWarnings(group: string, resource: string): Warnings | undefined {
  const rows = notEnforced.filter((row) => row.group === group && row.resources.includes(resource));
  if (rows.length === 0) return undefined;
  return (object) => rows.filter((row) => row.when?.(object) ?? true).map((row) => row.warning);
}
