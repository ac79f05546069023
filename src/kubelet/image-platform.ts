// What an image's configuration says of its platform, read from containerd's content store.
import type { Files } from '../os/files.ts';
import type { ImagePlatformFacts } from './node-os/node-os.ts';

const maxConfigBytes = 4 << 20;

/** `contentRoot`: containerd's root folder. Undefined when the blob is not there or says nothing. */
export function createImagePlatform(
  files: Files,
  contentRoot: string,
): (imageId: string) => Promise<ImagePlatformFacts | undefined> {
  return async (imageId) => {
    const digest = /^sha256:([0-9a-f]{64})$/.exec(imageId)?.[1];
    if (digest === undefined) return undefined;
    const path = `${contentRoot}/io.containerd.content.v1.content/blobs/sha256/${digest}`;
    const bytes = await files.readIfThere(path, { maxBytes: maxConfigBytes });
    if (!bytes) return undefined;
    let config: Record<string, unknown>;
    try {
      config = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
    } catch {
      return undefined; // not an image's configuration
    }
    const text = (key: string): string => (typeof config[key] === 'string' ? (config[key] as string) : '');
    return { os: text('os'), architecture: text('architecture'), osVersion: text('os.version') };
  };
}
