// The mounts of a Windows container as windows-mounts makes them: files of the machine's root belong to the pod there. Pure.
import type { OciMount } from './oci-spec.ts';

export interface BindMount {
  readonly kind: 'bind';
  readonly destination: string;
  readonly source: string;
  readonly readOnly: boolean;
}

export interface OverlayMount {
  readonly kind: 'overlay';
  readonly destination: string;
  /** Uppermost first. */
  readonly lowers: readonly string[];
  readonly upper: string;
  readonly work: string;
}

/** `made`: by runc, as it stands. `folder`: is there when the container starts; it lies in another mount. */
export type PlannedMount =
  | BindMount
  | OverlayMount
  | { readonly kind: 'made'; readonly mount: OciMount }
  | { readonly kind: 'folder'; readonly destination: string };

export interface StagedMounts {
  /** What windows-mounts reads, a line a mount. */
  readonly plan: string;
  readonly mounts: readonly OciMount[];
}

/** A field of a line; no path that a runtime or an image names has such characters. */
function field(text: string): string {
  if (text === '' || /[\x00-\x1f]/.test(text))
    throw new Error(`no path for a mount: ${JSON.stringify(text)}`);
  return text;
}

/** Overlayfs takes these two as part of its options. */
function inOptions(path: string): string {
  if (/[,:\\]/.test(path))
    throw new Error(`overlayfs takes no path with a comma, colon or backslash: ${path}`);
  return field(path);
}

/** The line for windows-mounts, without what is the same for all. */
function lineOf(mount: Exclude<PlannedMount, { kind: 'made' }>, place: string): readonly string[] {
  switch (mount.kind) {
    case 'bind':
      return ['bind', place, mount.readOnly ? 'ro' : 'rw', field(mount.source)];
    case 'overlay':
      return ['overlay', place, inOptions(mount.upper), inOptions(mount.work), ...mount.lowers.map(field)];
    case 'folder':
      return ['folder', place];
  }
}

/**
 * `owners`: whose the files are, as first id and count; undefined: root's, as on disk. `namespaces`: of the pod, entered
 * before runc starts. What lies in another of these mounts is mounted there by windows-mounts, which follows no link: runc
 * would, and what is in a mount is the image's and the pod's.
 */
export function stageMounts(
  stage: string,
  owners: { readonly first: number; readonly count: number } | undefined,
  namespaces: readonly string[],
  planned: readonly PlannedMount[],
): StagedMounts {
  const lines = [...namespaces.map((path) => ['enter', field(path)]), ['stage', field(stage)]];
  if (owners) lines.push(['owners', String(owners.first), String(owners.count)]);
  const mounts: OciMount[] = [];
  const roots = new Map<string, string>();
  for (const [index, mount] of planned.entries()) {
    if (mount.kind === 'made') {
      mounts.push(mount.mount);
      continue;
    }
    const { destination } = mount;
    const root = [...roots.keys()].find((other) => destination.startsWith(`${other}/`));
    if (root !== undefined) {
      lines.push([...lineOf(mount, field(`${roots.get(root)}${destination.slice(root.length)}`))]);
      continue;
    }
    if (mount.kind === 'folder') throw new Error(`${destination} is in no mount`);
    const name = String(index);
    roots.set(destination, name);
    lines.push([...lineOf(mount, name)]);
    // Its attributes are set already: runc must not touch what a user namespace may not change.
    mounts.push({ destination, type: 'bind', source: `${stage}/${name}`, options: ['rbind'] });
  }
  return { plan: `${lines.map((line) => line.join('\t')).join('\n')}\n`, mounts };
}
