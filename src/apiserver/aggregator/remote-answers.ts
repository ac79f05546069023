// What another server says it serves, read member by member: it may say anything, of any length.
import type { Json, JsonObject } from '../../apimachinery/json.ts';
import { obj, objs, str, strs } from '../../apimachinery/json-access.ts';

/** More kinds in one version than anybody has; what comes after them is left out. */
const maxResources = 1000;
const maxOthers = 100;
const maxLength = 253;

const text = (value: Json | undefined): string => str(value).slice(0, maxLength);
const texts = (value: Json | undefined): string[] =>
  strs(value)
    .slice(0, maxOthers)
    .map((one) => one.slice(0, maxLength));

const kindOf = (value: Json | undefined): JsonObject => {
  const { group, version, kind } = obj(value);
  return { group: text(group), version: text(version), kind: text(kind) };
};

const listed = (name: string, value: Json | undefined): JsonObject => {
  const found = texts(value);
  return found.length > 0 ? { [name]: found } : {};
};

const subresourceOf = (value: JsonObject): JsonObject => ({
  subresource: text(value['subresource']),
  responseKind: kindOf(value['responseKind']),
  verbs: texts(value['verbs']),
});

function resourceOf(value: JsonObject): JsonObject {
  const subresources = objs(value['subresources']).slice(0, maxOthers).map(subresourceOf);
  return {
    resource: text(value['resource']),
    responseKind: kindOf(value['responseKind']),
    scope: value['scope'] === 'Namespaced' ? 'Namespaced' : 'Cluster',
    singularResource: text(value['singularResource']),
    verbs: texts(value['verbs']),
    ...listed('shortNames', value['shortNames']),
    ...listed('categories', value['categories']),
    ...(subresources.length > 0 ? { subresources } : {}),
  };
}

const named = (resource: JsonObject): boolean => resource['resource'] !== '';

/** Of aggregated discovery: resources by group and version, for those that are wanted. */
export function discoveredVersions(
  document: Json,
  wanted: (groupVersion: string) => boolean,
): Map<string, readonly JsonObject[]> {
  const found = new Map<string, readonly JsonObject[]>();
  for (const group of objs(obj(document)['items']))
    for (const version of objs(group['versions'])) {
      const groupVersion = `${str(obj(group['metadata'])['name'])}/${str(version['version'])}`;
      if (!wanted(groupVersion)) continue;
      const resources = objs(version['resources']).slice(0, maxResources).map(resourceOf);
      found.set(groupVersion, resources.filter(named));
    }
  return found;
}

/** Of an APIResourceList, as aggregated discovery would list it. Throws Error in upstream's words. */
export function discoveredList(document: Json, group: string, version: string): readonly JsonObject[] {
  const list = obj(document);
  if (list['kind'] !== 'APIResourceList') throw new Error('not an APIResourceList');
  const found = new Map<string, JsonObject>();
  const kind = (one: JsonObject): JsonObject => ({
    group: text(one['group']) || group,
    version: text(one['version']) || version,
    kind: text(one['kind']),
  });
  for (const one of objs(list['resources']).slice(0, maxResources)) {
    const [name = '', subresource] = text(one['name']).split('/');
    const before = found.get(name);
    if (subresource === undefined) {
      const { namespaced, singularName, verbs, shortNames, categories } = one;
      const scope = namespaced === true ? 'Namespaced' : 'Cluster';
      const own = { resource: name, responseKind: kind(one), scope, singularResource: singularName ?? '' };
      const subresources = before?.['subresources'] ?? [];
      found.set(name, { ...own, verbs: verbs ?? [], shortNames, categories, subresources } as JsonObject);
      continue;
    }
    const parent = before ?? { resource: name, scope: one['namespaced'] === true ? 'Namespaced' : 'Cluster' };
    const others = objs(parent['subresources']).slice(0, maxOthers - 1);
    const more = { subresource, responseKind: kind(one), verbs: one['verbs'] ?? [] };
    found.set(name, { ...parent, subresources: [...others, more] });
  }
  return [...found.values()].map(resourceOf).filter(named);
}

const namedPath = /^\/openapi\/v3\/[^?#]*\?hash=([\w-]{1,200})$/;

/** Of `/openapi/v3`: how what is below `path` is called; undefined when it is not there. */
export function openApiV3Hash(document: Json, path: string): string | undefined {
  const paths = obj(obj(document)['paths']);
  if (!Object.hasOwn(paths, path)) return undefined;
  return namedPath.exec(str(obj(paths[path])['serverRelativeURL']))?.[1] ?? '';
}
