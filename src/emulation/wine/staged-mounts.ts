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

/** `made`: by runc, as it stands. */
export type PlannedMount = BindMount | OverlayMount | { readonly kind: 'made'; readonly mount: OciMount };

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

/**
 * `owners`: whose the files are, as first id and count; undefined: root's, as on disk. `namespaces`: of the pod, entered
 * before runc starts.
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
  for (const [index, mount] of planned.entries()) {
    const name = String(index);
    if (mount.kind === 'made') {
      mounts.push(mount.mount);
      continue;
    }
    lines.push(
      mount.kind === 'bind'
        ? ['bind', name, mount.readOnly ? 'ro' : 'rw', field(mount.source)]
        : ['overlay', name, inOptions(mount.upper), inOptions(mount.work), ...mount.lowers.map(field)],
    );
    // Its attributes are set already: runc must not touch what a user namespace may not change.
    mounts.push({
      destination: mount.destination,
      type: 'bind',
      source: `${stage}/${name}`,
      options: ['rbind'],
    });
  }
  return { plan: `${lines.map((line) => line.join('\t')).join('\n')}\n`, mounts };
}
