// Cells that many kinds share: name, age, containers and images of a template, selectors.
import type { Decoded } from '../../apimachinery/decoded.ts';
import { ageOf } from '../../apimachinery/human-duration.ts';
import type { Labels } from '../../apimachinery/labels.ts';
import type { SentSelector } from '../../apimachinery/validation/checks.ts';
import type { PodTemplateSpec } from '../generated/types/core-v1.ts';
import type { ObjectMeta } from '../generated/types/meta-v1.ts';

/** What every kind has. */
type HasMeta = Decoded<{ metadata: ObjectMeta }>;

export const nameCell = (object: HasMeta): string => object.metadata?.name ?? '';
export const ageCell = (object: HasMeta, now: number): string =>
  ageOf(object.metadata?.creationTimestamp, now);
/** For columns of type date: the client works out the age. */
export const createdCell = (object: HasMeta): string => object.metadata?.creationTimestamp ?? '';
export const orNone = (text: string): string => (text === '' ? '<none>' : text);
export const orUnset = (text: string): string => (text === '' ? '<unset>' : text);

/** Names and images of a template's containers, comma separated. */
export function containerCells(template: Decoded<PodTemplateSpec> | undefined): [string, string] {
  const containers = template?.spec?.containers ?? [];
  return [containers.map((c) => c.name ?? '').join(','), containers.map((c) => c.image ?? '').join(',')];
}

/** `a=b,c=d`, keys sorted; `<none>` for no labels. */
export function labelsCell(labels: Labels | undefined): string {
  const map = labels ?? {};
  return orNone(
    Object.keys(map)
      .sort()
      .map((key) => `${key}=${map[key] ?? ''}`)
      .join(','),
  );
}

/** A LabelSelector as upstream's FormatLabelSelector. */
export function selectorCell(selector: SentSelector | undefined): string {
  if (selector === undefined) return '<none>';
  const labels = selector.matchLabels ?? {};
  const parts = [
    ...Object.keys(labels).map((key) => [key, `${key}=${labels[key] ?? ''}`] as const),
    ...(selector.matchExpressions ?? []).map((e) => [e.key ?? '', expressionText(e)] as const),
  ];
  return orNone(
    parts
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([, text]) => text)
      .join(','),
  );
}

function expressionText(expression: NonNullable<SentSelector['matchExpressions']>[number]): string {
  const key = expression.key ?? '';
  const values = `(${[...(expression.values ?? [])].sort().join(',')})`;
  switch (expression.operator) {
    case 'In':
      return `${key} in ${values}`;
    case 'NotIn':
      return `${key} notin ${values}`;
    case 'Exists':
      return key;
    default:
      return `!${key}`;
  }
}
