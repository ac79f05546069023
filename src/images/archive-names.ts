// Names in an image archive as everybody who reads it must read them. Pure.
import { posix } from 'node:path';
import { fullNameOf, parseImageReference } from '../component-helpers/image-reference.ts';
import { ImageError, isRecord } from './image-index.ts';

/** Of the node's own: who replaces it runs as the first process of each pod. */
export const pauseRepository = 'porthole.local/pause';

/**
 * A file's name without the `./` that tar puts before it, and a folder's without its last `/`. Throws ImageError for any
 * other way to write it: containerd cleans names, so `x/../index.json` would be a second index that nobody checked, and a
 * link `1/layer.tar/` another layer than the one that was.
 */
export function plainName(written: string, type: string | null | undefined): string {
  const prefixed = written.replace(/^\.\//, '');
  const name = type === 'directory' ? prefixed.replace(/\/$/, '') : prefixed;
  if (name === '' && type === 'directory') return name;
  const plain = posix.normalize(name) === name && !/^\/|\/$/.test(name) && name !== '.';
  if (!plain || name.split('/', 1)[0] === '..')
    throw new ImageError(`the archive's entry ${JSON.stringify(written.slice(0, 200))} has no plain name`);
  return name;
}

/** Whether an image of that name is the node's own. */
export const isReserved = (name: string): boolean =>
  name.trim().toLowerCase().split(/[:@]/, 1)[0] === pauseRepository;

/** Throws ImageError for a name that is not the image's to take. */
export function refuseReserved(names: readonly string[]): void {
  for (const name of names)
    if (isReserved(name))
      throw new ImageError(
        `the archive names an image ${JSON.stringify(name.slice(0, 200))}: that is the sandbox of every pod on a node; give the image another name`,
      );
}

/** In the order in which containerd asks for them; an empty one is none to it. */
const nameAnnotations = ['io.containerd.image.name', 'org.opencontainers.image.ref.name'] as const;
/** What skopeo, podman and buildah write of `oci:folder:v1`: a name to containerd, which then makes one of the day up. */
const tagAlone = /^[\w.-]+$/;

/** The whole name that an entry of `index.json` asks for. Throws ImageError for one that nothing can have, and for the sandbox's. */
export function imageName(entry: unknown): string | undefined {
  const annotations = isRecord(entry) && isRecord(entry['annotations']) ? entry['annotations'] : {};
  const asked = nameAnnotations.map((annotation) => annotations[annotation]);
  const at = asked.findIndex((name) => typeof name === 'string' && name !== '');
  const name = asked[at];
  if (typeof name !== 'string' || (at > 0 && tagAlone.test(name))) return undefined;
  refuseReserved([name, fullNameOf(name)]);
  if (parseImageReference(name) === undefined)
    throw new ImageError(`the archive names an image ${JSON.stringify(name.slice(0, 200))}`);
  return fullNameOf(name);
}
