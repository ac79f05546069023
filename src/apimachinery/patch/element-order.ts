// The order of a merged list: the patch's order for what it names, the server's for the rest, woven together.
import type { Json } from '../declaration.ts';
import { identicalJson } from '../equality.ts';
import { goValue } from '../go-format.ts';
import { isJsonObject, own } from './own-property.ts';
import { unclassified } from './patch-error.ts';

/** Elements are the same when their merge key is, or their value when there is none. */
const identity = (item: Json, mergeKey: string): Json | undefined =>
  mergeKey === '' ? item : isJsonObject(item) ? own(item, mergeKey) : undefined;

/** Equal values have equal texts. */
export function textOf(value: Json | undefined): string {
  if (value === undefined) return '';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${textOf(own(value, name))}`).join(',')}}`;
}

/** Where each element of a list is: a list of a body may have tens of thousands. */
function positions(list: readonly Json[], mergeKey: string): (item: Json) => number {
  const at = new Map<string, number>();
  list.forEach((item, i) => {
    const text = textOf(identity(item, mergeKey));
    if (!at.has(text)) at.set(text, i);
  });
  return (item) => at.get(textOf(identity(item, mergeKey))) ?? -1;
}

/** Upstream's normalizeElementOrder over the two parts of `merged`. */
export function inOrder(
  merged: readonly Json[],
  patchOrder: readonly Json[],
  serverOrder: readonly Json[],
  mergeKey: string,
): Json[] {
  const patched: Json[] = [];
  const serverOnly: Json[] = [];
  const inPatch = positions(patchOrder, mergeKey);
  const onServer = positions(serverOrder, mergeKey);
  for (const item of merged) (inPatch(item) >= 0 ? patched : serverOnly).push(item);
  return weave(sortedBy(serverOnly, onServer), sortedBy(patched, inPatch), onServer);
}

const sortedBy = (items: readonly Json[], position: (item: Json) => number): Json[] =>
  items
    .map((item) => ({ item, at: position(item) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

function weave(left: readonly Json[], right: readonly Json[], onServer: (item: Json) => number): Json[] {
  const result: Json[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    const l = onServer(left[i]!);
    const r = onServer(right[j]!);
    result.push(l >= 0 && r >= 0 && l < r ? left[i++]! : right[j++]!);
  }
  return [...result, ...left.slice(i), ...right.slice(j)];
}

/** The patch's own list must follow the order that it asks for. */
export function assertFollows(patch: readonly Json[], order: readonly Json[], mergeKey: string): void {
  let at = 0;
  for (const item of patch) {
    if (isJsonObject(item) && own(item, '$patch') !== undefined) continue;
    while (at < order.length && !identicalJson(identity(order[at]!, mergeKey), identity(item, mergeKey)))
      at++;
    if (at >= order.length)
      throw unclassified(
        `The order in patch list:\n${goValue([...patch])}\n doesn't match $setElementOrder list:\n${goValue([...order])}\n`,
      );
    at++;
  }
}
