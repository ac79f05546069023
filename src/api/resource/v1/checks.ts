// What lists, names and parameters of resource.k8s.io have in common.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import {
  duplicate,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../../apimachinery/field-error.ts';
import { isObject } from '../../../apimachinery/json-access.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { type Errors, each } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import { driverNameErrors } from '../../core/v1/csi-driver-name.ts';
import type {
  DeviceTaint,
  DeviceToleration,
  OpaqueDeviceConfiguration,
} from '../../generated/types/resource-v1.ts';

/** Each item, then how many there are. */
export function eachItemErrors<T>(
  at: string,
  list: readonly T[] | undefined,
  max: number,
  item: (item: T, at: string) => Errors,
): Errors {
  const items = list ?? [];
  const errors = items.flatMap((one, i) => item(one, `${at}[${i}]`));
  if (items.length > max) errors.push(tooMany(at, items.length, max));
  return errors;
}

/** The same, and none twice; `key` with the name of its field. */
export function setErrors<T>(
  at: string,
  list: readonly T[] | undefined,
  max: number,
  item: (item: T, at: string) => Errors,
  key: (item: T) => unknown,
  keyField = '',
): Errors {
  const errors = eachItemErrors(at, list, max, item);
  const seen = new Set<string>();
  for (const [i, one] of (list ?? []).entries()) {
    const value = key(one);
    const text = JSON.stringify(value);
    if (seen.has(text)) errors.push(duplicate(`${at}[${i}]${keyField === '' ? '' : `.${keyField}`}`, value));
    seen.add(text);
  }
  return errors;
}

const maxPoolName = 253;

export function poolNameErrors(field: string, name = ''): Errors {
  if (name === '') return [required(field)];
  return [
    ...(name.length > maxPoolName ? [tooLong(field, maxPoolName)] : []),
    ...name
      .slice(0, maxPoolName * 2)
      .split('/')
      .flatMap((part) => each(field, part, dnsSubdomain)),
  ];
}

const maxId = 32;
const identifier =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

const identifierErrors = (field: string, id: string): Errors => [
  ...(id.length > maxId ? [tooLong(field, maxId)] : []),
  ...(/^[A-Za-z_][A-Za-z0-9_]*$/.test(id) ? [] : [invalid(field, id, identifier)]),
];

/** `name` or `domain/name`, of an attribute or a capacity. */
export function qualifiedErrors(field: string, name: string): Errors {
  if (name === '') return [required(field, 'name required')];
  const [first = '', second, ...more] = name.split('/');
  if (more.length > 0) return [];
  if (second === undefined) return identifierErrors(field, first);
  return [
    ...(first === '' ? [required(field, 'the domain must not be empty')] : driverNameErrors(field, first)),
    ...(second === '' ? [required(field, 'the name must not be empty')] : identifierErrors(field, second)),
  ];
}

export const fullyQualifiedErrors = (field: string, name = ''): Errors => [
  ...qualifiedErrors(field, name),
  ...(name === '' || name.includes('/') ? [] : [invalid(field, name, 'must include a domain')]),
];

const maxShownKey = 63 + 1 + maxId;

/** A key as it stands in a field's path: its middle may be left out. */
export function shownKey(key: string, max: number = maxShownKey): string {
  const most = Math.max(max, 16);
  if (key.length <= most) return key;
  const rest = most - 3;
  return `${key.slice(0, Math.floor((rest + 1) / 2))}...${key.slice(key.length - Math.floor(rest / 2))}`;
}

/** An object of somebody else, as JSON. */
export function rawErrors(field: string, value: unknown, maxBytes: number): Errors {
  if (value === undefined || value === null) return [required(field)];
  if (JSON.stringify(value).length > maxBytes) return [tooLong(field, maxBytes)];
  return isObject(value as never) ? [] : [invalid(field, '<value omitted>', 'must be a valid JSON object')];
}

const maxParameters = 10 * 1024;

export function configurationErrors(
  at: string,
  opaque: Decoded<OpaqueDeviceConfiguration> | undefined,
): Errors {
  if (opaque === undefined) return [required(`${at}.opaque`)];
  return [
    ...driverNameErrors(`${at}.opaque.driver`, opaque.driver),
    ...rawErrors(`${at}.opaque.parameters`, opaque.parameters, maxParameters),
  ];
}

const effects = ['NoExecute', 'NoSchedule', 'None'];

export const taintErrors = ({ key, value = '', effect = '' }: Decoded<DeviceTaint>, at: string): Errors => [
  ...each(`${at}.key`, key, qualifiedNameErrors),
  ...(value === '' ? [] : each(`${at}.value`, value, labelValueErrors)),
  ...(effect === ''
    ? [required(`${at}.effect`)]
    : effects.includes(effect)
      ? []
      : [notSupported(`${at}.effect`, effect, effects)]),
];

export function tolerationErrors(toleration: Decoded<DeviceToleration>, at: string): Errors {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  const errors: Errors = key === '' ? [] : each(`${at}.key`, key, qualifiedNameErrors);
  if (operator === 'Exists') {
    if (value !== '') errors.push(invalid(`${at}.value`, value, 'must be empty for operator `Exists`'));
  } else if (operator === 'Equal') errors.push(...each(`${at}.value`, value, labelValueErrors));
  else if (operator === '') errors.push(required(`${at}.operator`));
  else errors.push(notSupported(`${at}.operator`, operator, ['Equal', 'Exists']));
  if (effect !== '' && !effects.includes(effect)) errors.push(notSupported(`${at}.effect`, effect, effects));
  return errors;
}

const maxBinding = 4;

/** When a pod may be bound to a node with the device: conditions that must come, and those that must not. */
export function bindingErrors(
  at: string,
  {
    bindingConditions = [],
    bindingFailureConditions = [],
  }: {
    readonly bindingConditions?: readonly string[] | undefined;
    readonly bindingFailureConditions?: readonly string[] | undefined;
  },
): Errors {
  const [wanted, failing] = [`${at}.bindingConditions`, `${at}.bindingFailureConditions`];
  const named = (name: string, field: string): Errors => each(field, name, qualifiedNameErrors);
  const errors = [
    ...eachItemErrors(wanted, bindingConditions, maxBinding, named),
    ...eachItemErrors(failing, bindingFailureConditions, maxBinding, named),
  ];
  const known = new Set<string>();
  for (const [i, name] of bindingConditions.entries()) {
    if (known.has(name)) errors.push(duplicate(`${wanted}[${i}]`, name));
    known.add(name);
  }
  const seen = new Set<string>();
  for (const [i, name] of bindingFailureConditions.entries()) {
    if (seen.has(name)) errors.push(duplicate(`${failing}[${i}]`, name));
    seen.add(name);
    if (known.has(name))
      errors.push(
        invalid(`${failing}[${i}]`, name, 'bindingFailureConditions must not overlap with bindingConditions'),
      );
  }
  if (bindingConditions.length === 0 && bindingFailureConditions.length > 0)
    errors.push(
      invalid(wanted, bindingConditions, 'bindingConditions are required to use bindingFailureConditions'),
    );
  if (bindingFailureConditions.length === 0 && bindingConditions.length > 0)
    errors.push(
      invalid(
        failing,
        bindingFailureConditions,
        'bindingFailureConditions are required to use bindingConditions',
      ),
    );
  return errors;
}
