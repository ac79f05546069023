// Which pods may use an image that is on the node already: upstream's KubeletEnsureSecretPulledImages, with its default
// policy NeverVerifyPreloadedImages. What one tenant's secret opened is no other tenant's.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import { repositoryOf } from '../../component-helpers/image-reference.ts';
import type { ImageService } from '../../rpc-api/cri.ts';
import type { Image } from '../../rpc-api/generated/cri-v1.ts';
import type { PullCredential } from './image-credentials.ts';
import { namesOf, PullIntents } from './pull-intents.ts';
import type { PullCredentials, PulledRecord, PullRecords, PullSecret } from './pull-records.ts';

export interface ImageAccessDeps {
  readonly records: PullRecords;
  readonly images: Pick<ImageService, 'listImages' | 'imageStatus'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ImageAccess {
  /** True when a pod with these credentials has to pull an image that is there, to show that it may. */
  mustPull(
    image: string,
    there: Image,
    credentials: () => Promise<readonly PullCredential[]>,
  ): Promise<boolean>;
  /** Before a pull; each is followed by `pulled`, `failed` or `abandoned`. */
  intend(image: string): Promise<void>;
  /** `used`: undefined when nobody was asked for a password; with the node's own it is open to all of its pods, too. */
  pulled(image: string, there: Image, used: PullCredential | undefined): Promise<void>;
  /** It brought nothing. */
  failed(image: string): Promise<void>;
  /** Nobody heard the end of the pull: the image may be there, or come in a moment, and is no preloaded one then. */
  abandoned(image: string): Promise<void>;
}

/** As upstream: how many secrets of one image are remembered when they are only seen, not used for a pull. */
const seenSecretsLimit = 100;

const sameSecret = (a: PullSecret, b: PullSecret): boolean =>
  a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;

/** None of the node's own. */
const secretsOf = (credentials: readonly PullCredential[]): PullSecret[] =>
  credentials.flatMap(({ source, hash }) => (source ? [{ ...source, credentialHash: hash }] : []));

const inOrder = (a: PullSecret, b: PullSecret): number => {
  const [left, right] = [a, b].map(({ namespace, name, uid }) => `${namespace}\0${name}\0${uid}`);
  return left! < right! ? -1 : left === right ? 0 : 1;
};

/** What is known with what was learnt; the same object when that is nothing new. Pure. */
export function mergeCredentials(
  known: PullCredentials | undefined,
  learnt: PullCredentials,
): PullCredentials | undefined {
  if (known?.nodePodsAccessible) return known;
  if (learnt.nodePodsAccessible) return { nodePodsAccessible: true };
  const before = known?.kubernetesSecrets ?? [];
  const fresh = (learnt.kubernetesSecrets ?? []).filter(
    (secret) => !before.some((b) => sameSecret(b, secret) && b.credentialHash === secret.credentialHash),
  );
  if (fresh.length === 0) return known;
  const kept = before.filter((b) => !fresh.some((secret) => sameSecret(b, secret)));
  return { kubernetesSecrets: [...kept, ...fresh].sort(inOrder) };
}

/** The secret of a pod that opens an image, by what it says or by which it is. Pure. */
export function openingSecret(
  known: PullCredentials,
  secrets: readonly PullSecret[],
): { readonly secret: PullSecret; readonly isNew: boolean } | undefined {
  const cached = known.kubernetesSecrets ?? [];
  for (const secret of secrets)
    for (const other of cached) {
      const says = other.credentialHash !== '' && other.credentialHash === secret.credentialHash;
      const is = sameSecret(other, secret);
      if (says) return { secret, isNew: !is };
      // A secret that was changed since: its owner had the image before.
      if (is && cached.length < seenSecretsLimit) return { secret, isNew: true };
    }
  return undefined;
}

const repositoriesOf = (there: Image): ReadonlySet<string> => new Set(namesOf(there).map(repositoryOf));

/** `learnt`: undefined when a pull has ended of which nobody knows what opened it. */
async function remember(
  { records, clock, log }: ImageAccessDeps,
  image: string,
  there: Image,
  learnt: PullCredentials | undefined,
): Promise<void> {
  const { id: imageRef = '' } = there;
  let lost: PulledRecord['credentialMapping'] = {};
  const record = await records.pulled(imageRef).catch((error: unknown) => {
    log.warn({ error, imageRef }, 'a record of a pulled image is replaced');
    // What it said of them is not known any more: each has to be asked for again.
    lost = Object.fromEntries([...repositoriesOf(there)].map((name) => [name, {}]));
    return undefined;
  });
  const mapping = record?.credentialMapping ?? lost;
  const repository = repositoryOf(image);
  const known = Object.hasOwn(mapping, repository) ? mapping[repository] : undefined;
  const merged = learnt ? mergeCredentials(known, learnt) : (known ?? {});
  if (record && merged === known) return;
  const next: PulledRecord = {
    imageRef,
    lastUpdatedTime: new Date(clock.now()).toISOString().replace(/\.\d+/, ''),
    credentialMapping: merged ? { ...mapping, [repository]: merged } : mapping,
  };
  await records.writePulled(next);
}

/** Records of images that are gone. Alone from the list to its end: what is recorded meanwhile may be of an image that came after it. */
async function prune({ records, images }: ImageAccessDeps): Promise<void> {
  const refs = await records.pulledRefs();
  if (refs.length === 0) return;
  const there = new Set((await images.listImages()).map(({ id }) => id));
  for (const imageRef of refs) if (!there.has(imageRef)) await records.removePulled(imageRef);
}

/** By name what the runtime has; nothing of those of which it does not say that. */
type Found = ReadonlyMap<string, Image | undefined>;

async function lookFor({ images, log }: ImageAccessDeps, names: readonly string[]): Promise<Found> {
  const found = new Map<string, Image | undefined>();
  const look = async (image: string): Promise<void> => {
    found.set(image, await images.imageStatus({ image }));
  };
  const failed = (error: unknown): void => log.warn({ error }, 'the runtime does not say what a name means');
  await Promise.all([...new Set(names)].map((image) => look(image).catch(failed)));
  return found;
}

/** When the next pull begins: so there are no more of them than came in a minute, and no timer is needed. */
async function settleLeft(deps: ImageAccessDeps, intents: PullIntents, found: Found): Promise<void> {
  for (const image of intents.overdue().filter((name) => found.has(name)))
    try {
      const there = found.get(image);
      if (there && !intents.wasThere(image, there)) await remember(deps, image, there, undefined);
      await intents.settled(image);
    } catch (error) {
      deps.log.warn({ error, image }, 'a pull that was left is not settled');
    }
}

/**
 * 'preloaded': the kubelet has not pulled it. Other than upstream's, that is asked of the repository, not of the image
 * alone: what was loaded from an archive stays open to all when somebody pulls the same image by another name, since
 * its own name can't be asked for at any registry.
 */
async function knownOf(
  { records }: ImageAccessDeps,
  intents: PullIntents,
  image: string,
  there: Image,
): Promise<PullCredentials | 'preloaded' | undefined> {
  const record = await records.pulled(there.id ?? '');
  const repository = repositoryOf(image);
  if (record && Object.hasOwn(record.credentialMapping, repository))
    return record.credentialMapping[repository];
  if (await intents.mayHaveBrought(image, there)) return undefined;
  return !record || repositoriesOf(there).has(repository) ? 'preloaded' : undefined;
}

export function createImageAccess(deps: ImageAccessDeps): ImageAccess {
  const { log } = deps;
  const intents = new PullIntents(deps.records, deps.clock);
  let last: Promise<unknown> = Promise.resolve();
  /** Records are read and written one after the other: none is decided on while another one changes it. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  }

  for (const work of [() => intents.adopt(), () => prune(deps)])
    void alone(work).catch((error: unknown) =>
      log.warn({ error }, 'what agents before this one pulled is not known in full'),
    );

  /** What a record can't say is only logged: the image then has to be pulled again by whoever wants it. */
  const noted = (work: () => Promise<void>, image: string): Promise<void> =>
    alone(work).catch((error: unknown) => log.warn({ error, image }, 'a pull was not recorded'));

  return {
    mustPull: async (image, there, credentials) => {
      const known = await alone(() => knownOf(deps, intents, image, there)).catch((error: unknown) => {
        log.warn({ error, image }, 'the record of a pulled image is of no use; its pods pull it again');
        return undefined;
      });
      if (known === 'preloaded') return false;
      if (known === undefined) return true;
      if (known.nodePodsAccessible) return false;
      const own = await credentials().catch((error: unknown) => {
        log.warn({ error, image }, 'credentials of a pod could not be read; it has to pull');
        return [];
      });
      const opening = openingSecret(known, secretsOf(own));
      if (!opening) return true;
      const { secret, isNew } = opening;
      if (isNew && (known.kubernetesSecrets?.length ?? 0) < seenSecretsLimit)
        await noted(() => remember(deps, image, there, { kubernetesSecrets: [secret] }), image);
      return false;
    },
    intend: async (image) => {
      // Before its turn: a runtime that does not answer holds up nobody else's.
      const found = await lookFor(deps, [image, ...intents.overdue()]);
      await alone(async () => {
        await settleLeft(deps, intents, found);
        await intents.begin(image, found.get(image));
      });
    },
    pulled: (image, there, used) =>
      noted(async () => {
        const learnt = used?.source ? { kubernetesSecrets: secretsOf([used]) } : { nodePodsAccessible: true };
        await remember(deps, image, there, learnt);
        await intents.end(image);
      }, image),
    failed: (image) => noted(() => intents.end(image), image),
    abandoned: (image) => noted(() => intents.leave(image), image),
  };
}
