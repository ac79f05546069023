// What an image's configuration says of its platform, read from containerd's content store.
import type { Files } from '../os/files.ts';
import { blobFile } from '../rpc-api/containerd-content.ts';
import type { ImagePlatformFacts } from './node-os/node-os.ts';

const maxConfigBytes = 4 << 20;

/** `contentRoot`: containerd's root folder. Undefined when the blob is not there or says nothing. */
export function createImagePlatform(
  files: Files,
  contentRoot: string,
): (imageId: string) => Promise<ImagePlatformFacts | undefined> {
  return async (imageId) => {
    if (!/^sha256:[0-9a-f]{64}$/.test(imageId)) return undefined;
    const bytes = await files.readIfThere(blobFile(contentRoot, imageId), { maxBytes: maxConfigBytes });
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
