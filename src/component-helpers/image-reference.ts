// Names of images. Pure.

const domain =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?$|^\[[0-9a-fA-F:]+\](?::[0-9]+)?$/;
const component = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const tag = /^\w[\w.-]{0,127}$/;
const digest = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

export interface ImageReference {
  readonly registry: string;
  readonly path: string;
  readonly tag: string;
  readonly digest: string;
}

const isRegistry = (text: string): boolean =>
  text.includes('.') || text.includes(':') || text === 'localhost' || text !== text.toLowerCase();

/** Undefined when it can't name an image; docker.io and `latest` are filled in. */
export function parseImageReference(text: string): ImageReference | undefined {
  if (text.length > 1024) return undefined;
  const [nameAndTag = '', digestPart] = text.split('@', 2) as [string, string?];
  if (text.split('@').length > 2 || (digestPart !== undefined && !digest.test(digestPart))) return undefined;
  const slash = nameAndTag.lastIndexOf('/');
  const colon = nameAndTag.indexOf(':', slash + 1);
  const name = colon < 0 ? nameAndTag : nameAndTag.slice(0, colon);
  const tagPart = colon < 0 ? undefined : nameAndTag.slice(colon + 1);
  if (tagPart !== undefined && !tag.test(tagPart)) return undefined;
  const parts = name.split('/');
  const own = parts.length > 1 && isRegistry(parts[0]!) ? parts.shift()! : undefined;
  if (own !== undefined && !domain.test(own)) return undefined;
  if (parts.some((p) => !component.test(p))) return undefined;
  const path = own === undefined && parts.length === 1 ? `library/${parts[0]}` : parts.join('/');
  return {
    registry: own ?? 'docker.io',
    path,
    tag: tagPart ?? (digestPart === undefined ? 'latest' : ''),
    digest: digestPart ?? '',
  };
}

/** The name without tag and digest, as credentials and records are kept by; what names no image is its own. */
export function repositoryOf(image: string): string {
  const reference = parseImageReference(image);
  if (!reference) return image;
  return `${reference.registry === 'index.docker.io' ? 'docker.io' : reference.registry}/${reference.path}`;
}

/** As a runtime keeps it: with its registry, by its digest, and `latest` where it says neither that nor a tag. */
export function fullNameOf(image: string): string {
  const reference = parseImageReference(image);
  if (!reference) return image;
  const { tag, digest } = reference;
  return `${repositoryOf(image)}${digest === '' ? `:${tag}` : `@${digest}`}`;
}
