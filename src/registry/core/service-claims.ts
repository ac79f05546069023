// The records of cluster IPs and node ports, each in its place in the store.
import { ipaddresses } from '../../api/generated/resources.ts';
import type { Scheme } from '../../apimachinery/declaration.ts';
import { meta, str } from '../../apimachinery/json-access.ts';
import { openCache } from '../../apiserver/registry/stored-resource.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { CacheSource, ResourceCache } from '../../storage/watch/resource-cache.ts';
import { Claims } from './claims.ts';

export interface ServiceClaims {
  readonly addresses: Claims;
  readonly ports: Claims;
}

/** Labels of an IPAddress that the server made. */
export const managedAddress: Readonly<Record<string, string>> = {
  'ipaddress.kubernetes.io/ip-family': 'IPv4',
  'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
};

/** `/registry/ranges/servicenodeports/`, as upstream's RangeAllocation; but a key for each port. No API serves them. */
const portCache = (caches: CacheSource): ResourceCache =>
  caches.cache({ group: 'ranges', resource: 'servicenodeports' }, (object) => {
    const { name, uid } = meta(object as Parameters<typeof meta>[0]);
    return { namespace: '', name: str(name), uid: str(uid), labels: {}, fields: {} };
  });

export function serviceClaims(deps: {
  readonly scheme: Scheme;
  readonly caches: CacheSource;
  readonly clock: Clock;
  readonly random: Random;
}): ServiceClaims {
  const { caches, scheme } = deps;
  const declaration = scheme.resource(ipaddresses.group, ipaddresses.version, ipaddresses.resource);
  if (declaration === undefined) throw new Error('IPAddresses are not served');
  const addressForm = {
    kind: 'IPAddress',
    apiVersion: 'networking.k8s.io/v1',
    labels: managedAddress,
  };
  const portForm = { kind: 'NodePortClaim', apiVersion: 'internal.porthole.dev/v1' };
  return {
    addresses: new Claims(openCache(caches, declaration), addressForm, deps),
    ports: new Claims(portCache(caches), portForm, deps),
  };
}
