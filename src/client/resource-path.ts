// Paths and queries of the API from resource handles and options.
import type { ResourceRef } from '../apimachinery/resource-ref.ts';

export interface PathOf {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Names become one path segment each; those that can't be are refused as client-go refuses them. */
function segment(what: string, value: string): string {
  if (value === '' || value === '.' || value === '..' || value.includes('/') || value.includes('%'))
    throw new Error(`invalid ${what} ${JSON.stringify(value)}: it can not be a path segment`);
  return encodeURIComponent(value);
}

export function resourcePath(resource: ResourceRef, of: PathOf = {}): string {
  let path =
    resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  if (resource.namespaced && of.namespace !== undefined && of.namespace !== '')
    path += `/namespaces/${segment('namespace', of.namespace)}`;
  path += `/${resource.resource}`;
  if (of.name !== undefined) path += `/${segment('name', of.name)}`;
  if (of.subresource !== undefined && of.subresource !== '')
    path += `/${of.subresource.split('/').map(encodeURIComponent).join('/')}`;
  return path;
}

export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const parts: string[] = [];
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== '' && value !== false)
      parts.push(`${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`);
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}
