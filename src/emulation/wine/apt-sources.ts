// Reads which Debian mirror this machine uses, from its own apt sources.

export interface AptSource {
  readonly uri: string;
  readonly suites: readonly string[];
  readonly components: readonly string[];
  readonly signedBy?: string;
}

/** One-line format: `deb [options] uri suite component...`. */
export function parseSourcesList(text: string): readonly AptSource[] {
  const sources: AptSource[] = [];
  for (const line of text.split('\n')) {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)/.exec(line);
    if (!match) continue;
    const signedBy = /(?:^|\s)signed-by=(\S+)/i.exec(match[1] ?? '')?.[1];
    sources.push({
      uri: match[2] ?? '',
      suites: [match[3] ?? ''],
      components: words(match[4] ?? ''),
      ...(signedBy === undefined ? {} : { signedBy }),
    });
  }
  return sources;
}

/** deb822 format: paragraphs of `Name: value`, values may go on over indented lines. */
export function parseDeb822Sources(text: string): readonly AptSource[] {
  const sources: AptSource[] = [];
  const withoutComments = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n');
  for (const paragraph of withoutComments.split(/\n\s*\n/)) {
    const fields = new Map<string, string>();
    for (const match of paragraph.matchAll(/^([A-Za-z0-9-]+):(.*(?:\n[ \t]+.*)*)/gm)) {
      fields.set((match[1] ?? '').toLowerCase(), (match[2] ?? '').trim());
    }
    if (!words(fields.get('types') ?? '').includes('deb')) continue;
    if (/^(no|false)$/i.test(fields.get('enabled') ?? '')) continue;
    const signedBy = fields.get('signed-by');
    for (const uri of words(fields.get('uris') ?? '')) {
      sources.push({
        uri,
        suites: words(fields.get('suites') ?? ''),
        components: words(fields.get('components') ?? ''),
        ...(signedBy?.startsWith('/') ? { signedBy } : {}),
      });
    }
  }
  return sources;
}

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

const debianReleases = /^(buster|bullseye|bookworm|trixie|forky|sid|stable|testing|unstable|oldstable)$/;

/** The source of a Debian release's main archive: not security, not a third party's. */
export function debianMirror(sources: readonly AptSource[]): AptSource | undefined {
  return sources.find(
    ({ uri, suites, components }) =>
      /^(https?|ftp|file|copy|mirror\+\w+|mirror):/.test(uri) &&
      suites.some((suite) => debianReleases.test(suite)) &&
      components.includes('main') &&
      !/debian-security/.test(uri),
  );
}
