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
/** kubectl patches a kind strategically as soon as one of its paths, of a subresource too, says that it may. */
const patchesOf = ({ custom }: Pick<ResourceDeclaration, 'custom'>): readonly string[] =>
  custom === true ? customPatches : patches;
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
const rootPath = (group: string, version: string): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** How a subresource's kind is found by its full type name. */
export type TypeOf = (gvk: GroupVersionKind) => string | undefined;

/** A resource, and where it is found. */
interface Place {
  readonly of: ResourceDeclaration;
  readonly base: string;
  readonly collection: string;
  readonly item: string;
  /** Path parameters of the collection. */
  readonly scope: readonly string[];
  idOf(verb: string, suffix?: string): string;
  readonly typeOf: TypeOf;
}

function placeOf(of: ResourceDeclaration, typeOf: TypeOf): Place {
  const base = rootPath(of.group, of.version);
  const collection = `${base}${of.namespaced ? '/namespaces/{namespace}' : ''}/${of.resource}`;
  return {
    of,
    base,
    collection,
    item: `${collection}/{name}`,
    scope: of.namespaced ? ['namespace'] : [],
    idOf: (verb, suffix = '') =>
      `${verb}${upperFirst(idPart(of.group, of.version))}${of.namespaced ? 'Namespaced' : ''}${of.kind}${suffix}`,
    typeOf,
  };
}

type Described = Omit<Operation, 'gvk' | 'consumes' | 'produces'> & Partial<Operation>;

const idInAll = ({ group, version, kind }: ResourceDeclaration, verb: string, suffix: string): string =>
  `${verb}${upperFirst(idPart(group, version))}${kind}${suffix}`;

function listOperations({ of, base, collection, idOf, scope }: Place): Described[] {
  const list = {
    method: 'get',
    action: 'list',
    query: listQuery,
    answer: `${of.type}List`,
    codes: [200],
    produces: [...media, ...watchMedia],
  } as const;
  const own = { ...list, path: collection, id: idOf('list'), inPath: scope };
  if (!of.namespaced) return [own];
  const path = `${base}/${of.resource}`;
  return [own, { ...list, path, id: idInAll(of, 'list', 'ForAllNamespaces'), inPath: [] }];
}

function watchOperations({ of, base, collection, item, idOf, scope }: Place): Described[] {
  const watch = {
    method: 'get',
    query: listQuery,
    answer: watchEventType,
    codes: [200],
    produces: [...media, ...watchMedia],
  } as const;
  const watched = (path: string): string => `${base}/watch${path.slice(base.length)}`;
  const all = { ...watch, action: 'watchlist' };
  const own = [
    { ...all, path: watched(collection), id: `${idOf('watch')}List`, inPath: scope },
    { ...watch, path: watched(item), action: 'watch', id: idOf('watch'), inPath: [...scope, 'name'] },
  ];
  if (!of.namespaced) return own;
  const path = `${base}/watch/${of.resource}`;
  return [...own, { ...all, path, id: idInAll(of, 'watch', 'ListForAllNamespaces'), inPath: [] }];
}

const deleteBody = { type: deleteOptionsType, required: false };

const createOperations = ({ of, collection, idOf, scope }: Place): Described[] => [
  {
    path: collection,
    method: 'post',
    action: 'post',
    id: idOf('create'),
    query: writeQuery,
    inPath: scope,
    body: { type: of.type, required: true },
    answer: of.type,
    codes: [200, 201, 202],
  },
];

const deleteAllOperations = ({ collection, idOf, scope }: Place): Described[] => [
  {
    path: collection,
    method: 'delete',
    action: 'deletecollection',
    id: idOf('deleteCollection'),
    query: [...new Set([...listQuery, ...deleteQuery])]
      .filter((q) => q !== 'watch' && q !== 'allowWatchBookmarks')
      .sort(),
    inPath: scope,
    body: deleteBody,
    answer: statusType,
    codes: [200],
  },
];

/** Of one object, by what a resource can do. */
const itemOperations: Readonly<
  Record<string, (of: ResourceDeclaration) => Omit<Described, 'path' | 'inPath' | 'id'>>
> = {
  get: ({ type }) => ({ method: 'get', action: 'get', query: ['pretty'], answer: type, codes: [200] }),
  update: ({ type }) => ({
    method: 'put',
    action: 'put',
    query: writeQuery,
    body: { type, required: true },
    answer: type,
    codes: [200, 201],
  }),
  delete: () => ({
    method: 'delete',
    action: 'delete',
    query: deleteQuery,
    body: deleteBody,
    answer: statusType,
    codes: [200, 202],
  }),
  patch: (of) => ({
    method: 'patch',
    action: 'patch',
    query: [...writeQuery, 'force'],
    body: { type: patchType, required: true },
    answer: of.type,
    codes: [200, 201],
    consumes: patchesOf(of),
  }),
};

const onItem =
  (verb: string) =>
  ({ of, item, idOf, scope }: Place): Described[] => [
    { path: item, inPath: [...scope, 'name'], id: idOf(methods[verb]![2]), ...itemOperations[verb]!(of) },
  ];

/** In the order of upstream's documents. */
const byVerb: readonly (readonly [verb: string, operations: (place: Place) => Described[]])[] = [
  ['list', listOperations],
  ['create', createOperations],
  ['deletecollection', deleteAllOperations],
  ['get', onItem('get')],
  ['update', onItem('update')],
  ['delete', onItem('delete')],
  ['patch', onItem('patch')],
  ['watch', watchOperations],
];

export function operationsOf(of: ResourceDeclaration, typeOf: TypeOf): Operation[] {
  const place = placeOf(of, typeOf);
  const gvk: GroupVersionKind = { group: of.group, version: of.version, kind: of.kind };
  const common = { gvk, consumes: ['*/*'], produces: media };
  return [
    ...byVerb
      .filter(([verb]) => of.verbs.includes(verb))
      .flatMap(([, operations]) => operations(place).map((operation) => ({ ...common, ...operation }))),
    ...of.subresources.flatMap((subresource) => subresourceOperations(subresource, place)),
  ];
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
        consumes: method === 'patch' ? patchesOf(place.of) : ['*/*'],
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
