// Cells that many kinds share: name, age, containers and images of a template, selectors.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { ageOf } from '../../apimachinery/human-duration.ts';
import { isObject, meta, obj, objs, str, strs } from '../../apimachinery/json-access.ts';

export const nameCell = (object: JsonObject): string => str(meta(object)['name']);
export const ageCell = (object: JsonObject, now: number): string =>
  ageOf(meta(object)['creationTimestamp'], now);
/** For columns of type date: the client works out the age. */
export const createdCell = (object: JsonObject): string => str(meta(object)['creationTimestamp']);
export const orNone = (text: string): string => (text === '' ? '<none>' : text);
export const orUnset = (text: string): string => (text === '' ? '<unset>' : text);

/** Names and images of a template's containers, comma separated. */
export function containerCells(template: Json | undefined): [string, string] {
  const containers = objs(obj(obj(template)['spec'])['containers']);
  return [containers.map((c) => str(c['name'])).join(','), containers.map((c) => str(c['image'])).join(',')];
}

/** `a=b,c=d`, keys sorted; `<none>` for no labels. */
export function labelsCell(labels: Json | undefined): string {
  const map = obj(labels);
  return orNone(
    Object.keys(map)
      .sort()
      .map((key) => `${key}=${str(map[key])}`)
      .join(','),
  );
}

/** A LabelSelector as upstream's FormatLabelSelector. */
export function selectorCell(selector: Json | undefined): string {
  if (!isObject(selector)) return '<none>';
  const labels = obj(selector['matchLabels']);
  const parts = [
    ...Object.keys(labels).map((key) => [key, `${key}=${str(labels[key])}`] as const),
    ...objs(selector['matchExpressions']).map((e) => [str(e['key']), expressionText(e)] as const),
  ];
  return orNone(
    parts
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([, text]) => text)
      .join(','),
  );
}

function expressionText(expression: JsonObject): string {
  const key = str(expression['key']);
  const values = `(${[...strs(expression['values'])].sort().join(',')})`;
  switch (expression['operator']) {
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
