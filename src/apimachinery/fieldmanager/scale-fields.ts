// Who owns the replicas of a workload, as its scale shows it, and back: upstream's ScaleHandler.
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import { sortedEntries } from './managed-fields.ts';

const scaleVersion = 'autoscaling/v1';
const scalePath: readonly string[] = ['spec', 'replicas'];

/**
 * Where a version of the parent has its replicas; null: it has none that a scale would show; undefined: there is no such
 * version any more.
 */
export type ReplicasPath = (apiVersion: string) => readonly string[] | null | undefined;

const pathOf = (entry: JsonObject, paths: ReplicasPath): readonly string[] | null | undefined =>
  typeof entry['apiVersion'] === 'string' ? paths(entry['apiVersion']) : undefined;

const fieldsOf = (path: readonly string[]): JsonObject =>
  path.reduceRight<JsonObject>((below, name) => ({ [`f:${name}`]: below }), {});

function owns(fields: Json | undefined, path: readonly string[]): boolean {
  let at = fields;
  for (const name of path) at = isJsonObject(at) ? own(at, `f:${name}`) : undefined;
  return at !== undefined;
}

/** Who owns a field and nothing below it is told so without the dot. */
const isItself = (fields: JsonObject): boolean => Object.keys(fields).every((key) => key === '.');

/** `fields` without `path`, and without what it leaves empty; undefined when nothing is left. */
function without(fields: JsonObject, [first, ...rest]: readonly string[]): JsonObject | undefined {
  const key = `f:${first}`;
  const child = own(fields, key);
  const { [key]: _, ...others } = fields;
  const left = rest.length > 0 && isJsonObject(child) ? without(child, rest) : undefined;
  const result = left === undefined ? others : { ...others, [key]: isItself(left) ? {} : left };
  return Object.keys(result).length === 0 ? undefined : result;
}

const entriesOf = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

/** Appliers are known by their name alone, whatever version they apply. */
const identity = ({ manager, operation, subresource }: JsonObject): string =>
  JSON.stringify([manager, operation, subresource ?? '']);

/** managedFields of the scale of an object with `entries`. */
export const scaleEntries = (entries: Json | undefined, paths: ReplicasPath): JsonObject[] =>
  entriesOf(entries)
    .filter((entry) => {
      const path = pathOf(entry, paths);
      return path !== undefined && path !== null && owns(entry['fieldsV1'], path);
    })
    .map((entry) => ({ ...entry, apiVersion: scaleVersion, fieldsV1: fieldsOf(scalePath) }));

/** managedFields of the object after its scale was written: who lost the replicas there has lost them here. */
export function parentEntries(
  entries: Json | undefined,
  paths: ReplicasPath,
  scale: { readonly entries: Json | undefined; readonly apiVersion: string },
): JsonObject[] {
  const owners = new Map(
    entriesOf(scale.entries)
      .filter(({ fieldsV1 }) => owns(fieldsV1, scalePath))
      .map((entry) => [identity(entry), entry]),
  );
  const kept: JsonObject[] = [];
  for (const entry of entriesOf(entries)) {
    const { fieldsV1 } = entry;
    const path = pathOf(entry, paths);
    if (path === undefined) continue;
    if (path === null || !isJsonObject(fieldsV1) || !owns(fieldsV1, path)) {
      kept.push(entry);
      continue;
    }
    const left = without(fieldsV1, path);
    const isOwner = owners.has(identity(entry));
    // Who updated nothing but the replicas is entered anew, in the version of the request.
    if (isOwner && left === undefined && entry['operation'] !== 'Apply') continue;
    owners.delete(identity(entry));
    if (isOwner) kept.push(entry);
    else if (left !== undefined) kept.push({ ...entry, fieldsV1: left });
  }
  const own = paths(scale.apiVersion) ?? scalePath;
  // As upstream, which knows no time of them.
  for (const { time: _, ...owner } of owners.values())
    kept.push({ ...owner, apiVersion: scale.apiVersion, fieldsV1: fieldsOf(own) });
  return sortedEntries(kept);
}
