// A label selector as Go prints one: in messages and in the names of metrics. Pure.
import type { LabelSelector } from '../../api/generated/types/meta-v1.ts';

export function goSelectorText(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'nil';
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const labels = Object.keys(matchLabels)
    .sort()
    .map((key) => `${key}: ${matchLabels[key]},`)
    .join('');
  const expressions = matchExpressions
    .map(
      ({ key, operator, values = [] }) =>
        `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
    )
    .join('');
  return `&LabelSelector{MatchLabels:map[string]string{${labels}},MatchExpressions:[]LabelSelectorRequirement{${expressions}},}`;
}
