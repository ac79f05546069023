// What a pod says of its place: node selectors, affinity, tolerations, spread, gates.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.ts';
import type { Labels } from '../../../apimachinery/labels.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, labelSelector, labels, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  Affinity,
  NodeSelector,
  NodeSelectorTerm,
  PodAffinityTerm,
  PodSchedulingGate,
  Taint,
  Toleration,
  TopologySpreadConstraint,
} from '../../generated/types/core-v1.ts';

const effects = ['NoExecute', 'NoSchedule', 'PreferNoSchedule'];

export function validateTolerations(
  tolerations: readonly Decoded<Toleration>[] | undefined,
  path: string,
): Errors {
  return (tolerations ?? []).flatMap((t, i) => {
    const at = `${path}[${i}]`;
    const errors: Errors = [];
    const key = t.key ?? '';
    const operator = t.operator ?? '';
    const effect = t.effect ?? '';
    if (key !== '') errors.push(...each(`${at}.key`, key, qualifiedNameErrors));
    if (key === '' && operator !== 'Exists')
      errors.push(
        invalid(
          `${at}.operator`,
          operator,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      );
    if (t.tolerationSeconds !== undefined && effect !== 'NoExecute')
      errors.push(
        invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"),
      );
    if (operator === 'Equal' || operator === '') errors.push(...valueErrors(`${at}.operator`, t.value));
    else if (operator === 'Exists') {
      if (t.value)
        errors.push(invalid(`${at}.operator`, t.value, "value must be empty when `operator` is 'Exists'"));
    } else errors.push(notSupported(`${at}.operator`, operator, ['Equal', 'Exists']));
    if (effect !== '') errors.push(...oneOf(`${at}.effect`, effect, effects));
    return errors;
  });
}

/** All that is wrong with a value, in one. */
function valueErrors(field: string, value = ''): Errors {
  const wrong = labelValueErrors(value);
  return wrong.length === 0 ? [] : [invalid(field, value, wrong.join(';'))];
}

export function validateTaints(taints: readonly Decoded<Taint>[] | undefined, path: string): Errors {
  const seen = new Set<string>();
  return (taints ?? []).flatMap((t, i) => {
    const at = `${path}[${i}]`;
    const errors: Errors = each(`${at}.key`, t.key ?? '', qualifiedNameErrors);
    errors.push(...valueErrors(`${at}.value`, t.value));
    if (!t.effect) errors.push(required(`${at}.effect`));
    else errors.push(...oneOf(`${at}.effect`, t.effect, effects));
    const id = `${t.key ?? ''}:${t.effect ?? ''}`;
    if (seen.has(id)) errors.push(repeatedTaint(at, t));
    seen.add(id);
    return errors;
  });
}

/** As Go prints a type of its own: by the names of its fields there. */
function repeatedTaint(
  field: string,
  { key = '', value = '', effect = '', timeAdded }: Decoded<Taint>,
): FieldError {
  const shown = { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded ?? null };
  const error = duplicate(field, shown);
  return { ...error, message: `${error.message}: taints must be unique by key and effect pair` };
}

const nodeOperators = ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn'];

/** Where a term only prefers, its values may be what no label is. */
function validateNodeSelectorTerm(term: Decoded<NodeSelectorTerm>, at: string, prefers = false): Errors {
  const errors: Errors = [];
  (term.matchExpressions ?? []).forEach((r, i) => {
    const here = `${at}.matchExpressions[${i}]`;
    const operator = r.operator ?? '';
    const values = r.values ?? [];
    if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
      errors.push(required(`${here}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    else if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
      errors.push({
        type: 'FieldValueForbidden',
        field: `${here}.values`,
        message: "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      });
    else if ((operator === 'Gt' || operator === 'Lt') && values.length !== 1)
      errors.push(
        required(`${here}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"),
      );
    else if (!nodeOperators.includes(operator))
      errors.push(invalid(`${here}.operator`, operator, 'not a valid selector operator'));
    errors.push(...each(`${here}.key`, r.key ?? '', qualifiedNameErrors));
    if (!prefers)
      values.forEach((value, v) => {
        errors.push(...each(`${here}.values[${v}]`, value, labelValueErrors));
      });
  });
  (term.matchFields ?? []).forEach((r, i) => {
    const here = `${at}.matchFields[${i}]`;
    const operator = r.operator ?? '';
    if (operator !== 'In' && operator !== 'NotIn')
      errors.push(invalid(`${here}.operator`, operator, 'not a valid selector operator'));
    else if ((r.values ?? []).length !== 1)
      errors.push(
        required(
          `${here}.values`,
          "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        ),
      );
    if ((r.key ?? '') !== 'metadata.name')
      errors.push(invalid(`${here}.key`, r.key ?? '', 'not a valid field selector key'));
    else
      (r.values ?? []).forEach((value, v) => {
        errors.push(...each(`${here}.values[${v}]`, value, dnsSubdomain));
      });
  });
  return errors;
}

export function validateNodeSelector(selector: Decoded<NodeSelector> | undefined, at: string): Errors {
  if (selector === undefined) return [];
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0)
    return [required(`${at}.nodeSelectorTerms`, 'must have at least one node selector term')];
  return terms.flatMap((term, i) => validateNodeSelectorTerm(term, `${at}.nodeSelectorTerms[${i}]`));
}

const soft = 'preferredDuringSchedulingIgnoredDuringExecution';
const hard = 'requiredDuringSchedulingIgnoredDuringExecution';
const weightErrors = (weight = 0, at: string): Errors =>
  weight < 1 || weight > 100 ? [invalid(`${at}.weight`, weight, 'must be in the range 1-100')] : [];

export function validateAffinity(affinity: Decoded<Affinity> | undefined, path: string): Errors {
  if (affinity === undefined) return [];
  const errors: Errors = [];
  const node = affinity.nodeAffinity ?? {};
  errors.push(...validateNodeSelector(node[hard], `${path}.nodeAffinity.${hard}`));
  (node[soft] ?? []).forEach((term, i) => {
    const at = `${path}.nodeAffinity.${soft}[${i}]`;
    errors.push(
      ...weightErrors(term.weight, at),
      ...validateNodeSelectorTerm(term.preference ?? {}, `${at}.preference`, true),
    );
  });
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const pods = affinity[kind] ?? {};
    (pods[hard] ?? []).forEach((term, i) => {
      errors.push(...podTermErrors(term, `${path}.${kind}.${hard}[${i}]`));
    });
    (pods[soft] ?? []).forEach((term, i) => {
      const at = `${path}.${kind}.${soft}[${i}]`;
      errors.push(
        ...weightErrors(term.weight, at),
        ...podTermErrors(term.podAffinityTerm ?? {}, `${at}.podAffinityTerm`),
      );
    });
  }
  return errors;
}

function podTermErrors(term: Decoded<PodAffinityTerm>, at: string): Errors {
  const errors = [
    ...labelSelector(`${at}.labelSelector`, term.labelSelector),
    ...labelSelector(`${at}.namespaceSelector`, term.namespaceSelector),
  ];
  for (const namespace of term.namespaces ?? []) errors.push(...each(`${at}.namespace`, namespace, dnsLabel));
  errors.push(...labelKeyErrors(term, at));
  if (!term.topologyKey) errors.push(required(`${at}.topologyKey`, 'can not be empty'));
  return [...errors, ...each(`${at}.topologyKey`, term.topologyKey, qualifiedNameErrors)];
}

/** Keys of the pod's own labels, whose values join the selector when the pod is made. */
function labelKeyErrors(term: Decoded<PodAffinityTerm>, at: string): Errors {
  const { matchLabelKeys: same = [], mismatchLabelKeys: other = [], labelSelector: selector } = term;
  const errors: Errors = [];
  for (const list of ['matchLabelKeys', 'mismatchLabelKeys'] as const) {
    const field = `${at}.${list}`;
    const keys = term[list] ?? [];
    if (keys.length > 0 && selector === undefined)
      errors.push(forbidden(field, 'must not be specified when labelSelector is not set'));
    else errors.push(...keys.flatMap((key, i) => each(`${field}[${i}]`, key, qualifiedNameErrors)));
  }
  const [lastOf, others] = [new Map(same.map((key, i) => [key, i])), new Set(other)];
  const selected = new Set(Object.keys(selector?.matchLabels ?? {}));
  for (const { key = '' } of selector?.matchExpressions ?? []) {
    const index = lastOf.get(key);
    if (index !== undefined && selected.has(key))
      errors.push(invalid(`${at}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector'));
    selected.add(key);
  }
  same.forEach((key, i) => {
    if (others.has(key))
      errors.push(
        invalid(`${at}.matchLabelKeys[${i}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys'),
      );
  });
  return errors;
}

export function validateSpread(
  constraints: readonly Decoded<TopologySpreadConstraint>[] | undefined,
  path: string,
): Errors {
  const ids = (constraints ?? []).map((c) => `${c.topologyKey ?? ''}, ${c.whenUnsatisfiable ?? ''}`);
  const lastOf = new Map(ids.map((id, i) => [id, i]));
  return (constraints ?? []).flatMap((c, i) => {
    const at = `${path}[${i}]`;
    const errors: Errors = [];
    if ((c.maxSkew ?? 0) <= 0)
      errors.push(invalid(`${at}.maxSkew`, c.maxSkew ?? 0, 'must be greater than zero'));
    if (!c.topologyKey) errors.push(required(`${at}.topologyKey`, 'can not be empty'));
    errors.push(
      ...oneOf(`${at}.whenUnsatisfiable`, c.whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']),
    );
    const id = ids[i]!;
    if (lastOf.get(id)! > i) errors.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${id}}`));
    const minDomains = c.minDomains;
    if (minDomains !== undefined) {
      if ((minDomains ?? 0) <= 0)
        errors.push(invalid(`${at}.minDomains`, minDomains, 'must be greater than zero'));
      if (c.whenUnsatisfiable !== 'DoNotSchedule')
        errors.push(
          invalid(
            `${at}.minDomains`,
            minDomains,
            `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${c.whenUnsatisfiable ?? ''}`,
          ),
        );
    }
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const)
      if (c[policy] !== undefined) errors.push(...oneOf(`${at}.${policy}`, c[policy], ['Honor', 'Ignore']));
    errors.push(...spreadKeyErrors(c, `${at}.matchLabelKeys`));
    errors.push(...labelSelector(`${at}.labelSelector`, c.labelSelector));
    return errors;
  });
}

function spreadKeyErrors(
  { matchLabelKeys: keys = [], labelSelector: selector }: Decoded<TopologySpreadConstraint>,
  at: string,
): Errors {
  if (keys.length === 0) return [];
  const selected = new Set([
    ...Object.keys(selector?.matchLabels ?? {}),
    ...(selector?.matchExpressions ?? []).map(({ key }) => key ?? ''),
  ]);
  return [
    ...(selector === undefined ? [forbidden(at, 'must not be specified when labelSelector is not set')] : []),
    ...keys.flatMap((key, i) => [
      ...each(`${at}[${i}]`, key, qualifiedNameErrors),
      ...(selected.has(key)
        ? [invalid(`${at}[${i}]`, key, 'exists in both matchLabelKeys and labelSelector')]
        : []),
    ]),
  ];
}

export function validateGates(
  gates: readonly Decoded<PodSchedulingGate>[] | undefined,
  path: string,
): Errors {
  const seen = new Set<string>();
  return (gates ?? []).flatMap((gate, i) => {
    const name = gate.name ?? '';
    const errors = each(`${path}[${i}]`, name, qualifiedNameErrors);
    if (seen.has(name)) errors.push(duplicate(`${path}[${i}]`, name));
    seen.add(name);
    return errors;
  });
}

export const validateNodeLabels = (selector: Labels | undefined, path: string): Errors =>
  labels(path, selector);
