// An APIService is named for its version and group, and says who answers for them.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { type Errors, each, optional } from '../../../apimachinery/validation/checks.ts';
import {
  dns1035Label,
  dnsSubdomain,
  isPort,
  pathSegment,
  portRange,
} from '../../../apimachinery/validation/names.ts';
import type { APIService, APIServiceSpec } from '../../generated/types/apiregistration-v1.ts';

const maxGroupPriority = 20000;
const maxVersionPriority = 1000;

function nameErrors(name: string, { group = '', version = '' }: Decoded<APIServiceSpec>): Errors {
  const wanted = `${version}.${group}`;
  const field = 'metadata.name';
  if (name === '' || pathSegment(name).length > 0) return each(field, name, pathSegment);
  return name === wanted
    ? []
    : [invalid(field, name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`)];
}

export function validateApiService(apiService: Decoded<APIService>): Errors {
  const s = apiService.spec ?? {};
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = s;
  const errors = nameErrors(apiService.metadata?.name ?? '', s);
  if (group === '' && version !== 'v1')
    errors.push(required('spec.group', 'only v1 may have an empty group and it better be legacy kube'));
  errors.push(...optional('spec.group', group, dnsSubdomain), ...each('spec.version', version, dns1035Label));
  const within = (field: string, value: number, max: number): void => {
    if (value <= 0 || value > max)
      errors.push(invalid(`spec.${field}`, value, `must be positive and less than ${max}`));
  };
  within('groupPriorityMinimum', groupPriorityMinimum, maxGroupPriority);
  within('versionPriority', versionPriority, maxVersionPriority);
  return [...errors, ...serverErrors(s)];
}

function serverErrors({
  service,
  caBundle = '',
  insecureSkipTLSVerify: insecure,
}: Decoded<APIServiceSpec>): Errors {
  const bytes = atob(caBundle).length;
  const errors: Errors = [];
  if (service === undefined) {
    if (bytes > 0)
      errors.push(invalid('spec.caBundle', `${bytes} bytes`, 'local APIServices may not have a caBundle'));
    if (insecure === true)
      errors.push(
        invalid('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify'),
      );
    return errors;
  }
  const { namespace, name, port = 0 } = service;
  if (!namespace) errors.push(required('spec.service.namespace'));
  if (!name) errors.push(required('spec.service.name'));
  if (!isPort(port)) errors.push(invalid('spec.service.port', port, `port is not valid: ${portRange}`));
  if (insecure === true && bytes > 0)
    errors.push(invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present'));
  return errors;
}

const conditionStatuses = ['True', 'False', 'Unknown'];

export const validateApiServiceStatus = ({ status }: Decoded<APIService>): Errors =>
  (status?.conditions ?? []).flatMap(({ status: said = '' }, i) =>
    conditionStatuses.includes(said)
      ? []
      : [notSupported(`status.conditions[${i}].status`, said, conditionStatuses)],
  );
