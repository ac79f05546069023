// Holds a controller to what it declared: asking for anything else is a bug that shows at once.
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { InformerFactory, Lister } from '../client/cache/informer.ts';
import type { Client, DeleteOptions, ReadOptions, WriteOptions } from '../client/client.ts';
import type { Logger } from '../component-base/logger.ts';
import { type Access, isDeclared, type Verb } from './access.ts';
import type { AnyResource, ControllerClient, ControllerDefinition } from './define-controller.ts';

const idOf = (resource: AnyResource): string => `${resource.group}/${resource.resource}`;

class UndeclaredAccessError extends Error {
  constructor(controller: string, what: string) {
    super(`${controller} does not declare that it may ${what}`);
    this.name = 'UndeclaredAccessError';
  }
}

export function declaredReads(
  controller: string,
  resources: readonly AnyResource[],
  informers: InformerFactory,
): <T>(resource: ResourceRef<T>) => Lister<T> {
  const declared = new Map(resources.map((r) => [idOf(r), informers.informer(r).lister]));
  return <T>(resource: ResourceRef<T>): Lister<T> => {
    const lister = declared.get(idOf(resource));
    if (lister === undefined) throw new UndeclaredAccessError(controller, `read ${idOf(resource)}`);
    return lister as Lister<T>;
  };
}

interface Declared {
  readonly name: string;
  readonly access: readonly Access[];
  readonly namespace?: ControllerDefinition<unknown>['namespace'] | undefined;
}

/** Where a controller may ask for a resource; undefined: everywhere. */
export const declaredNamespace = (
  { namespace }: Pick<Declared, 'namespace'>,
  resource: Pick<AnyResource, 'resource'>,
): string | undefined => (typeof namespace === 'function' ? namespace(resource) : namespace);

/** Says so itself as well: a controller that goes on after an error would hide it. */
const checkOf =
  (declared: Declared, log: Logger) =>
  (verb: Verb, target: AnyResource, where: string | undefined, subresource = ''): void => {
    const { name, access } = declared;
    const namespace = declaredNamespace(declared, target);
    const isAllowed =
      isDeclared(access, verb, target, subresource) && (namespace === undefined || namespace === where);
    if (isAllowed) return;
    const what = `${verb} ${idOf(target)}${subresource === '' ? '' : `/${subresource}`} in ${where ?? 'the cluster'}`;
    const error = new UndeclaredAccessError(name, what);
    log.error({ error }, 'a controller asks for what it did not declare');
    throw error;
  };

const namespaceOf = (object: unknown): string | undefined =>
  (object as { metadata?: { namespace?: string } }).metadata?.namespace;

/** The client of a controller: what it declared, and nothing that is not a verb on a resource. */
export function declaredClient(declared: Declared, client: Client, log: Logger): ControllerClient {
  const check = checkOf(declared, log);
  const checkWrite = (verb: Verb, resource: AnyResource, object: unknown, how?: WriteOptions): void =>
    check(verb, resource, namespaceOf(object), how?.subresource);
  return {
    get: async (resource, key, how) => {
      check('get', resource, key.namespace, how?.subresource);
      return client.get(resource, key, how);
    },
    list: async (resource, how?: ReadOptions) => {
      check('list', resource, how?.namespace);
      return client.list(resource, how);
    },
    watch: (resource, how) => {
      check('watch', resource, how?.namespace);
      return client.watch(resource, how);
    },
    create: async (resource, object, how) => {
      checkWrite('create', resource, object, how);
      return client.create(resource, object, how);
    },
    update: async (resource, object, how) => {
      checkWrite('update', resource, object, how);
      return client.update(resource, object, how);
    },
    patch: async (resource, key, patch, how) => {
      check('patch', resource, key.namespace, how?.subresource);
      return client.patch(resource, key, patch, how);
    },
    delete: async (resource, key, how?: DeleteOptions) => {
      check('delete', resource, key.namespace);
      return client.delete(resource, key, how);
    },
    deleteCollection: async (resource, how) => {
      check('deletecollection', resource, how.namespace);
      return client.deleteCollection(resource, how);
    },
    createSubresource: async (resource, key, subresource, body) => {
      check('create', resource, key.namespace, subresource);
      return client.createSubresource(resource, key, subresource, body);
    },
  };
}
