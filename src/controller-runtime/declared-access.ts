// Holds a controller to what it declared: reading or writing anything else is a bug that shows at once.
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { InformerFactory, Lister } from '../client/cache/informer.ts';
import type { Client } from '../client/client.ts';
import type { AnyResource } from './define-controller.ts';

const idOf = (resource: AnyResource): string => `${resource.group}/${resource.resource}`;

class UndeclaredAccessError extends Error {
  constructor(controller: string, verb: 'reads' | 'writes', resource: AnyResource) {
    super(`${controller} does not declare ${idOf(resource)} in its ${verb}`);
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
    if (lister === undefined) throw new UndeclaredAccessError(controller, 'reads', resource);
    return lister as Lister<T>;
  };
}

export function declaredWrites(
  controller: string,
  resources: readonly AnyResource[],
  client: Client,
): Client {
  const declared = new Set(resources.map(idOf));
  const check = (resource: AnyResource): void => {
    if (!declared.has(idOf(resource))) throw new UndeclaredAccessError(controller, 'writes', resource);
  };
  return {
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    watch: (...args) => client.watch(...args),
    raw: (...args) => client.raw(...args),
    create: async (...args) => {
      check(args[0]);
      return client.create(...args);
    },
    update: async (...args) => {
      check(args[0]);
      return client.update(...args);
    },
    patch: async (...args) => {
      check(args[0]);
      return client.patch(...args);
    },
    delete: async (...args) => {
      check(args[0]);
      return client.delete(...args);
    },
    deleteCollection: async (...args) => {
      check(args[0]);
      return client.deleteCollection(...args);
    },
    createSubresource: async (...args) => {
      check(args[0]);
      return client.createSubresource(...args);
    },
  };
}
