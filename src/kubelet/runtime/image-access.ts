// Which pods may use an image that is on the node already: upstream's KubeletEnsureSecretPulledImages, with its default
// policy NeverVerifyPreloadedImages. What one tenant's secret opened is no other tenant's.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import { repositoryOf } from '../../component-helpers/image-reference.ts';
import type { ImageService } from '../../rpc-api/cri.ts';
import type { PullCredential } from './image-credentials.ts';
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
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
  ): Promise<boolean>;
  /** Before a pull; each is followed by `pulled` or `failed`. */
  intend(image: string): Promise<void>;
  /** `used`: undefined when nobody was asked for a password. */
  pulled(image: string, imageRef: string, used: PullCredential | undefined): Promise<void>;
  failed(image: string): Promise<void>;
}

/** As upstream: how many secrets of one image are remembered when they are only seen, not used for a pull. */
const seenSecretsLimit = 100;

const sameSecret = (a: PullSecret, b: PullSecret): boolean =>
  a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;

const secretOf = ({ source, hash }: PullCredential): PullSecret => ({ ...source, credentialHash: hash });

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

/** Of the names by which the node has an image. */
async function repositoriesOf(
  images: ImageAccessDeps['images'],
  imageRef: string,
): Promise<ReadonlySet<string>> {
  const there = await images.imageStatus({ image: imageRef });
  return new Set([...(there?.repoTags ?? []), ...(there?.repoDigests ?? [])].map(repositoryOf));
}

/** `learnt`: undefined when a pull has ended of which nobody knows what opened it. */
async function remember(
  { records, images, clock, log }: ImageAccessDeps,
  image: string,
  imageRef: string,
  learnt: PullCredentials | undefined,
): Promise<void> {
  let lost: PulledRecord['credentialMapping'] = {};
  const record = await records.pulled(imageRef).catch(async (error: unknown) => {
    log.warn({ error, imageRef }, 'a record of a pulled image is replaced');
    // What it said of them is not known any more: each has to be asked for again.
    lost = Object.fromEntries([...(await repositoriesOf(images, imageRef))].map((name) => [name, {}]));
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

/** Pulls that an agent before this one did not see end, and records of images that are gone. */
async function settle(deps: ImageAccessDeps): Promise<void> {
  const { records } = deps;
  const intents = new Set(await records.intents());
  const refs = await records.pulledRefs();
  if (intents.size + refs.length === 0) return;
  const images = await deps.images.listImages();
  for (const { id = '', repoTags = [], repoDigests = [] } of images)
    for (const image of [...repoTags, ...repoDigests].filter((name) => intents.has(name))) {
      await remember(deps, image, id, undefined);
      await records.removeIntent(image);
    }
  const there = new Set(images.map(({ id }) => id));
  for (const imageRef of refs) if (!there.has(imageRef)) await records.removePulled(imageRef);
}

/**
 * 'preloaded': the kubelet has not pulled it. Other than upstream's, that is asked of the repository, not of the image
 * alone: what was loaded from an archive stays open to all when somebody pulls the same image by another name, since
 * its own name can't be asked for at any registry.
 */
async function knownOf(
  { records, images }: ImageAccessDeps,
  image: string,
  imageRef: string,
): Promise<PullCredentials | 'preloaded' | undefined> {
  const record = await records.pulled(imageRef);
  if (!record) return (await records.hasIntent(image)) ? undefined : 'preloaded';
  const repository = repositoryOf(image);
  if (Object.hasOwn(record.credentialMapping, repository)) return record.credentialMapping[repository];
  const isPulled = (await records.intents()).some((intent) => repositoryOf(intent) === repository);
  return !isPulled && (await repositoriesOf(images, imageRef)).has(repository) ? 'preloaded' : undefined;
}

export function createImageAccess(deps: ImageAccessDeps): ImageAccess {
  const { records, log } = deps;
  const underWay = new Map<string, number>();
  let last: Promise<unknown> = Promise.resolve();
  /** Records are read and written one after the other: none is decided on while another one changes it. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  }

  void alone(() => settle(deps)).catch((error: unknown) =>
    log.warn({ error }, 'records of pulled images were not settled'),
  );

  async function forgetIntent(image: string): Promise<void> {
    const count = underWay.get(image) ?? 0;
    if (count > 1) {
      underWay.set(image, count - 1);
      return;
    }
    await records.removeIntent(image);
    underWay.delete(image);
  }

  /** What a record can't say is only logged: the image then has to be pulled again by whoever wants it. */
  const noted = (work: () => Promise<void>, image: string): Promise<void> =>
    alone(work).catch((error: unknown) => log.warn({ error, image }, 'a pull was not recorded'));

  return {
    mustPull: async (image, imageRef, credentials) => {
      const known = await alone(() => knownOf(deps, image, imageRef)).catch((error: unknown) => {
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
      const opening = openingSecret(known, own.map(secretOf));
      if (!opening) return true;
      const { secret, isNew } = opening;
      if (isNew && (known.kubernetesSecrets?.length ?? 0) < seenSecretsLimit)
        await noted(() => remember(deps, image, imageRef, { kubernetesSecrets: [secret] }), image);
      return false;
    },
    intend: (image) =>
      alone(async () => {
        await records.writeIntent(image);
        underWay.set(image, (underWay.get(image) ?? 0) + 1);
      }),
    pulled: (image, imageRef, used) =>
      noted(async () => {
        const learnt = used ? { kubernetesSecrets: [secretOf(used)] } : { nodePodsAccessible: true };
        await remember(deps, image, imageRef, learnt);
        await forgetIntent(image);
      }, image),
    failed: (image) => noted(() => forgetIntent(image), image),
  };
}
