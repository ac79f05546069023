// Makes the records of cluster IPs and node ports agree with the Services: at a start, and now and then.
import { ipaddresses, services } from '../../api/generated/resources.ts';
import type { ObjectReference, Service } from '../../api/generated/types/core-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Clock } from '../../base/clock.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Claim, Claims, Owner } from './claims.ts';
import { type Holder, repairPlan } from './repair-plan.ts';
import { isAddress } from './service-allocators.ts';
import { managedAddress, type ServiceClaims } from './service-claims.ts';
import { nodePortsOf } from './service-ports.ts';

const managedLabel = 'ipaddress.kubernetes.io/managed-by';

export interface RepairDeps extends ServiceClaims {
  readonly live: LiveObjects;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: Pick<EventRecorder, 'event'>;
}

interface Kept {
  readonly reference: ObjectReference;
  readonly addresses: Holder;
  readonly ports: Holder;
}

/** All that is asked of a stored Service: asked once for each version. */
function kept({ metadata, spec }: Service): Kept {
  const { namespace = '', name = '', uid = '' } = metadata ?? {};
  const ip = spec?.clusterIP;
  return {
    reference: { kind: 'Service', apiVersion: 'v1', namespace, name, uid },
    addresses: { namespace, name, names: isAddress(ip) ? [ip] : [] },
    ports: { namespace, name, names: nodePortsOf({ spec } as Service).map(String) },
  };
}

/** What is said of each finding; undefined: it is logged only. */
interface Words {
  readonly missing?: (name: string, about: ObjectReference) => void;
  readonly wrong?: (name: string, about: ObjectReference) => void;
  readonly shared?: (name: string, about: ObjectReference) => void;
  readonly leaked?: (claim: Claim) => void;
}

const placeOf = ({ namespace, name }: Owner): string => `${namespace}/${name}`;

function addressWords({ events, live }: RepairDeps): Words {
  const tell = (about: ObjectReference, reason: string, message: string): void =>
    events.event(about, 'Warning', reason, message);
  const repairing = (about: ObjectReference, message: string): void =>
    tell(about, 'ClusterIPNotAllocated', message);
  return {
    missing: (ip, about) => repairing(about, `Cluster IP [IPv4]: ${ip} is not allocated; repairing`),
    wrong: (ip, about) =>
      repairing(
        about,
        `the ClusterIP [IPv4]: ${ip} for Service ${about.namespace}/${about.name} has a wrong reference; repairing`,
      ),
    shared: (ip, about) =>
      tell(
        about,
        'ClusterIPAlreadyAllocated',
        `Cluster IP [IPv4]:${ip} was assigned to multiple services; please recreate service`,
      ),
    leaked: ({ name, owner }) => {
      const about = { kind: ipaddresses.kind, apiVersion: 'networking.k8s.io/v1', name };
      if (owner === undefined || live.get(services, owner.name, owner.namespace) === undefined)
        tell(
          about,
          'IPAddressNotAllocated',
          `IPAddress: ${name} for Service ${owner === undefined ? '/' : placeOf(owner)} appears to have leaked: cleaning up`,
        );
      else
        tell(
          about,
          'IPAddressWrongReference',
          `IPAddress: ${name} for Service ${placeOf(owner)} has a wrong reference; cleaning up`,
        );
    },
  };
}

export async function repairClaims(deps: RepairDeps): Promise<void> {
  const { addresses, live, ports } = deps;
  const all = live.summaries(services, '', kept);
  const references = new Map(all.map(({ reference }) => [placeOf(reference as Owner), reference]));
  const isOurs = (claim: Claim): boolean => claim.labels[managedLabel] === managedAddress[managedLabel];
  await Promise.all([
    mend(
      deps,
      addresses,
      { holders: all.map((one) => one.addresses), isOurs },
      references,
      addressWords(deps),
    ),
    mend(deps, ports, { holders: all.map((one) => one.ports), isOurs: () => true }, references, {}),
  ]);
}

async function mend(
  { clock, log }: RepairDeps,
  claims: Claims,
  { holders, isOurs }: { holders: readonly Holder[]; isOurs: (claim: Claim) => boolean },
  references: ReadonlyMap<string, ObjectReference>,
  words: Words,
): Promise<void> {
  const plan = repairPlan(holders, claims.all(), { nowMs: clock.now(), isOurs });
  const about = (owner: Owner): ObjectReference => references.get(placeOf(owner)) ?? {};
  const works: Promise<unknown>[] = [];
  for (const { name, owner } of plan.missing) {
    words.missing?.(name, about(owner));
    works.push(claims.take(name, owner));
  }
  for (const { claim, owner } of plan.wrong) {
    words.wrong?.(claim.name, about(owner));
    works.push(claims.remove(claim).then(() => claims.take(claim.name, owner)));
  }
  for (const { claim, owner } of plan.shared) {
    log.error({ name: claim.name, owner, also: claim.owner }, 'held by two Services: recreate one of them');
    words.shared?.(claim.name, about(owner));
  }
  for (const claim of plan.leaked) {
    log.warn(
      { name: claim.name, owner: claim.owner },
      'taken for a Service that does not hold it: given back',
    );
    words.leaked?.(claim);
    works.push(claims.remove(claim));
  }
  for (const ended of await Promise.allSettled(works))
    if (ended.status === 'rejected' && !isStatusError(ended.reason, 'Conflict'))
      log.warn({ error: ended.reason }, 'a record of an address or port could not be repaired');
}
