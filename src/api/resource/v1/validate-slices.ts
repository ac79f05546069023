// The devices that a driver publishes: their names, what is said of them, and on which nodes they are.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, required, tooLong, tooMany } from '../../../apimachinery/field-error.ts';
import { compareQuantities, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import { type Errors, each, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import { driverNameErrors } from '../../core/v1/csi-driver-name.ts';
import { validateNodeSelector } from '../../core/v1/validate-scheduling.ts';
import type {
  CapacityRequestPolicy,
  Counter,
  Device,
  DeviceAttribute,
  DeviceCapacity,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../generated/types/resource-v1.ts';
import {
  bindingErrors,
  eachItemErrors,
  poolNameErrors,
  qualifiedErrors,
  setErrors,
  shownKey,
  taintErrors,
} from './checks.ts';

const maxDevices = 128;
const maxNames = 32;
const maxTaints = 16;
const maxValue = 64;
const maxCounters = 32;
const maxCounterSets = 8;
const maxConsumptions = 2;
const maxOptions = 10;

export function validateResourceSlice({ spec = {} }: Decoded<ResourceSlice>): Errors {
  const { driver, pool = {}, devices, sharedCounters } = spec;
  const { resourceSliceCount = 0, generation = 0 } = pool;
  return [
    ...driverNameErrors('spec.driver', driver),
    ...poolNameErrors('spec.pool.name', pool.name),
    ...(resourceSliceCount > 0
      ? []
      : [invalid('spec.pool.resourceSliceCount', resourceSliceCount, 'must be greater than zero')]),
    ...(generation < 0
      ? [invalid('spec.pool.generation', generation, 'must be greater than or equal to zero')]
      : []),
    ...sliceNodeErrors(spec),
    ...setErrors(
      'spec.devices',
      devices,
      maxDevices,
      (device, at) => deviceErrors(device, at, spec.perDeviceNodeSelection === true),
      ({ name = '' }) => name,
      'name',
    ),
    ...setErrors(
      'spec.sharedCounters',
      sharedCounters,
      maxCounterSets,
      ({ name = '', counters }, at) => [
        ...(name === '' ? [required(`${at}.name`)] : each(`${at}.name`, name, dnsLabel)),
        ...counterErrors(`${at}.counters`, counters),
      ],
      ({ name = '' }) => name,
      'name',
    ),
  ];
}

export const sliceStays = (slice: Decoded<ResourceSlice>, old: Decoded<ResourceSlice>): Errors => [
  ...unchanged('spec.pool.name', slice.spec?.pool?.name, old.spec?.pool?.name),
  ...unchanged('spec.driver', slice.spec?.driver, old.spec?.driver),
  ...unchanged('spec.nodeName', slice.spec?.nodeName, old.spec?.nodeName),
];

const onlyTrue = 'must be either unset or set to true';

function sliceNodeErrors(spec: Decoded<ResourceSliceSpec>): Errors {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection: perDevice } = spec;
  const errors: Errors = [];
  const set: string[] = [];
  if (nodeName === '')
    errors.push(invalid('spec.nodeName', nodeName, 'must be either unset or set to a non-empty string'));
  else if (nodeName !== undefined) {
    set.push('`nodeName`');
    errors.push(...each('spec.nodeName', nodeName, dnsSubdomain));
  }
  if (nodeSelector !== undefined) {
    set.push('`nodeSelector`');
    errors.push(...validateNodeSelector(nodeSelector, 'spec.nodeSelector'));
    const terms = nodeSelector.nodeSelectorTerms ?? [];
    if (terms.length !== 1)
      errors.push(
        invalid('spec.nodeSelector.nodeSelectorTerms', terms, 'must have exactly one node selector term'),
      );
  }
  for (const [name, value] of [
    ['allNodes', allNodes],
    ['perDeviceNodeSelection', perDevice],
  ] as const) {
    if (value === true) set.push(`\`${name}\``);
    if (value === false) errors.push(invalid(`spec.${name}`, value, onlyTrue));
  }
  const one = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (set.length === 0) errors.push(required('spec', one));
  if (set.length > 1)
    errors.push(invalid('spec', `{${set.join(', ')}}`, `${one}, but multiple fields are set`));
  return errors;
}

function deviceErrors(device: Decoded<Device>, at: string, choosesNode: boolean): Errors {
  const { attributes = {}, capacity = {}, consumesCounters } = device;
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  const many =
    count > maxNames
      ? [invalid(at, count, `the total number of attributes and capacities must not exceed ${maxNames}`)]
      : [];
  return [
    ...each(`${at}.name`, device.name, dnsLabel),
    ...many,
    ...Object.entries(attributes).flatMap(([name, attribute]) => {
      const here = `${at}.attributes[${shownKey(name)}]`;
      return [...qualifiedErrors(here, name), ...attributeErrors(attribute ?? {}, here)];
    }),
    ...Object.entries(capacity).flatMap(([name, one]) => {
      const here = `${at}.capacity[${shownKey(name)}]`;
      return [...qualifiedErrors(here, name), ...capacityErrors(one ?? {}, here, device)];
    }),
    ...eachItemErrors(`${at}.taints`, device.taints, maxTaints, taintErrors),
    ...setErrors(
      `${at}.consumesCounters`,
      consumesCounters,
      maxConsumptions,
      ({ counterSet, counters }, here) => [
        ...(counterSet ? [] : [required(`${here}.counterSet`)]),
        ...counterErrors(`${here}.counters`, counters),
      ],
      ({ counterSet = '' }) => counterSet,
      'counterSet',
    ),
    ...deviceNodeErrors(device, at, choosesNode),
    ...bindingErrors(at, device),
  ];
}

function counterErrors(
  at: string,
  counters: Readonly<Record<string, Decoded<Counter> | undefined>> | undefined,
): Errors {
  const names = Object.keys(counters ?? {});
  if (names.length === 0) return [required(at)];
  return [
    ...(names.length > maxCounters ? [tooMany(at, names.length, maxCounters)] : []),
    ...names.flatMap((name) => each(`${at}[${shownKey(name, 63)}]`, name, dnsLabel)),
  ];
}

function deviceNodeErrors(device: Decoded<Device>, at: string, choosesNode: boolean): Errors {
  const { nodeName, nodeSelector, allNodes } = device;
  if (!choosesNode)
    return nodeName === undefined && nodeSelector === undefined && allNodes === undefined
      ? []
      : [
          invalid(
            at,
            null,
            '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
          ),
        ];
  const errors: Errors = [];
  const set: string[] = [];
  if (nodeName === '') errors.push(invalid(`${at}.nodeName`, nodeName, 'must not be empty'));
  else if (nodeName !== undefined) {
    set.push('`nodeName`');
    errors.push(...each(`${at}.nodeName`, nodeName, dnsSubdomain));
  }
  if (nodeSelector !== undefined) {
    set.push('`nodeSelector`');
    errors.push(...validateNodeSelector(nodeSelector, `${at}.nodeSelector`));
  }
  if (allNodes === true) set.push('`allNodes`');
  if (allNodes === false) errors.push(invalid(`${at}.allNodes`, allNodes, onlyTrue));
  const one =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (set.length === 0) errors.push(required(at, one));
  if (set.length > 1) errors.push(invalid(at, `{${set.join(', ')}}`, one));
  return errors;
}

const numeric = '(?:0|[1-9][0-9]*)';
const part = '[0-9A-Za-z-]+';
const version = new RegExp(
  `^${numeric}\\.${numeric}\\.${numeric}(?:-${part}(?:\\.${part})*)?(?:\\+${part}(?:\\.${part})*)?$`,
);
/** A number in a pre-release has no zeros before it. */
const isVersion = (text: string): boolean =>
  version.test(text) &&
  !text
    .split('+', 1)[0]!
    .split('-')
    .slice(1)
    .join('-')
    .split('.')
    .some((id) => /^0[0-9]+$/.test(id));

const tooLongValue = (field: string, text: string): Errors =>
  text.length > maxValue ? [tooLong(field, maxValue)] : [];

function attributeErrors(attribute: Decoded<DeviceAttribute>, at: string): Errors {
  const { string: text, version: number } = attribute;
  const given = Object.values(attribute).filter((value) => value !== undefined);
  return [
    ...(text === undefined ? [] : tooLongValue(`${at}.string`, text)),
    ...(number === undefined
      ? []
      : [
          ...(number.length <= maxValue && isVersion(number)
            ? []
            : [invalid(`${at}.version`, number, 'must be a string compatible with semver.org spec 2.0.0')]),
          ...tooLongValue(`${at}.version`, number),
        ]),
    ...(given.length === 0 ? [required(at, 'exactly one value must be specified')] : []),
    ...(given.length > 1 ? [invalid(at, attribute, 'exactly one value must be specified')] : []),
  ];
}

function capacityErrors(
  { requestPolicy: policy, value }: Decoded<DeviceCapacity>,
  at: string,
  { allowMultipleAllocations }: Decoded<Device>,
): Errors {
  if (policy === undefined) return [];
  const field = `${at}.requestPolicy`;
  if (allowMultipleAllocations !== true) return [forbidden(field, 'allowMultipleAllocations must be true')];
  return policyErrors(policy, value, field);
}

type Amount = CapacityRequestPolicy['default'];
const over = (a: Amount, b: Amount): boolean => {
  const [x, y] = [tryParseQuantity(a), tryParseQuantity(b)];
  return x !== undefined && y !== undefined && compareQuantities(x, y) > 0;
};
const same = (a: Amount, b: Amount): boolean => !over(a, b) && !over(b, a);

function policyErrors(policy: Decoded<CapacityRequestPolicy>, most: Amount, at: string): Errors {
  const { validValues: values = [], validRange: range, default: standard } = policy;
  if (values.length > 0 && range !== undefined)
    return [
      forbidden(
        at,
        'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
      ),
    ];
  const kind = range === undefined ? 'validValues' : 'validRange';
  if (values.length === 0 && range === undefined) return [];
  if (standard === undefined) return [required(`${at}.default`, `required when ${kind} is defined`)];
  return range === undefined
    ? valueErrors(values, standard, most, `${at}.validValues`)
    : rangeErrors(range, standard, most, `${at}.validRange`);
}

function valueErrors(values: readonly Amount[], standard: Amount, most: Amount, at: string): Errors {
  const order = values.flatMap((value, i) =>
    i > 0 && over(values[i - 1], value)
      ? [invalid(`${at}[${i}]`, String(value), 'values must be sorted in ascending order')]
      : [],
  );
  return [
    ...order,
    ...setErrors(
      at,
      values,
      maxOptions,
      (value, field) =>
        over(value, most)
          ? [invalid(field, String(value), `option is larger than capacity value: ${most}`)]
          : [],
      (value) => String(value),
    ),
    ...(values.some((value) => same(value, standard))
      ? []
      : [invalid(at, String(standard), 'default value is not valid according to the requestPolicy')]),
  ];
}

function rangeErrors(
  { min, max, step }: Decoded<NonNullable<CapacityRequestPolicy['validRange']>>,
  standard: Amount,
  most: Amount,
  at: string,
): Errors {
  if (min === undefined) return [required(`${at}.min`, 'required when validRange is defined')];
  const errors: Errors = [];
  const tell = (field: string, value: Amount, why: string): void =>
    void errors.push(invalid(`${at}.${field}`, String(value), why));
  if (over(min, most)) tell('min', min, `min is larger than capacity value: ${most}`);
  if (over(min, standard)) tell('min', standard, `default is less than min: ${min}`);
  if (max !== undefined) {
    if (over(min, max)) tell('max', min, `min is larger than max: ${max}`);
    if (over(max, most)) tell('max', max, `max is larger than capacity value: ${most}`);
    if (over(standard, max)) tell('max', standard, `default is more than max: ${max}`);
  }
  if (step !== undefined)
    for (const value of max === undefined ? [standard] : [standard, max])
      if (!isStep(value, min, step))
        tell('step', value, `value is not a multiple of a given step (${step}) from (${min})`);
  return errors;
}

function isStep(value: Amount, min: Amount, step: Amount): boolean {
  const [v, m, s] = [value, min, step].map((amount) => tryParseQuantity(amount)?.nano ?? 0n);
  return s === 0n ? v === m : (v! - m!) % s! === 0n;
}
