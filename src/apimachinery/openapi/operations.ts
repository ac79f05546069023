// The operations of every path, worked out from what each resource can do: the common ground of OpenAPI v2 and v3.
import type { GroupVersionKind, ResourceDeclaration } from '../declaration.ts';

export interface Operation {
  readonly path: string;
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  readonly action: string;
  readonly id: string;
  readonly gvk: GroupVersionKind;
  /** Query parameters by name. */
  readonly query: readonly string[];
  /** Path parameters by name. */
  readonly inPath: readonly string[];
  readonly body?: { readonly type: string; readonly required: boolean };
  readonly answer?: string;
  readonly codes: readonly number[];
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
}

const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
export const statusType: string = `${metaTypes}Status`;
const patchType = `${metaTypes}Patch`;
const deleteOptionsType = `${metaTypes}DeleteOptions`;
const watchEventType = `${metaTypes}WatchEvent`;

const media = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const watchMedia = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
const patches = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];
const customPatches = patches.filter((type) => !type.includes('strategic'));
const listQuery = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'pretty',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
];
const writeQuery = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty'];
const deleteQuery = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'pretty',
  'propagationPolicy',
];
const connectQuery: Readonly<Record<string, readonly string[]>> = {
  attach: ['container', 'stderr', 'stdin', 'stdout', 'tty'],
  exec: ['command', 'container', 'stderr', 'stdin', 'stdout', 'tty'],
  portforward: ['ports'],
  proxy: ['path'],
};
const logQuery = [
  'container',
  'follow',
  'insecureSkipTLSVerifyBackend',
  'limitBytes',
  'pretty',
  'previous',
  'sinceSeconds',
  'stream',
  'tailLines',
  'timestamps',
];

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
/** `appsV1`, `coreV1`, `rbacAuthorizationV1`: upstream's operation ids hold it. */
function idPart(group: string, version: string): string {
  const words = (group === '' ? 'core' : group.replace(/\.k8s\.io$/, '')).split('.');
  return [...words, version].map((w, i) => (i === 0 ? w : upperFirst(w))).join('');
}
export const rootPath = (group: string, version: string): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** How a subresource's kind is found by its full type name. */
export type TypeOf = (gvk: GroupVersionKind) => string | undefined;

export function operationsOf(d: ResourceDeclaration, typeOf: TypeOf): Operation[] {
  const own: GroupVersionKind = { group: d.group, version: d.version, kind: d.kind };
  const base = rootPath(d.group, d.version);
  const collection = `${base}${d.namespaced ? '/namespaces/{namespace}' : ''}/${d.resource}`;
  const item = `${collection}/{name}`;
  const scope = d.namespaced ? ['namespace'] : [];
  const idOf = (verb: string, suffix = ''): string =>
    `${verb}${upperFirst(idPart(d.group, d.version))}${d.namespaced ? 'Namespaced' : ''}${d.kind}${suffix}`;
  const common = { gvk: own, consumes: ['*/*'], produces: media };
  const can = (verb: string): boolean => d.verbs.includes(verb);
  const out: Operation[] = [];
  const add = (operation: Omit<Operation, 'gvk' | 'consumes' | 'produces'> & Partial<Operation>): void => {
    out.push({ ...common, ...operation });
  };
  if (can('list')) {
    const list = {
      method: 'get',
      action: 'list',
      query: listQuery,
      answer: `${d.type}List`,
      codes: [200],
      produces: [...media, ...watchMedia],
    } as const;
    add({ ...list, path: collection, id: idOf('list'), inPath: scope });
    if (d.namespaced)
      add({
        ...list,
        path: `${base}/${d.resource}`,
        id: `list${upperFirst(idPart(d.group, d.version))}${d.kind}ForAllNamespaces`,
        inPath: [],
      });
  }
  if (can('create'))
    add({
      path: collection,
      method: 'post',
      action: 'post',
      id: idOf('create'),
      query: writeQuery,
      inPath: scope,
      body: { type: d.type, required: true },
      answer: d.type,
      codes: [200, 201, 202],
    });
  if (can('deletecollection'))
    add({
      path: collection,
      method: 'delete',
      action: 'deletecollection',
      id: idOf('deleteCollection'),
      query: [...new Set([...listQuery, ...deleteQuery])]
        .filter((q) => q !== 'watch' && q !== 'allowWatchBookmarks')
        .sort(),
      inPath: scope,
      body: { type: deleteOptionsType, required: false },
      answer: statusType,
      codes: [200],
    });
  const one = { path: item, inPath: [...scope, 'name'] };
  if (can('get'))
    add({
      ...one,
      method: 'get',
      action: 'get',
      id: idOf('read'),
      query: ['pretty'],
      answer: d.type,
      codes: [200],
    });
  if (can('update'))
    add({
      ...one,
      method: 'put',
      action: 'put',
      id: idOf('replace'),
      query: writeQuery,
      body: { type: d.type, required: true },
      answer: d.type,
      codes: [200, 201],
    });
  if (can('delete'))
    add({
      ...one,
      method: 'delete',
      action: 'delete',
      id: idOf('delete'),
      query: deleteQuery,
      body: { type: deleteOptionsType, required: false },
      answer: statusType,
      codes: [200, 202],
    });
  if (can('patch'))
    add({
      ...one,
      method: 'patch',
      action: 'patch',
      id: idOf('patch'),
      query: [...writeQuery, 'force'],
      body: { type: patchType, required: true },
      answer: d.type,
      codes: [200, 201],
      consumes: d.custom ? customPatches : patches,
    });
  if (can('watch')) {
    const watch = {
      method: 'get',
      query: listQuery,
      answer: watchEventType,
      codes: [200],
      produces: [...media, ...watchMedia],
    } as const;
    const watched = (path: string): string => `${base}/watch${path.slice(base.length)}`;
    add({
      ...watch,
      path: watched(collection),
      action: 'watchlist',
      id: `${idOf('watch')}List`,
      inPath: scope,
    });
    add({ ...watch, path: watched(item), action: 'watch', id: idOf('watch'), inPath: [...scope, 'name'] });
    if (d.namespaced)
      add({
        ...watch,
        path: `${base}/watch/${d.resource}`,
        action: 'watchlist',
        id: `watch${upperFirst(idPart(d.group, d.version))}${d.kind}ListForAllNamespaces`,
        inPath: [],
      });
  }
  for (const s of d.subresources) out.push(...subresourceOperations(s, { item, scope, idOf, typeOf }));
  return out;
}

interface Place {
  readonly item: string;
  readonly scope: readonly string[];
  readonly idOf: (verb: string, suffix?: string) => string;
  readonly typeOf: TypeOf;
}

const methods: Readonly<Record<string, readonly [Operation['method'], string, string]>> = {
  get: ['get', 'get', 'read'],
  create: ['post', 'post', 'create'],
  update: ['put', 'put', 'replace'],
  patch: ['patch', 'patch', 'patch'],
  delete: ['delete', 'delete', 'delete'],
};

function subresourceOperations(s: ResourceDeclaration['subresources'][number], place: Place): Operation[] {
  const connects = connectQuery[s.name];
  const type = place.typeOf(s.kind);
  const suffix = s.name.split('/').map(upperFirst).join('');
  return s.verbs.flatMap((verb) => {
    const found = methods[verb];
    if (!found) return [];
    const [method, action, word] = found;
    const reads = method === 'get' || method === 'delete';
    const query =
      connects ??
      (s.name === 'log'
        ? logQuery
        : method === 'get'
          ? ['pretty']
          : method === 'patch'
            ? [...writeQuery, 'force']
            : writeQuery);
    const body =
      connects || reads ? undefined : { type: method === 'patch' ? patchType : type, required: true };
    return [
      {
        path: `${place.item}/${s.name}`,
        method,
        action: connects ? 'connect' : action,
        id: connects ? place.idOf(`connect${upperFirst(method)}`, suffix) : place.idOf(word, suffix),
        gvk: s.kind,
        query,
        inPath: [...place.scope, 'name'],
        ...(body?.type ? { body: { type: body.type, required: true } } : {}),
        ...(connects || type === undefined || s.name === 'log' ? {} : { answer: type }),
        codes:
          method === 'post' && !connects
            ? [200, 201, 202]
            : method === 'get' || connects
              ? [200]
              : [200, 201],
        consumes: method === 'patch' ? patches : ['*/*'],
        produces: connects ? ['*/*'] : s.name === 'log' ? ['text/plain', ...media] : media,
      },
    ];
  });
}

const numbers = new Set([
  'limit',
  'timeoutSeconds',
  'gracePeriodSeconds',
  'limitBytes',
  'sinceSeconds',
  'tailLines',
  'ports',
]);
const booleans = new Set([
  'allowWatchBookmarks',
  'sendInitialEvents',
  'watch',
  'orphanDependents',
  'force',
  'stderr',
  'stdin',
  'stdout',
  'tty',
  'follow',
  'insecureSkipTLSVerifyBackend',
  'previous',
  'timestamps',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
]);
export const queryType = (name: string): 'integer' | 'boolean' | 'string' =>
  numbers.has(name) ? 'integer' : booleans.has(name) ? 'boolean' : 'string';
