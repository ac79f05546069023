// DynamicResources: gives devices to the claims of a pod, on a node that has them, and writes that before the pod is bound.
import { resourceclaims } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { AllocationResult, DeviceClass, ResourceClaim } from '../../api/generated/types/resource-v1.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { Client } from '../../client/client.ts';
import { matchesNodeSelector } from '../../component-helpers/node-affinity.ts';
import { stateKey } from '../framework/cycle-state.ts';
import { allocateDevices, type DeviceState, SelectorError } from '../framework/devices/allocate-devices.ts';
import { claimsOfPod, type FindClaim } from '../framework/devices/claims-of-pod.ts';
import type { DevicePools } from '../framework/devices/device-pools.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Change, Plugin, PostFilterResult } from '../framework/plugin.ts';
import { failure, type Result, skip, unresolvable, unschedulable } from '../framework/status.ts';

/** What the plugin knows of devices, and of those that it has given away. */
export interface DevicesView {
  readonly claim: FindClaim;
  deviceClass(name: string): DeviceClass | undefined;
  pools(): DevicePools;
  /** Ids of all devices that claims have. */
  allocated(): ReadonlySet<string>;
  /** Of a claim's uid. */
  isPending(uid: string): boolean;
  assume(uid: string, allocation: AllocationResult): void;
  forget(uid: string): void;
}

const finalizer = 'resource.kubernetes.io/delete-protection';
/** Upstream's ResourceClaimReservedForMaxSize. */
const mostReserved = 256;
const mostWrites = 5;

interface Wanted {
  readonly claims: readonly ResourceClaim[];
  /** Those of them that have no devices yet. */
  readonly toAllocate: readonly ResourceClaim[];
  readonly devices: DeviceState | undefined;
  /** By node that passed. */
  readonly found: Map<string, readonly AllocationResult[]>;
  /** Claims that some node can't use. */
  readonly unavailable: Set<ResourceClaim>;
  /** Claims that have their devices by now, whatever becomes of the pod. */
  readonly written: Set<ResourceClaim>;
}
const key = stateKey<Wanted>('DynamicResources');

const reservedFor = ({ status }: ResourceClaim, { metadata: { uid } }: Pod): boolean =>
  (status?.reservedFor ?? []).some((one) => one.uid === uid);

/** Why none of its requests can be answered, whatever devices there are. */
function missingClass({ spec }: ResourceClaim, view: DevicesView): Result {
  for (const { exactly, firstAvailable = [], name } of spec.devices?.requests ?? []) {
    const wanted = exactly
      ? [[name, exactly.deviceClassName] as const]
      : firstAvailable.map((sub) => [`${name}/${sub.name}`, sub.deviceClassName] as const);
    for (const [request, deviceClass] of wanted) {
      if (deviceClass === '') return failure(`request ${request}: unsupported request type`);
      if (view.deviceClass(deviceClass) === undefined)
        return unresolvable(`request ${request}: device class ${deviceClass} does not exist`);
    }
  }
  return undefined;
}

function wantedBy(pod: Pod, view: DevicesView): Wanted | NonNullable<Result> {
  const claims = claimsOfPod(pod, view.claim);
  if (typeof claims === 'string') return unresolvable(claims);
  const toAllocate: ResourceClaim[] = [];
  for (const claim of claims) {
    const { name, namespace, uid = '' } = claim.metadata;
    if (claim.status?.allocation !== undefined) {
      if ((claim.status.reservedFor ?? []).length >= mostReserved && !reservedFor(claim, pod))
        return unresolvable('resourceclaim in use');
      continue;
    }
    // A pod that shares it is ahead: what it gets is known soon.
    if (view.isPending(uid))
      return unresolvable(`resource claim ${namespace}/${name} is in the process of being allocated`);
    const missing = missingClass(claim, view);
    if (missing) return missing;
    toAllocate.push(claim);
  }
  const devices =
    toAllocate.length === 0
      ? undefined
      : { pools: view.pools(), deviceClass: view.deviceClass, allocated: view.allocated() };
  return { claims, toAllocate, devices, found: new Map(), unavailable: new Set(), written: new Set() };
}

/** Whether a change of a claim is one that the pod waits for: of its own, or of one that gave devices back. */
function claimMayHelp(
  pod: Pod,
  { oldResourceClaim: old, resourceClaim: now }: Change,
  view: DevicesView,
): boolean {
  if (old?.status?.allocation !== undefined && now?.status?.allocation === undefined) return true;
  if (now === undefined) return false;
  const claims = claimsOfPod(pod, view.claim);
  if (typeof claims === 'string' || !claims.some(({ metadata }) => metadata.uid === now.metadata.uid))
    return false;
  return old === undefined || !semanticEqual(old.status, now.status);
}

class ClaimWriter {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Each claim of the pod has its devices, and is the pod's. */
  async bindAll(wanted: Wanted, pod: Pod, node: string): Promise<Result> {
    const found = wanted.found.get(node) ?? [];
    try {
      for (const claim of wanted.claims) {
        const at = wanted.toAllocate.indexOf(claim);
        if (at !== -1 || !reservedFor(claim, pod)) await this.#bind(claim, pod, found[at]);
        wanted.written.add(claim);
      }
      return undefined;
    } catch (error) {
      const { cause, message } = error as Error;
      return failure(cause instanceof Error ? `${message}: ${cause.message}` : message);
    }
  }

  /** A claim that nobody else uses gives its devices back: elsewhere there may be such, too. */
  deallocateIdle(wanted: Wanted | undefined, pod: Pod): PostFilterResult | Promise<PostFilterResult> {
    if (!wanted) return { status: unschedulable('no new claims to deallocate') };
    const idle = [...wanted.unavailable].find(({ status }) =>
      (status?.reservedFor ?? []).every(({ uid }) => uid === pod.metadata.uid),
    );
    if (idle === undefined) return { status: unschedulable('still not schedulable') };
    return this.#release(idle, { allocation: null, reservedFor: null }).then(() => ({
      status: unschedulable('deallocation of ResourceClaim completed'),
    }));
  }

  /** Writes into the newest version of the claim that the pod has it, with the devices that were found for it. */
  async #bind(claim: ResourceClaim, pod: Pod, allocation: AllocationResult | undefined): Promise<void> {
    const { name, namespace = '' } = claim.metadata;
    for (let tries = 1; ; tries++) {
      try {
        await this.#bindOnce(await this.#newest(claim), pod, allocation);
        return;
      } catch (error) {
        if (!isStatusError(error, 'Conflict') || tries >= mostWrites)
          throw new Error(`claim ${namespace}/${name}`, { cause: error });
      }
    }
  }

  async #newest({ metadata: { name, namespace = '', uid } }: ResourceClaim): Promise<ResourceClaim> {
    const now = await this.#client.get(resourceclaims, { name, namespace });
    if (now.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined)
      throw new Error(`claim ${namespace}/${name} got deleted in the meantime`);
    return now;
  }

  async #bindOnce(now: ResourceClaim, pod: Pod, allocation: AllocationResult | undefined): Promise<void> {
    const { finalizers = [], name, namespace } = now.metadata;
    let claim = now;
    if (allocation !== undefined) {
      if (now.status?.allocation !== undefined)
        throw new Error(`claim ${namespace}/${name} got allocated elsewhere in the meantime`);
      // Before the devices are its: they are to be given back in order.
      if (!finalizers.includes(finalizer))
        claim = await this.#client.update(resourceclaims, {
          ...now,
          metadata: { ...now.metadata, finalizers: [...finalizers, finalizer] },
        });
    } else if (now.status?.allocation === undefined)
      throw new Error(`claim ${namespace}/${name} is not allocated any more`);
    if (reservedFor(claim, pod)) return;
    const consumer = { resource: 'pods', name: pod.metadata.name, uid: pod.metadata.uid ?? '' };
    const status = {
      ...claim.status,
      ...(allocation === undefined ? {} : { allocation }),
      reservedFor: [...(claim.status?.reservedFor ?? []), consumer],
    };
    await this.#client.update(resourceclaims, { ...claim, status }, { subresource: 'status' });
  }

  /** The pod does not need it after all, or it is to find other devices. */
  async #release({ metadata }: ResourceClaim, status: object): Promise<void> {
    const { name, namespace, resourceVersion, uid } = metadata;
    const body = { metadata: { uid, resourceVersion }, status };
    await this.#client.patch(
      resourceclaims,
      { name, namespace },
      { type: 'merge', body },
      { subresource: 'status' },
    );
  }
}

/** Looks for devices on the node, and remembers what it found. */
function findOn({ name, node }: NodeInfo, wanted: Wanted): Result {
  const away = wanted.claims.filter(({ status }) => {
    const selector = status?.allocation?.nodeSelector;
    return selector !== undefined && !matchesNodeSelector(selector, node);
  });
  for (const claim of away) wanted.unavailable.add(claim);
  if (away.length > 0) return unresolvable('resourceclaim not available on the node');
  if (wanted.devices === undefined) return undefined;
  try {
    const found = allocateDevices(wanted.toAllocate, node, wanted.devices);
    if (found === undefined) return unresolvable('cannot allocate all claims');
    wanted.found.set(name, found);
    return undefined;
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return failure(error.message);
  }
}

export function dynamicResources(client: Client, view: DevicesView): Plugin {
  const writer = new ClaimWriter(client);
  const hasClaims = ({ spec }: Pod): boolean => (spec.resourceClaims ?? []).length > 0;
  return {
    name: 'DynamicResources',
    requeueOn: [
      'NodeAdd',
      'NodeUpdateNodeLabel',
      {
        on: ['ResourceClaimAdd', 'ResourceClaimUpdate'],
        helps: (pod, change) => claimMayHelp(pod, change, view),
      },
      {
        on: ['UnschedulablePodUpdatePodGeneratedResourceClaim'],
        helps: (pod) => typeof claimsOfPod(pod, view.claim) !== 'string',
      },
      'DeviceClassAdd',
      'DeviceClassUpdate',
      'ResourceSliceAdd',
      'ResourceSliceUpdate',
    ],
    preEnqueue(pod) {
      if (!hasClaims(pod)) return undefined;
      const claims = claimsOfPod(pod, view.claim);
      return typeof claims === 'string' ? unresolvable(claims) : undefined;
    },
    preFilter(state, pod) {
      if (!hasClaims(pod)) return { status: skip };
      const wanted = wantedBy(pod, view);
      if ('code' in wanted) return { status: wanted };
      if (wanted.claims.length === 0) return { status: skip };
      state.write(key, wanted);
      return undefined;
    },
    filter: (state, _pod, node) => {
      const wanted = state.read(key);
      return wanted && findOn(node, wanted);
    },
    postFilter: (state, pod) => writer.deallocateIdle(state.read(key), pod),
    reserve(state, _pod, node) {
      const wanted = state.read(key);
      if (!wanted || wanted.toAllocate.length === 0) return undefined;
      const found = wanted.found.get(node);
      if (!found) return failure('claim allocation not found for node');
      for (const [i, { metadata }] of wanted.toAllocate.entries()) view.assume(metadata.uid ?? '', found[i]!);
      return undefined;
    },
    unreserve(state) {
      const wanted = state.read(key);
      for (const claim of wanted?.toAllocate ?? [])
        if (!wanted?.written.has(claim)) view.forget(claim.metadata.uid ?? '');
    },
    preBind: async (state, pod, node) => {
      const wanted = state.read(key);
      return wanted && writer.bindAll(wanted, pod, node);
    },
  };
}
