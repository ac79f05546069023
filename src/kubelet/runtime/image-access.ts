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
  /** Before a pull; each is followed by `pulled`, `failed` or `abandoned`. */
  intend(image: string): Promise<void>;
  /** `used`: undefined when nobody was asked for a password. */
  pulled(image: string, imageRef: string, used: PullCredential | undefined): Promise<void>;
  failed(image: string): Promise<void>;
  /** Nobody heard the end of the pull: the image may be there, or come in a moment, and is no preloaded one then. */
  abandoned(image: string): Promise<void>;
}

/** When the runtime has surely ended what was cancelled. */
const leftMs = 60_000;

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
  intents: PullIntents,
  image: string,
  imageRef: string,
): Promise<PullCredentials | 'preloaded' | undefined> {
  const record = await records.pulled(imageRef);
  if (!record) {
    const isDoubtful = !intents.wasThere(image, imageRef) && (await records.hasIntent(image));
    return isDoubtful ? undefined : 'preloaded';
  }
  const repository = repositoryOf(image);
  if (Object.hasOwn(record.credentialMapping, repository)) return record.credentialMapping[repository];
  const isPulled = (await records.intents()).some((intent) => repositoryOf(intent) === repository);
  return !isPulled && (await repositoriesOf(images, imageRef)).has(repository) ? 'preloaded' : undefined;
}

/** Of each image how many pulls are under way, and when one was left. Its intent stays until it is known what became of all. */
class PullIntents {
  readonly #deps: ImageAccessDeps;
  readonly #underWay = new Map<string, number>();
  readonly #leftAt = new Map<string, number>();
  /** What each name was the name of when its intent was written. */
  readonly #before = new Map<string, string | undefined>();

  constructor(deps: ImageAccessDeps) {
    this.#deps = deps;
  }

  /** No pull has brought this image under this name, whatever intent there is. */
  wasThere(image: string, imageRef: string): boolean {
    return this.#before.get(image) === imageRef;
  }

  async begin(image: string): Promise<void> {
    const { images, records, log } = this.#deps;
    await this.#settleLeft().catch((error: unknown) =>
      log.warn({ error }, 'pulls that were left are not settled'),
    );
    if (!this.#before.has(image)) {
      const there = await images.imageStatus({ image }).catch(() => undefined);
      this.#before.set(image, there?.id);
    }
    await records.writeIntent(image);
    this.#underWay.set(image, (this.#underWay.get(image) ?? 0) + 1);
  }

  async end(image: string): Promise<void> {
    const count = (this.#underWay.get(image) ?? 1) - 1;
    if (count > 0) this.#underWay.set(image, count);
    else this.#underWay.delete(image);
    if (count === 0 && !this.#leftAt.has(image)) await this.#remove(image);
  }

  async #remove(image: string): Promise<void> {
    await this.#deps.records.removeIntent(image);
    this.#before.delete(image);
  }

  async leave(image: string): Promise<void> {
    this.#leftAt.set(image, this.#deps.clock.monotonic());
    await this.end(image);
  }

  /** When the next pull begins: so there are no more of them than came in a minute, and no timer is needed. */
  async #settleLeft(): Promise<void> {
    const { images, clock } = this.#deps;
    for (const [image, atMs] of this.#leftAt) {
      if (clock.monotonic() - atMs < leftMs) continue;
      const there = await images.imageStatus({ image });
      const { id = '' } = there ?? {};
      if (there && !this.wasThere(image, id)) await remember(this.#deps, image, id, undefined);
      if (!this.#underWay.has(image)) await this.#remove(image);
      this.#leftAt.delete(image);
    }
  }
}

export function createImageAccess(deps: ImageAccessDeps): ImageAccess {
  const { log } = deps;
  const intents = new PullIntents(deps);
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

  /** What a record can't say is only logged: the image then has to be pulled again by whoever wants it. */
  const noted = (work: () => Promise<void>, image: string): Promise<void> =>
    alone(work).catch((error: unknown) => log.warn({ error, image }, 'a pull was not recorded'));

  return {
    mustPull: async (image, imageRef, credentials) => {
      const known = await alone(() => knownOf(deps, intents, image, imageRef)).catch((error: unknown) => {
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
    intend: (image) => alone(() => intents.begin(image)),
    pulled: (image, imageRef, used) =>
      noted(async () => {
        const learnt = used ? { kubernetesSecrets: [secretOf(used)] } : { nodePodsAccessible: true };
        await remember(deps, image, imageRef, learnt);
        await intents.end(image);
      }, image),
    failed: (image) => noted(() => intents.end(image), image),
    abandoned: (image) => noted(() => intents.leave(image), image),
  };
}
