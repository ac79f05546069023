// Mirrors as the command line names them, `docker.io=http://mirror:5000`: pure.

/** URLs to ask for a registry, in this order, before the registry itself. */
export type Mirrors = Readonly<Record<string, readonly string[]>>;

/** A host as it stands in images. It becomes the name of a folder. */
const registryName = /^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(:\d{1,5})?$/;

function mirrorUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '')
    throw new Error(`${JSON.stringify(text)} is no URL of a mirror; http://mirror.example:5000 is one`);
  if (url.username !== '' || url.password !== '')
    throw new Error(
      'passwords on a command line are for all to see; a mirror that asks for one is written into hosts.toml, with [host."https://…".header]',
    );
  if (url.search !== '' || url.hash !== '')
    throw new Error(`${JSON.stringify(text)}: a mirror's URL has no query`);
  return url.href.replace(/\/$/, '');
}

/** `registry=url` or `registry=url,url`; `registry=` alone takes its mirrors away. Throws Error with what is wrong. */
export function parseMirror(text: string, before: Mirrors = {}): Mirrors {
  const at = text.indexOf('=');
  const registry = text.slice(0, Math.max(at, 0));
  if (!registryName.test(registry))
    throw new Error(`${JSON.stringify(text)} is not of the form docker.io=http://mirror.example:5000`);
  const urls = text.slice(at + 1).split(',');
  const wanted = urls.length === 1 && urls[0] === '' ? [] : urls.map(mirrorUrl);
  return { ...before, [registry]: wanted };
}

/** What was said once holds until something else is said of the same registry. */
export function mergeMirrors(before: Mirrors | undefined, said: Mirrors | undefined): Mirrors | undefined {
  const merged = Object.entries({ ...before, ...said }).filter(([, urls]) => urls.length > 0);
  return merged.length === 0 ? undefined : Object.fromEntries(merged);
}
