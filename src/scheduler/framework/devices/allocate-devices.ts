// Devices of one node for the claims of a pod, all or none: searched depth first, within bounds.
import type { Node, NodeSelector, NodeSelectorRequirement } from '../../../api/generated/types/core-v1.ts';
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  DeviceRequestAllocationResult,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
} from '../../../api/generated/types/resource-v1.ts';
import { parseQuantity } from '../../../apimachinery/quantity.ts';
import { toleratesTaint } from '../../../component-helpers/taints.ts';
import { type DevicePools, type Pool, type PooledDevice, placeOf, poolsFor } from './device-pools.ts';
import { fullName, selectsDevice } from './device-selectors.ts';

/** Devices that are tried for one node; beyond it the node is given up (upstream: ten seconds). */
const mostTries = 20_000;
/** Upstream's AllocationResultsMaxSize. */
const mostResults = 32;

export interface DeviceState {
  readonly pools: DevicePools;
  deviceClass(name: string): DeviceClass | undefined;
  /** Ids of devices that claims have. */
  readonly allocated: ReadonlySet<string>;
}

/** The expression of a class or claim is wrong: no node will do until it changes. */
export class SelectorError extends Error {}

type Wanted = ExactDeviceRequest | DeviceSubRequest;

interface Choice {
  readonly claim: ResourceClaim;
  /** `request`, or `request/subrequest`. */
  readonly name: string;
  readonly wanted: Wanted;
  readonly deviceClass: DeviceClass;
}

interface Taken extends Choice {
  readonly device: PooledDevice;
}

const hasAdminAccess = (wanted: Wanted): boolean => 'adminAccess' in wanted && wanted.adminAccess === true;

const isTolerated = (device: PooledDevice, tolerations: readonly DeviceToleration[] = []): boolean =>
  (device.device.taints ?? []).every(
    (taint) =>
      taint.effect === 'None' ||
      tolerations.some((toleration) =>
        toleratesTaint(
          {
            key: toleration.key ?? '',
            operator: toleration.operator ?? 'Equal',
            value: toleration.value ?? '',
            effect: toleration.effect ?? '',
          },
          { key: taint.key, value: taint.value ?? '', effect: taint.effect },
        ),
      ),
  );

/** What an attribute of a device is; two that are equal have the same text. */
function attributeOf({ device, driver }: PooledDevice, name: string): string | undefined {
  const wanted = fullName(driver, name).join('/');
  for (const [known, attribute] of Object.entries(device.attributes ?? {}))
    if (fullName(driver, known).join('/') === wanted)
      return JSON.stringify(attribute, (_key, value: unknown) =>
        typeof value === 'bigint' ? `${value}` : value,
      );
  return undefined;
}

const isAbout = (
  { requests = [] }: { readonly requests?: readonly string[] | undefined },
  name: string,
): boolean => requests.length === 0 || requests.includes(name) || requests.includes(name.split('/')[0] ?? '');

class Search {
  readonly #node: Node;
  readonly #pools: readonly Pool[];
  readonly #state: DeviceState;
  readonly #taken: Taken[] = [];
  readonly #used = new Set<string>();
  /** Amounts of shared counters that are left, in billionths. */
  readonly #counters = new Map<string, bigint>();
  readonly #fitting = new WeakMap<Wanted, readonly PooledDevice[]>();
  #tries = 0;

  constructor(node: Node, state: DeviceState) {
    this.#node = node;
    this.#state = state;
    this.#pools = poolsFor(state.pools, node);
    for (const pool of this.#pools) this.#countShared(pool);
  }

  /** Counters of the pool, less what allocated devices of it consume. */
  #countShared({ id, slices }: Pool): void {
    for (const { spec } of slices)
      for (const { counters, name: set } of spec.sharedCounters ?? [])
        for (const [name, { value }] of Object.entries(counters ?? {}))
          this.#counters.set(`${id}/${set}/${name}`, parseQuantity(String(value)).nano);
    for (const { spec } of slices)
      for (const device of spec.devices ?? [])
        if (this.#state.allocated.has(`${id}/${device.name}`)) this.#consume(id, device, -1n);
  }

  #consume(pool: string, device: PooledDevice['device'], sign: 1n | -1n): void {
    for (const { counterSet, counters } of device.consumesCounters ?? [])
      for (const [name, { value }] of Object.entries(counters ?? {})) {
        const key = `${pool}/${counterSet}/${name}`;
        this.#counters.set(key, (this.#counters.get(key) ?? 0n) + sign * parseQuantity(String(value)).nano);
      }
  }

  #hasCounters(pool: string, device: PooledDevice['device']): boolean {
    return (device.consumesCounters ?? []).every(({ counterSet, counters }) =>
      Object.entries(counters ?? {}).every(
        ([name, { value }]) =>
          (this.#counters.get(`${pool}/${counterSet}/${name}`) ?? -1n) >= parseQuantity(String(value)).nano,
      ),
    );
  }

  run(claims: readonly ResourceClaim[]): AllocationResult[] | undefined {
    const requests = claims.flatMap((claim) =>
      (claim.spec.devices?.requests ?? []).map((request) => ({ claim, request })),
    );
    if (!this.#place(requests, 0)) return undefined;
    return claims.map((claim) => this.#result(claim));
  }

  #place(requests: readonly { claim: ResourceClaim; request: DeviceRequest }[], at: number): boolean {
    const next = requests[at];
    if (next === undefined) return true;
    const { claim, request } = next;
    const choices: readonly (readonly [string, Wanted])[] = request.exactly
      ? [[request.name, request.exactly]]
      : (request.firstAvailable ?? []).map((sub) => [`${request.name}/${sub.name}`, sub] as const);
    for (const [name, wanted] of choices) {
      const deviceClass = this.#state.deviceClass(wanted.deviceClassName);
      if (!deviceClass) continue;
      const choice: Choice = { claim, name, wanted, deviceClass };
      const devices = this.#devicesFor(choice);
      if (devices === undefined) continue;
      const isAll = wanted.allocationMode === 'All';
      const count = isAll ? devices.length : Number(wanted.count ?? 1);
      if (count < 1 || this.#taken.length + count > mostResults) continue;
      if (this.#pick(choice, devices, 0, count, isAll, () => this.#place(requests, at + 1))) return true;
    }
    return false;
  }

  /** Takes `count` of the devices from `from` on, and goes on with what comes after. */
  #pick(
    choice: Choice,
    devices: readonly PooledDevice[],
    from: number,
    count: number,
    isAll: boolean,
    then: () => boolean,
  ): boolean {
    if (count === 0) return then();
    for (let i = from; i + count <= devices.length; i++) {
      if (++this.#tries > mostTries) return false;
      const device = devices[i]!;
      if (this.#mayTake(choice, device)) {
        this.#take(choice, device);
        if (this.#pick(choice, devices, i + 1, count - 1, isAll, then)) return true;
        this.#putBack(choice, device);
      }
      // Of all there is none that may be left out.
      if (isAll) return false;
    }
    return false;
  }

  #mayTake({ claim, name, wanted }: Choice, device: PooledDevice): boolean {
    const { id } = device;
    if (!hasAdminAccess(wanted)) {
      if (this.#state.allocated.has(id) || this.#used.has(id)) return false;
      if (!this.#hasCounters(`${device.driver}/${device.pool}`, device.device)) return false;
    }
    return (claim.spec.devices?.constraints ?? []).every(
      (constraint) => !isAbout(constraint, name) || this.#keeps(claim, constraint, device),
    );
  }

  #keeps(claim: ResourceClaim, constraint: DeviceConstraint, device: PooledDevice): boolean {
    const { distinctAttribute, matchAttribute } = constraint;
    const value = attributeOf(device, matchAttribute ?? distinctAttribute ?? '');
    if (value === undefined) return false;
    const others = this.#taken.filter((one) => one.claim === claim && isAbout(constraint, one.name));
    return others.every((one) => {
      const isSame = attributeOf(one.device, matchAttribute ?? distinctAttribute ?? '') === value;
      return matchAttribute === undefined ? !isSame : isSame;
    });
  }

  #take(choice: Choice, device: PooledDevice): void {
    this.#taken.push({ ...choice, device });
    if (hasAdminAccess(choice.wanted)) return;
    this.#used.add(device.id);
    this.#consume(`${device.driver}/${device.pool}`, device.device, -1n);
  }

  #putBack({ wanted }: Choice, device: PooledDevice): void {
    this.#taken.pop();
    if (hasAdminAccess(wanted)) return;
    this.#used.delete(device.id);
    this.#consume(`${device.driver}/${device.pool}`, device.device, 1n);
  }

  /** Those that class and request select, whoever has them; undefined when all are wanted and not all are known. */
  #devicesFor({ deviceClass, wanted }: Choice): readonly PooledDevice[] | undefined {
    const isAll = wanted.allocationMode === 'All';
    if (isAll && this.#pools.some(({ isWhole }) => !isWhole)) return undefined;
    let fitting = this.#fitting.get(wanted);
    if (fitting === undefined) {
      const expressions = [...(deviceClass.spec?.selectors ?? []), ...(wanted.selectors ?? [])].map(
        ({ cel }) => cel?.expression ?? '',
      );
      fitting = this.#pools
        .filter(({ isWhole }) => isWhole)
        .flatMap(({ devices }) => devices)
        .filter((device) => isTolerated(device, wanted.tolerations) && isSelected(device, expressions));
      this.#fitting.set(wanted, fitting);
    }
    return fitting;
  }

  #result(claim: ResourceClaim): AllocationResult {
    const taken = this.#taken.filter((one) => one.claim === claim);
    const results = taken.map(
      ({ device, name, wanted }): DeviceRequestAllocationResult => ({
        request: name,
        driver: device.driver,
        pool: device.pool,
        device: device.device.name,
        ...(hasAdminAccess(wanted) ? { adminAccess: true } : {}),
        ...(wanted.tolerations === undefined ? {} : { tolerations: wanted.tolerations }),
      }),
    );
    const config = configOf(claim, taken);
    const nodeSelector = selectorOf(
      taken.map(({ device }) => device),
      this.#node,
    );
    return {
      devices: { results, ...(config.length === 0 ? {} : { config }) },
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
    };
  }
}

function isSelected({ device, driver }: PooledDevice, expressions: readonly string[]): boolean {
  for (const expression of expressions) {
    const answer = selectsDevice(expression, driver, device);
    if (typeof answer === 'string') throw new SelectorError(answer);
    if (!answer) return false;
  }
  return true;
}

/** What drivers are told: the class's first, once for each request, then the claim's. */
function configOf(claim: ResourceClaim, taken: readonly Taken[]): DeviceAllocationConfiguration[] {
  const requests = new Map(taken.map(({ deviceClass, name }) => [name, deviceClass]));
  const ofClasses = [...requests].flatMap(([name, { spec }]) =>
    (spec?.config ?? []).map((config) => ({ source: 'FromClass', requests: [name], ...config })),
  );
  const ofClaim = (claim.spec.devices?.config ?? [])
    .filter((config) => requests.keys().some((name) => isAbout(config, name)))
    .map((config) => ({ source: 'FromClaim', ...config }));
  return [...ofClasses, ...ofClaim];
}

/** Nodes that can use all of them; undefined: every node. */
function selectorOf(devices: readonly PooledDevice[], node: Node): NodeSelector | undefined {
  const places = devices.map(placeOf);
  if (places.some(({ nodeName = '' }) => nodeName !== ''))
    return {
      nodeSelectorTerms: [
        { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node.metadata.name] }] },
      ],
    };
  const [expressions, fields]: [NodeSelectorRequirement[], NodeSelectorRequirement[]] = [[], []];
  for (const { nodeSelector } of places)
    for (const term of nodeSelector?.nodeSelectorTerms ?? []) {
      expressions.push(...(term.matchExpressions ?? []));
      fields.push(...(term.matchFields ?? []));
    }
  const once = (list: readonly NodeSelectorRequirement[]): NodeSelectorRequirement[] => [
    ...new Map(list.map((one) => [JSON.stringify(one), one])).values(),
  ];
  if (expressions.length + fields.length === 0) return undefined;
  return {
    nodeSelectorTerms: [
      {
        ...(expressions.length === 0 ? {} : { matchExpressions: once(expressions) }),
        ...(fields.length === 0 ? {} : { matchFields: once(fields) }),
      },
    ],
  };
}

/** An allocation for each claim in their order, or undefined when the node has not all that they want. Throws SelectorError. */
export const allocateDevices = (
  claims: readonly ResourceClaim[],
  node: Node,
  state: DeviceState,
): AllocationResult[] | undefined => new Search(node, state).run(claims);
