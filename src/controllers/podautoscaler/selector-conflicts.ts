// Which autoscalers control the same pods: each must have its own, or they would undo each other's work. Pure.
import { matchesSelector, type Selector } from '../../apimachinery/label-selector.ts';
import type { Labels } from '../../apimachinery/labels.ts';

export interface Selecting {
  readonly namespace: string;
  readonly name: string;
  /** Undefined: it is not known yet, and selects nothing. */
  readonly selector: Selector | undefined;
}

/** Of one namespace; pods of the same labels are looked at once. Sorted by name. */
export function controllersOf(
  pods: readonly { readonly metadata: { readonly labels?: Labels | undefined } }[],
  autoscalers: readonly Selecting[],
): readonly Selecting[] {
  const different = new Map(pods.map(({ metadata: { labels = {} } }) => [JSON.stringify(labels), labels]));
  return autoscalers
    .filter(
      ({ selector }) =>
        selector && [...different.values()].some((labels) => matchesSelector(selector, labels)),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** As Go prints a list of keys. */
export const keysText = (keys: readonly Selecting[]): string =>
  `[${keys.map(({ name, namespace }) => `{${name} ${namespace}}`).join(' ')}]`;
