// Old names of node labels, wherever something chooses nodes by them: upstream's words.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { labelValueErrors } from '../../../apimachinery/labels.ts';
import type { SentSelector } from '../../../apimachinery/validation/checks.ts';
import type { NodeSelectorTerm } from '../../generated/types/core-v1.ts';

const endedLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  [
    'failure-domain.beta.kubernetes.io/region',
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  ],
  [
    'failure-domain.beta.kubernetes.io/zone',
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ],
  [
    'beta.kubernetes.io/instance-type',
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  ],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  [
    'scheduler.alpha.kubernetes.io/preferAvoidPods',
    'deprecated since v1.22; use Taints and Tolerations instead',
  ],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
]);

/** Why the label is not to be used any more; undefined: it is. */
export const endedNodeLabel = (key: string | undefined): string | undefined => endedLabels.get(key ?? '');

/** `checksValues`: where values are not refused, they are told of. */
export function selectorTermWarnings(
  term: Decoded<NodeSelectorTerm>,
  path: string,
  checksValues: boolean,
): string[] {
  return (term.matchExpressions ?? []).flatMap(({ key = '', values = [] }, i) => {
    const at = `${path}.matchExpressions[${i}]`;
    const word = endedNodeLabel(key);
    const odd = checksValues
      ? values.flatMap((value, v) =>
          labelValueErrors(value).map((why) => `${at}.values[${v}]: ${value} is invalid, ${why}`),
        )
      : [];
    return [...(word === undefined ? [] : [`${at}.key: ${key} is ${word}`]), ...odd];
  });
}

export function nodeSelectorWarnings(selector: SentSelector | undefined, path: string): string[] {
  const { matchExpressions = [], matchLabels = {} } = selector ?? {};
  return [
    ...selectorTermWarnings({ matchExpressions } as Decoded<NodeSelectorTerm>, path, false),
    ...Object.keys(matchLabels).flatMap((key) => {
      const word = endedNodeLabel(key);
      return word === undefined ? [] : [`${path}.matchLabels.${key}: ${word}`];
    }),
  ];
}
