// The address families of a Service in a cluster of one family: defaults and what is refused.
import type { Service } from '../../api/generated/types/core-v1.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';

export const needsClusterIp = (service: Service): boolean =>
  service.spec?.type !== 'ExternalName' && service.spec?.clusterIP !== 'None';

/** Sets ipFamilies and ipFamilyPolicy as upstream does, in place. */
export function defaultFamilies(service: Service): readonly FieldError[] {
  const spec = service.spec;
  if (spec === undefined) return [];
  if (spec.type === 'ExternalName') {
    delete spec.ipFamilies;
    delete spec.ipFamilyPolicy;
    return [];
  }
  if (spec.clusterIP === 'None' && (spec.clusterIPs?.length ?? 0) === 0) spec.clusterIPs = ['None'];
  const selectorless = Object.keys(spec.selector ?? {}).length === 0;
  if (spec.clusterIP === 'None' && selectorless) {
    // Its endpoints are somebody else's business, so both families are let through.
    spec.ipFamilyPolicy ??= 'RequireDualStack';
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
  spec.ipFamilyPolicy ??= 'SingleStack';
  if ((spec.ipFamilies?.length ?? 0) === 0) spec.ipFamilies = ['IPv4'];
  return errors;
}
