// The order of a merged list: the patch's order for what it names, the server's for the rest, woven together.
import type { Json } from '../declaration.ts';
import { isJsonObject, jsonEqual, own } from './own-property.ts';
import { unclassified } from './patch-error.ts';

/** Elements are the same when their merge key is, or their value when there is none. */
const identity = (item: Json, mergeKey: string): Json | undefined =>
  mergeKey === '' ? item : isJsonObject(item) ? own(item, mergeKey) : undefined;

const indexOf = (list: readonly Json[], item: Json, mergeKey: string): number => {
  const id = identity(item, mergeKey);
  return list.findIndex((other) => jsonEqual(identity(other, mergeKey), id));
};

/** Upstream's normalizeElementOrder over the two parts of `merged`. */
export function inOrder(
  merged: readonly Json[],
  patchOrder: readonly Json[],
  serverOrder: readonly Json[],
  mergeKey: string,
): Json[] {
  const patched: Json[] = [];
  const serverOnly: Json[] = [];
  for (const item of merged) (indexOf(patchOrder, item, mergeKey) >= 0 ? patched : serverOnly).push(item);
  return weave(
    sortedBy(serverOnly, serverOrder, mergeKey),
    sortedBy(patched, patchOrder, mergeKey),
    serverOrder,
    mergeKey,
  );
}

const sortedBy = (items: readonly Json[], order: readonly Json[], mergeKey: string): Json[] =>
  items
    .map((item) => ({ item, at: indexOf(order, item, mergeKey) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

function weave(
  left: readonly Json[],
  right: readonly Json[],
  serverOrder: readonly Json[],
  mergeKey: string,
): Json[] {
  const result: Json[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    const l = indexOf(serverOrder, left[i]!, mergeKey);
    const r = indexOf(serverOrder, right[j]!, mergeKey);
    result.push(l >= 0 && r >= 0 && l < r ? left[i++]! : right[j++]!);
  }
  return [...result, ...left.slice(i), ...right.slice(j)];
}

/** The patch's own list must follow the order that it asks for. */
export function assertFollows(patch: readonly Json[], order: readonly Json[], mergeKey: string): void {
  let at = 0;
  for (const item of patch) {
    if (isJsonObject(item) && own(item, '$patch') !== undefined) continue;
    while (at < order.length && !jsonEqual(identity(order[at]!, mergeKey), identity(item, mergeKey))) at++;
    if (at >= order.length)
      throw unclassified(
        `The order in patch list:\n${JSON.stringify(patch)}\n doesn't match $setElementOrder list:\n${JSON.stringify(order)}\n`,
      );
    at++;
  }
}
