// The address families of a Service in a cluster of one family: defaults and what is refused.
import { clusterIpErrors } from '../../api/core/v1/validate-service.ts';
import type { Service, ServiceSpec } from '../../api/generated/types/core-v1.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { isIPv6 } from '../../apimachinery/validation/addresses.ts';

export const needsClusterIp = (service: Service): boolean =>
  service.spec?.type !== 'ExternalName' && service.spec?.clusterIP !== 'None';

const noSecond = (what: string): string =>
  `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;

/** The policy takes out the second of each when an update says nothing else. */
function oneOfEach(spec: ServiceSpec, before: ServiceSpec): void {
  const { clusterIPs, ipFamilies } = spec;
  if (clusterIPs !== undefined && semanticEqual(clusterIPs, before.clusterIPs))
    spec.clusterIPs = clusterIPs.slice(0, 1);
  if (ipFamilies !== undefined && semanticEqual(ipFamilies, before.ipFamilies))
    spec.ipFamilies = ipFamilies.slice(0, 1);
}

/** What says more than one family where one is served; of well-formed addresses. */
function stackErrors({ clusterIPs: ips = [], ipFamilies = [], ipFamilyPolicy: policy }: ServiceSpec) {
  const errors: FieldError[] = [];
  const refuse = (what: string): number =>
    errors.push(invalid('spec.ipFamilyPolicy', policy, noSecond(what)));
  if (policy === 'SingleStack' && ips.length === 2) refuse('cluster IPs');
  if (policy === 'SingleStack' && ipFamilies.length === 2) refuse('IP families');
  ips.forEach((ip, i) => {
    if (ip !== 'None' && i >= ipFamilies.length && isIPv6(ip))
      errors.push(invalid(`spec.clusterIPs[${i}]`, ips, 'IPv6 is not configured on this cluster'));
  });
  return errors;
}

/** Sets ipFamilies and ipFamilyPolicy as upstream does, in place. What is malformed is said alone. */
export function defaultFamilies(service: Service, old?: Service): readonly FieldError[] {
  const spec = service.spec;
  if (spec === undefined) return [];
  if (spec.type === 'ExternalName') {
    delete spec.ipFamilies;
    delete spec.ipFamilyPolicy;
    return [];
  }
  const isOpen = spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= isOpen ? 'RequireDualStack' : 'SingleStack';
  const malformed = clusterIpErrors(spec);
  if (malformed.length > 0) return malformed;
  if (old?.spec !== undefined && spec.ipFamilyPolicy === 'SingleStack') oneOfEach(spec, old.spec);
  const wrong = stackErrors(spec);
  if (wrong.length > 0) return wrong;
  if (isOpen) {
    // Its endpoints are somebody else's business, so both families are let through.
    if ((spec.ipFamilies?.length ?? 0) === 0) {
      spec.ipFamilies = spec.ipFamilyPolicy === 'SingleStack' ? ['IPv4'] : ['IPv4', 'IPv6'];
    }
    return [];
  }
  const errors: FieldError[] = [];
  if (spec.ipFamilyPolicy === 'RequireDualStack') {
    errors.push(
      invalid(
        'spec.ipFamilyPolicy',
        spec.ipFamilyPolicy,
        'this cluster is not configured for dual-stack services',
      ),
    );
  }
  (spec.ipFamilies ?? []).forEach((family, i) => {
    if (family === 'IPv6') {
      errors.push(invalid(`spec.ipFamilies[${i}]`, family, 'not configured on this cluster'));
    }
  });
  if ((spec.ipFamilies?.length ?? 0) === 0) spec.ipFamilies = ['IPv4'];
  return errors;
}
