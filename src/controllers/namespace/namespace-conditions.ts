// What a terminating namespace says of its deletion, in upstream's words.
import type { NamespaceCondition } from '../../api/generated/types/core-v1.ts';
import { rfc3339 } from '../../base/clock.ts';

export interface Deletion {
  readonly discoveryFailures: readonly string[];
  readonly contentFailures: readonly string[];
  /** Instances left, by `pods.` or `deployments.apps`. */
  readonly remaining: ReadonlyMap<string, number>;
  /** Instances that hold a finalizer, by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
}

export const isDone = (deletion: Deletion): boolean =>
  deletion.discoveryFailures.length === 0 &&
  deletion.contentFailures.length === 0 &&
  deletion.remaining.size === 0;

const counted = (counts: ReadonlyMap<string, number>, words: string): string =>
  [...counts]
    .map(([key, count]) => `${key} ${words.replace('#', String(count))}`)
    .sort()
    .join(', ');

type Verdict = readonly [
  type: string,
  ok: readonly [string, string],
  bad: readonly [string, string] | undefined,
];

function verdicts(d: Deletion): readonly Verdict[] {
  return [
    [
      'NamespaceDeletionDiscoveryFailure',
      ['ResourcesDiscovered', 'All resources successfully discovered'],
      d.discoveryFailures.length === 0
        ? undefined
        : [
            'DiscoveryFailed',
            `Discovery failed for some groups, ${d.discoveryFailures.length} failing: ${d.discoveryFailures.join(', ')}`,
          ],
    ],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      ['ParsedGroupVersions', 'All legacy kube types successfully parsed'],
      undefined,
    ],
    [
      'NamespaceDeletionContentFailure',
      ['ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
      d.contentFailures.length === 0
        ? undefined
        : [
            'ContentDeletionFailed',
            `Failed to delete all resource types, ${d.contentFailures.length} remaining: ${[...d.contentFailures].sort().join(', ')}`,
          ],
    ],
    [
      'NamespaceContentRemaining',
      ['ContentRemoved', 'All content successfully removed'],
      d.remaining.size === 0
        ? undefined
        : [
            'SomeResourcesRemain',
            `Some resources are remaining: ${counted(d.remaining, 'has # resource instances')}`,
          ],
    ],
    [
      'NamespaceFinalizersRemaining',
      ['ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
      d.finalizers.size === 0
        ? undefined
        : [
            'SomeFinalizersRemain',
            `Some content in the namespace has finalizers remaining: ${counted(d.finalizers, 'in # resource instances')}`,
          ],
    ],
  ];
}

/** The conditions as they should be; a condition that says the same keeps its time. */
export function deletionConditions(
  current: readonly NamespaceCondition[] | undefined,
  deletion: Deletion,
  now: number,
): NamespaceCondition[] {
  const result = [...(current ?? [])];
  for (const [type, ok, bad] of verdicts(deletion)) {
    const at = result.findIndex((condition) => condition.type === type);
    const before = result[at];
    const [reason, message] = bad ?? ok;
    const status = bad === undefined ? 'False' : 'True';
    if (
      before !== undefined &&
      before.status === status &&
      before.reason === reason &&
      before.message === message
    )
      continue;
    const next = { type, status, reason, message, lastTransitionTime: rfc3339(now) };
    if (at < 0) result.push(next);
    else result[at] = next;
  }
  return result;
}
