// What a pod says of its place: node selectors, affinity, tolerations, spread, gates.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Labels } from '../../../apimachinery/labels.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, labelSelector, labels, oneOf } from '../../../apimachinery/validation/checks.ts';
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
    if (operator === 'Equal' || operator === '')
      errors.push(...labelValueErrors(t.value ?? '').map((why) => invalid(`${at}.operator`, t.value, why)));
    else if (operator === 'Exists') {
      if (t.value)
        errors.push(invalid(`${at}.operator`, t, "value must be empty when `operator` is 'Exists'"));
    } else errors.push(notSupported(`${at}.operator`, operator, ['Equal', 'Exists']));
    if (effect !== '') errors.push(...oneOf(`${at}.effect`, effect, effects));
    return errors;
  });
}

export function validateTaints(taints: readonly Decoded<Taint>[] | undefined, path: string): Errors {
  const seen = new Set<string>();
  return (taints ?? []).flatMap((t, i) => {
    const at = `${path}[${i}]`;
    const errors: Errors = each(`${at}.key`, t.key ?? '', qualifiedNameErrors);
    errors.push(...labelValueErrors(t.value ?? '').map((why) => invalid(`${at}.value`, t.value, why)));
    if (!t.effect) errors.push(required(`${at}.effect`));
    else errors.push(...oneOf(`${at}.effect`, t.effect, effects));
    const id = `${t.key ?? ''}:${t.effect ?? ''}`;
    if (seen.has(id)) errors.push(duplicate(at, t));
    seen.add(id);
    return errors;
  });
}

const nodeOperators = ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn'];

function validateNodeSelectorTerm(term: Decoded<NodeSelectorTerm>, at: string): Errors {
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
      ...validateNodeSelectorTerm(term.preference ?? {}, `${at}.preference`),
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
  if (!term.topologyKey) errors.push(required(`${at}.topologyKey`, 'can not be empty'));
  else errors.push(...each(`${at}.topologyKey`, term.topologyKey, qualifiedNameErrors));
  return errors;
}

export function validateSpread(
  constraints: readonly Decoded<TopologySpreadConstraint>[] | undefined,
  path: string,
): Errors {
  const seen = new Set<string>();
  return (constraints ?? []).flatMap((c, i) => {
    const at = `${path}[${i}]`;
    const errors: Errors = [];
    if ((c.maxSkew ?? 0) <= 0)
      errors.push(invalid(`${at}.maxSkew`, c.maxSkew ?? 0, 'must be greater than zero'));
    if (!c.topologyKey) errors.push(required(`${at}.topologyKey`, 'can not be empty'));
    errors.push(
      ...oneOf(`${at}.whenUnsatisfiable`, c.whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']),
    );
    const id = `${c.topologyKey ?? ''}, ${c.whenUnsatisfiable ?? ''}`;
    if (seen.has(id)) errors.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${id}}`));
    seen.add(id);
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
    errors.push(...labelSelector(`${at}.labelSelector`, c.labelSelector));
    return errors;
  });
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
