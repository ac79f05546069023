// Writes every object of a resource again, as it is: the server stores it in the version and under the key that hold now.
import type { ObjectMeta } from '../../api/generated/types/meta-v1.ts';
import { isStatusError, StatusError } from '../../apimachinery/errors.ts';
import { apiVersionOf, type ResourceRef } from '../../apimachinery/resource-ref.ts';
import { fewAtOnce } from '../../base/few-at-once.ts';
import { Slice, Turns } from '../../base/turns.ts';
import type { DiscoveredResource } from '../../client/discovery.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { needsMigration } from './migration-state.ts';

type Context = Pick<ControllerContext, 'write' | 'clock' | 'signal'>;
type AnyObject = { readonly metadata: ObjectMeta };

const fieldManager = 'storage-version-migrator-controller';
const pageSize = 500;
/** Of one migration: enough for the store to write several with one sync. */
const concurrency = 4;
/** No namespace can have this name: a list of it is empty and tells the newest revision all the same. */
const noNamespace = '@fake:svm_ns!';

/** The revision from which on whatever is written lies as it should. */
export async function newestRevision(context: Context, resource: DiscoveredResource): Promise<string> {
  const { metadata } = await context.write.list(resource as ResourceRef<AnyObject>, {
    ...(resource.namespaced ? { namespace: noNamespace } : {}),
    limit: 1,
    metadataOnly: true,
  });
  return metadata.resourceVersion;
}

/**
 * A server-side apply that says nothing but which object, in which state, is meant: nothing is owned by it and nothing
 * changes but how it lies. A conflict says that somebody else wrote it, or that it is gone: both are as good.
 */
async function migrateOne(
  context: Context,
  resource: DiscoveredResource,
  { metadata }: AnyObject,
): Promise<'written' | 'conflict'> {
  const { name, namespace, resourceVersion, uid } = metadata;
  const body = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { uid, resourceVersion },
  };
  try {
    await context.write.patch(
      resource,
      { name, namespace },
      { type: 'apply', body, fieldManager },
      { unread: true },
    );
  } catch (error) {
    if (!isStatusError(error, 'Conflict')) throw error;
    return 'conflict';
  }
  return 'written';
}

const isExpired = (error: unknown): boolean =>
  isStatusError(error, 'Expired') || isStatusError(error, 'Gone');

/** How long one migration may keep the worker that others wait for: a server that never says that this was all would for ever. */
const turnMs = 120_000;

/** Where the next turn goes on. */
export interface Place {
  readonly pass: number;
  readonly next: string | undefined;
  readonly conflicts: number;
}

const firstPlace: Place = { pass: 0, next: undefined, conflicts: 0 };

/** How often all is looked through: of what conflicts that often somebody says so who has not written it. */
const maxPasses = 10;

/**
 * From the first object on after a restart: what was migrated before is newer than `since` then, and is passed over.
 * Whatever a conflict was believed of is looked at again, until nothing old is left. Answers where the next turn goes on;
 * undefined when all is done, or when `goesOn` says so. Throws StatusError.
 */
export async function migrateObjects(
  context: Context,
  resource: DiscoveredResource,
  since: string,
  goesOn: () => boolean,
  from: Place = firstPlace,
): Promise<Place | undefined> {
  const until = context.clock.monotonic() + turnMs;
  const turn = { since, goesOn, isOver: () => context.clock.monotonic() > until };
  for (let place = from; place.pass < maxPasses; ) {
    const { next, conflicts } = await migratePass(context, resource, turn, place);
    if (!goesOn()) return undefined;
    if (next !== undefined) return { ...place, next, conflicts };
    if (conflicts === 0) return undefined;
    place = { ...firstPlace, pass: place.pass + 1 };
  }
  throw new StatusError(
    409,
    'Conflict',
    `objects of ${apiVersionOf(resource)} ${resource.resource} are refused with conflicts and stay as they are stored`,
  );
}

interface Turn {
  readonly since: string;
  readonly goesOn: () => boolean;
  readonly isOver: () => boolean;
}

/** Of how many others said that somebody else wrote them, or that they are gone; `next` when the turn ended before the list did. */
async function migratePass(
  context: Context,
  resource: DiscoveredResource,
  { since, goesOn, isOver }: Turn,
  place: Place,
): Promise<Pick<Place, 'next' | 'conflicts'>> {
  const { clock, signal } = context;
  const slice = new Slice(new Turns((run) => clock.timer(0, run)), () => clock.monotonic());
  let { next, conflicts } = place;
  for (;;) {
    let page: Awaited<ReturnType<typeof context.write.list<AnyObject>>>;
    try {
      page = await context.write.list(resource as ResourceRef<AnyObject>, {
        limit: pageSize,
        metadataOnly: true,
        ...(next === undefined ? {} : { continue: next }),
      });
    } catch (error) {
      if (next === undefined || !isExpired(error)) throw error;
      // The list that was begun is too old: it goes on where it was among the newest objects, or begins anew.
      next = continueOf(error);
      continue;
    }
    const old = page.items.filter(({ metadata }) => needsMigration(metadata.resourceVersion ?? '', since));
    await fewAtOnce(old, concurrency, async (object) => {
      if (slice.over) await slice.next();
      signal.throwIfAborted();
      if (goesOn() && (await migrateOne(context, resource, object)) === 'conflict') conflicts++;
    });
    next = page.metadata.continue || undefined;
    if (next === undefined || !goesOn() || isOver()) return { next, conflicts };
  }
}

/** What the answer to a list that is too old offers instead. */
function continueOf(error: unknown): string | undefined {
  if (!isStatusError(error)) return undefined;
  const { continue: offered } = error.status.metadata as { readonly continue?: string };
  return offered === '' ? undefined : offered;
}
